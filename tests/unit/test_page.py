"""The page as a file: what it holds, that nothing in it is code, that it loads nothing, and its sources."""

import base64
import hashlib
import json
import math
import re
from importlib.resources import files
from pathlib import Path

import pytest
from made_pages import content_of, counted, made_results, opened, rows_of, uid_of, write_made_page

from gpassk_opencompass.record import Names
from gpassk_opencompass.report import page

HOSTILE = '</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)>'
C = [i % 11 for i in range(40)]


def written(folder, *results, **more):
    """What a page of these results was given."""
    return content_of(write_made_page(folder, results, **more)[1])


def test_the_page_is_one_file_that_names_no_address(tmp_path):
    """No script, style, font or image is loaded: all that is there is in the file."""
    written(tmp_path, counted('m', C))
    assert [path.name for path in tmp_path.iterdir()] == ['index.html']
    text = (tmp_path / 'index.html').read_text(encoding='utf-8')
    assert not re.search(r'(src|href)\s*=\s*"(?!data:,|#)', text)
    assert not re.search(r'https?://(?!www\.w3\.org/)|@import|url\(', text)


@pytest.mark.parametrize('responses', [False, True])
def test_only_the_script_of_the_page_may_run(responses, tmp_path):
    """The policy names it, and the style, by their hashes, and allows nothing else but responses."""
    written(tmp_path, counted('m', C, texts=['42']), responses=responses)
    text = (tmp_path / 'index.html').read_text(encoding='utf-8')
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    for tag, rule in (('script', 'script-src'), ('style', 'style-src')):
        [inline] = re.findall(rf'<{tag}>(.*?)</{tag}>', text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        beside = " 'self' file:" if responses and tag == 'script' else ''
        assert f"{rule} 'sha256-{digest}'{beside};" in policy
    assert policy.startswith("default-src 'none';")
    assert policy.endswith('gpassk-responses' if responses else "trusted-types 'none'")
    assert 'unsafe' not in policy


def test_what_a_model_says_is_never_markup(tmp_path):
    """Not in the table's data, nor in a model's name, a warning or a group; half a character is kept."""
    result = counted('m', C, uids=[f'{HOSTILE}/{i}' for i in range(40)])
    result.run = Names(model=HOSTILE, dataset='d', host=HOSTILE)
    result.remarks = [f'{HOSTILE}\ud83d']
    content = written(tmp_path, result)
    text = (tmp_path / 'index.html').read_text(encoding='utf-8')
    own = text.replace((files(page) / 'files' / 'page.js').read_text(encoding='utf-8'), '')
    assert '<img' not in own
    assert own.count('alert(1)') == own.count('alert(1)\\u003c')
    assert text.count('</script>') == 2
    [board] = content['boards']
    assert board['entries'][0]['name'] == HOSTILE
    assert board['groups'] == [HOSTILE]
    assert f'{HOSTILE}\ud83d' in board['entries'][0]['remarks']


def test_the_numbers_are_those_of_the_frame(tmp_path):
    """Every score, interval and rank of every run, on all questions and on each group, as it is rounded."""
    tables, path = write_made_page(tmp_path, made_results(9, {'AIME2024': (40, 16), 'MATH500-L5': (24, 16)}))
    content = content_of(path)
    shown = {
        (board['title'], entry['name'], part, metric): score
        for board in content['boards']
        for entry in board['entries']
        for part, of_part in zip(board['parts'], entry['scores'], strict=True)
        for metric, score in zip(board['metrics'], of_part, strict=True)
        if score is not None
    }
    means = {('average', run['name'], '', 'mG-Pass@16'): run['average'] for run in content['runs']}
    shown |= {key: mean for key, mean in means.items() if mean}
    rows = rows_of(tables)
    assert len(shown) == len(rows) > 1000
    for row in rows:
        told = (row.value, 2), (row.low, 1), (row.high, 1), (row.rerun, 2), (row.bound_high, 2)
        expected = [None if math.isnan(one) else round(one, digits) for one, digits in told]
        assert shown[row.benchmark, row.run, row.group, row.metric] == expected
    ranks = {(b['title'], e['name']): e['ranks'] for b in content['boards'] for e in b['entries']}
    known = [row for row in rows if not math.isnan(row.rank_low)]
    assert ranks == {(row.benchmark, row.run): [row.rank_low, row.rank_high] for row in known}
    names = [[board['metrics'][place] for place in board['columns']] for board in content['boards']]
    assert names == [['Greedy', *map(str, board.metrics)] for board in tables]


def test_counts_and_answers_are_those_of_the_samples_in_the_order_of_the_board(tmp_path):
    """Also of a result that has its questions in another order, and of a greedy run."""
    first, second = (
        counted('a', C),
        counted('b', [10 - c for c in C], cut=[c // 2 for c in C], backwards=True),
    )
    greedy = counted('b', [c % 2 for c in C], n=1, heat=0.0, backwards=True)
    [board] = written(tmp_path, first, second, greedy)['boards']
    entries = {entry['name'][0]: entry for entry in board['entries']}
    assert board['uids'] in ([uid_of(i) for i in range(40)], [uid_of(i) for i in range(40)][::-1])
    turn = 1 if board['uids'][0] == uid_of(0) else -1
    assert entries['a']['c'] == C[::turn]
    assert entries['b']['c'] == [10 - c for c in C][::turn]
    assert entries['b']['cut'] == [c // 2 for c in C][::turn]
    assert entries['b']['greedy'] == [c % 2 for c in C][::turn]
    for name, result in (('a', first), ('b', second)):
        samples, told = result.samples(), opened(entries[name]['samples'])
        rows = [row for uid in board['uids'] for row in samples.by_question()[uid]]
        assert opened(entries[name]['answers']) == [samples['answer'][row] for row in rows]
        assert told['verdict'] == ''.join('01'[samples['verdict'][row] == 'correct'] for row in rows)
        assert told['finish_reason'] == [samples['finish_reason'][row] for row in rows]
        assert set(told['who']) == {'text'}
    texts = opened(board['texts'])
    assert texts['question'][3].startswith('Find the value')
    assert texts['reference'] == ['42'] * 40


# Its sources

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / 'gpassk_opencompass' / 'report' / 'page'
MADE_OF = re.compile(r'.*\.(tsx?|css|mjs)|package.*\.json')


def test_the_script_was_made_of_the_sources():
    digest = hashlib.sha256()
    for path in sorted(PAGE.joinpath('source').iterdir(), key=lambda path: path.name):
        if MADE_OF.fullmatch(path.name):
            digest.update(f'{path.name}\n'.encode() + path.read_bytes())
    script = (PAGE / 'files' / 'page.js').read_text(encoding='utf-8')
    told = re.match(r'/\*! sources ([0-9a-f]{64})\n', script)
    assert told
    assert told[1] == digest.hexdigest(), 'make page'


def test_packages_in_the_script_are_told_with_their_licences():
    package = json.loads((PAGE / 'source' / 'package.json').read_text(encoding='utf-8'))
    script = (PAGE / 'files' / 'page.js').read_text(encoding='utf-8')
    told = (ROOT / 'docs' / 'trust.md').read_text(encoding='utf-8')
    rows = told.partition('\n### In the page of a report\n')[2].partition('\n### ')[0]
    named = set(re.findall(r'^\| `([^`]+)` ', rows, re.MULTILINE))
    assert named == {*package['dependencies'], *package['devDependencies']}
    for name, version in package['dependencies'].items():
        assert f'\n{name} {version}\n' in script
    assert script.count('Permission is hereby granted') == len(package['dependencies'])

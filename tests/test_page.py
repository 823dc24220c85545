"""The page as a file: what it holds, that nothing in it is code, and that it loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
import zlib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip('jinja2', reason='the extra "report" is not installed')

from browser import made_up_result, many_results, one_board

from gpassk_opencompass import report
from gpassk_opencompass.errors import InputError, MissingExtraError
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.record import Names
from gpassk_opencompass.report.frame import boards
from gpassk_opencompass.report.page import answers as packing
from gpassk_opencompass.report.page import write_page
from gpassk_opencompass.samples import Samples
from gpassk_opencompass.scoring import score
from gpassk_opencompass.uncertainty import rerun_interval

HOSTILE = '</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)>'
QUESTIONS = [(f'Nr {number}: 求 $x^2$', '42') for number in range(40)]


def page_of(folder: Path, *results: Any, **more: Any) -> tuple[str, dict[str, Any]]:
    found, _ = boards(results)
    [path] = write_page(found, folder, **more)
    text = path.read_text(encoding='utf-8')
    data = re.findall(r'<script type="application/json" id="content">(.*?)</script>', text, re.DOTALL)
    assert len(data) == 1
    return text, json.loads(data[0])


def opened(chunk: str) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(chunk)))


def test_the_page_is_one_file_that_names_no_address(tmp_path: Path) -> None:
    """No script, style, font or image is loaded: all that is there is in the file."""
    text, _ = page_of(tmp_path, made_up_result('m', 0.5, QUESTIONS))
    assert [path.name for path in tmp_path.iterdir()] == ['index.html']
    assert not re.search(r'(src|href)\s*=\s*"(?!data:,|#)', text)
    assert not re.search(r'https?://(?!www\.w3\.org/)|@import|url\(', text)


def test_only_the_script_of_the_page_may_run(tmp_path: Path) -> None:
    """The policy names it, and the style, by their hashes, and allows nothing else."""
    text, _ = page_of(tmp_path, made_up_result('m', 0.5, QUESTIONS))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    for tag, rule in (('script', 'script-src'), ('style', 'style-src')):
        [inline] = re.findall(rf'<{tag}>(.*?)</{tag}>', text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert f"{rule} 'sha256-{digest}';" in policy[1]
    assert policy[1].startswith("default-src 'none';")
    assert 'unsafe' not in policy[1]


def test_what_a_model_says_is_never_markup(tmp_path: Path) -> None:
    """Not in the table's data, nor in a model's name, a warning or a group."""
    result = made_up_result(HOSTILE, 0.5, [(HOSTILE, HOSTILE), *QUESTIONS])
    assert result.health.copies_of
    result.health.copies_of.warnings = [HOSTILE]
    text, content = page_of(tmp_path, result)
    own = text.replace((files(report.page) / 'files' / 'page.js').read_text(encoding='utf-8'), '')
    assert '<img' not in own
    assert 'alert(' not in own.replace('alert(1)\\u003c', '').replace('alert(2)\\u003e', '')
    assert content['boards'][0]['entries'][0]['name'] == HOSTILE
    assert text.count('</script>') == 2


def test_hedged_responses_are_among_the_warnings(tmp_path: Path) -> None:
    """Beside those about copies; a result without the count has none."""
    told, silent = made_up_result('m', 0.5, QUESTIONS), made_up_result('n', 0.5, QUESTIONS)
    told.health.hedged = told.health.samples
    _, content = page_of(tmp_path, told, silent)
    entries = {entry['name']: entry['warnings'] for entry in content['boards'][0]['entries']}
    assert [text.partition(' of ')[2] for text in entries['m']] == [
        f'{told.health.samples} responses state more answers than are asked for and count as incorrect'
    ]
    assert entries['n'] == []


def test_lone_surrogates_of_an_answer_do_not_stop_the_report(tmp_path: Path) -> None:
    """A model may say half a character; JSON keeps it."""
    _, content = page_of(tmp_path, made_up_result('m\ud83d', 0.5, QUESTIONS))
    assert content['boards'][0]['entries'][0]['name'] == r'm\ud83d'


def test_the_counts_of_every_question_are_on_the_page(tmp_path: Path) -> None:
    """From them the browser computes any k and τ."""
    result = made_up_result('m', 0.5, QUESTIONS)
    _, content = page_of(tmp_path, result)
    [board] = content['boards']
    assert board['entries'][0]['c'] == result.counts.c
    assert [board['groups'][group] for group in board['group']] == result.counts.group
    assert len(set(board['problem'])) == 20


def test_answers_are_packed_with_verdict_judge_and_frequency(tmp_path: Path) -> None:
    """Each different answer once, the most frequent first, and as many as n in all."""
    result = made_up_result('m', 0.5, QUESTIONS)
    _, content = page_of(tmp_path, result)
    questions = opened(content['chunks']['samples'][0])
    for told, c, n in zip(questions, result.counts.c, [result.n] * 40, strict=True):
        answers = told['answers']
        assert [answers[place][1] for place in told['of']] == list(told['verdicts'])
        assert sum(times for *_, times in answers) == n
        assert sum(times for _, verdict, _, times in answers if verdict == '1') == c
        assert {who for _, _, who, _ in answers} == {'equal'}
    texts = opened(content['chunks']['texts'][0])
    assert texts['question'][3] == 'Nr 3: 求 $x^2$'


def test_the_page_is_given_the_note_on_a_greedy_run(tmp_path: Path) -> None:
    """And an empty one where there is nothing to say."""
    runs = [made_up_result(f'{name}_t{t}_l99', 0.5, QUESTIONS) for name, t in (('a', '1.0'), ('b', '1.0'))]
    greedy = made_up_result('a_t0_l200', 0.5, QUESTIONS, n=1)
    _, content = page_of(tmp_path, *runs, greedy)
    notes = {entry['name']: entry['greedyNote'] for entry in content['boards'][0]['entries']}
    assert notes == {'a': 'greedy run with max_out_len 200', 'b': ''}


def test_the_greedy_run_keeps_its_place_when_questions_are_ordered_otherwise(tmp_path: Path) -> None:
    """Runs are matched by uid."""
    first, second = many_results(2, 30, 16)
    counts = second.counts
    for column in (counts.uid, counts.problem, counts.group, counts.c):
        column.reverse()
    _, content = page_of(tmp_path, first, second)
    entries = {entry['name']: entry for entry in content['boards'][0]['entries']}
    assert entries[second.run.model]['c'] == counts.c[::-1]
    assert entries[second.run.model]['order'] == list(range(30))[::-1]


def test_the_rerun_noise_is_that_of_the_library(tmp_path: Path) -> None:
    """It is computed in Python, since it takes more than sums."""
    result = made_up_result('m', 0.5, QUESTIONS)
    _, content = page_of(tmp_path, result)
    expected = rerun_interval(result.table.c, result.n, Metric.parse('mG-Pass@4'))
    assert content['boards'][0]['entries'][0]['rerun']['mG-Pass@4'] == [expected.low, expected.high]


def test_a_result_of_counts_alone_is_shown_without_answers(tmp_path: Path) -> None:
    """Files of other harnesses have no texts."""
    result = made_up_result('m', 0.5, QUESTIONS)
    result._samples = None
    _, content = page_of(tmp_path, result)
    assert content['chunks']['samples'] == [None]
    assert opened(content['chunks']['texts'][0])['question'] == [''] * 40


@pytest.mark.parametrize('name', ['answer', 'judged_by'])
def test_columns_that_are_not_known_do_not_stop_the_report(name: str, tmp_path: Path) -> None:
    """The scores rest on the counts; without answers none are shown."""
    result = made_up_result('m', 0.5, QUESTIONS)
    samples = result.samples()
    assert samples is not None
    result.with_samples(samples.replace(**{name: None}))
    _, content = page_of(tmp_path, result)
    [chunk] = content['chunks']['samples']
    if name == 'judged_by':
        assert {who for told in opened(chunk) for _, _, who, _ in told['answers']} == {''}
    else:
        assert chunk is None


def test_why_an_answer_stayed_unjudged_stands_beside_it(tmp_path: Path) -> None:
    """The reason, where there is no verdict; who decided, where there is one."""
    columns = {
        'uid': ['q', 'q'],
        'replica': [0, 1],
        'answer': ['7', '8'],
        'verdict': ['correct', 'unjudged'],
        'judged_by': ['string', 'llm'],
        'why': [None, 'timeout'],
    }
    result = score(Samples(columns), {'name': 'x'}, n=2, k=2, unjudged_tolerance=1)
    _, content = page_of(tmp_path, result)
    [told] = opened(content['chunks']['samples'][0])
    assert told['answers'] == [['7', '1', 'string', 1], ['8', '?', 'timeout', 1]]
    assert (told['of'], told['verdicts']) == ([0, 1], '1?')
    [entry] = content['boards'][0]['entries']
    assert (entry['unjudged'], entry['reasons']) == ([1], {'timeout': 1})


def test_answers_beyond_the_budget_are_thinned_out_rarest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As few as needed go, and none are left where not even one a question fits."""
    result = made_up_result('m', 0.4, QUESTIONS, n=16)
    _, whole = page_of(tmp_path, result)
    monkeypatch.setattr(packing, 'BUDGET', len(whole['chunks']['samples'][0]) - 1)
    _, less = page_of(tmp_path, result)
    assert whole['answersShown'] is None
    assert less['answersShown'] in packing.STEPS[1:]
    shown = opened(less['chunks']['samples'][0])
    assert max(len(told['answers']) for told in shown) <= less['answersShown']
    assert all(len(told['of']) == len(told['verdicts']) == 16 for told in shown)
    monkeypatch.setattr(packing, 'BUDGET', 10)
    _, none = page_of(tmp_path, result)
    assert (none['answersShown'], none['chunks']['samples']) == (0, [None])


def test_a_long_answer_is_cut_and_says_how_long_it_was() -> None:
    """A response of a million characters does not fill the page."""
    result = made_up_result('m', 1.0, [('q', 'x' * 1000)])
    [told] = json.loads(packing.question_samples(result) or '[]')
    texts = [text for text, *_ in told['answers']]
    assert max(map(len, texts)) < 450
    assert any(text.endswith('… (1000 characters)') for text in texts)


def test_settings_are_known_where_the_length_of_a_response_is_not(tmp_path: Path) -> None:
    """A record may tell the temperature alone: it is a column all the same."""
    results = []
    for name, temperature in (('a', 0.3), ('b', 1)):
        made = made_up_result(f'{name}_t0.7_l99', 0.5, QUESTIONS)
        made.run = made.run.model_copy(update={'model': name, 'settings': {'temperature': temperature}})
        made._path = tmp_path / name
        results.append(made)
    _, content = page_of(tmp_path, *results)
    told = {run['name']: run['settings'] for run in content['runs']}
    assert told == {'a': {'temperature': 0.3}, 'b': {'temperature': 1}}


def test_no_table_is_an_error(tmp_path: Path) -> None:
    """An empty page would look like a result."""
    with pytest.raises(InputError, match='nothing to show'):
        write_page([], tmp_path)


def test_a_missing_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no file is left behind."""
    monkeypatch.setitem(sys.modules, 'jinja2', None)
    with pytest.raises(MissingExtraError, match=r'gpassk_opencompass\[report\]'):
        write_page([one_board([made_up_result('m', 0.5, QUESTIONS)])], tmp_path / 'report')
    assert not (tmp_path / 'report').exists()


def test_names_that_steer_a_text_are_told_as_escapes(tmp_path: Path) -> None:
    """Of runs, hosts, groups, judges and reasons; a name that every object of a script has stays a name."""
    steering = 'a\u202eb\x00'
    result = made_up_result('m', 0.5, QUESTIONS)
    result.run = Names(model=steering, dataset=steering, host=steering)
    result.counts.group = [steering, 'constructor'] * 20
    result.judge = {'name': steering}
    result.health.unjudged_reasons = {steering: 1, '__proto__': 2}
    _, content = page_of(tmp_path, result)
    shown = r'a\u202eb\x00'
    [run], [board] = content['runs'], content['boards']
    assert {name: run[name] for name in ('name', 'model', 'host')} == dict.fromkeys(
        ('name', 'model', 'host'), shown
    )
    assert board['title'] == shown
    assert board['groups'] == [shown, 'constructor']
    assert shown in board['judge']
    assert board['entries'][0]['name'] == shown
    assert board['entries'][0]['reasons'] == {shown: 1, '__proto__': 2}

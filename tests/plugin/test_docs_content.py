"""What single pages show is what the package prints, takes and computes."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pytest
from doc_pages import ROOT, Page, page

from gpassk_opencompass import g_pass_at_k, mg_pass_at_k, pass_at_k
from gpassk_opencompass.benchmarks import BENCHMARKS, QuestionSet
from gpassk_opencompass.cli import main
from gpassk_opencompass.judges import judge_config, served_judge
from gpassk_opencompass.metrics import metric_table
from gpassk_opencompass.serving import read_judge_server
from gpassk_opencompass.sweep.engines import ENGINES
from gpassk_opencompass.sweep.template import ANY_VERSION

METRICS, JUDGING, REPORT, SWEEPS = page('metrics'), page('judging'), page('report'), page('sweeps')
PACKAGE = ROOT / 'gpassk_opencompass'


# docs/metrics.md

SAMPLES, DRAWN = 8, 4
"""n and k of its example."""


def test_the_ways_of_the_table_give_the_metric():
    """⌈τ·k⌉, the ways that count, and the fraction, threshold by threshold."""
    ways = [int(cell) for cell in METRICS.rows('j correct of 4')[1][1:]]
    assert sum(ways) == 70
    for threshold, needed, terms, value in METRICS.rows('τ'):
        counted = sum(ways[int(needed[0]) :])
        assert counted == sum(map(int, terms.split(' + ')))
        shown = Fraction(value.partition(' = ')[0])
        assert shown == Fraction(counted, 70)
        assert g_pass_at_k(SAMPLES, 5, DRAWN, float(threshold)) == pytest.approx(float(shown), abs=1e-15)
    assert pass_at_k(SAMPLES, 5, DRAWN) == 1.0


def test_two_models_of_one_accuracy_have_the_scores_of_the_table():
    table = metric_table(SAMPLES, DRAWN, [0.5, 1.0])
    for _, counts, accuracy, *shown in METRICS.rows('model'):
        c = [int(count) for count in counts.split(', ')]
        assert f'{100 * sum(c) / len(c) / SAMPLES:.2f}' == accuracy
        assert [f'{100 * values[c].mean():.2f}' for values in table.values()] == shown


def test_odd_k_has_the_published_and_the_exact_sum_of_the_table():
    for row, c in zip(METRICS.rows('n = 8, k = 5'), (5, 8), strict=True):
        published, exact = (float(cell.split()[-1]) for cell in row[1:])
        assert mg_pass_at_k(SAMPLES, c, 5) == pytest.approx(published, abs=5e-5)
        assert mg_pass_at_k(SAMPLES, c, 5, integral='exact') == pytest.approx(exact, abs=5e-5)


def test_an_unjudged_sample_moves_the_scores_as_the_table_says():
    table = metric_table(SAMPLES, DRAWN, [0.5, 1.0])
    rows = {
        row[0].strip('`'): [float(cell.split()[-1]) for cell in row[1:]] for row in METRICS.rows('metric')[4:]
    }
    for name, bounds in rows.items():
        own = [c / SAMPLES for c in (5, 6)] if name == 'accuracy' else table[name][5:7].tolist()
        assert own == pytest.approx(bounds, abs=5e-5), name


# docs/judging.md


@pytest.mark.parametrize('block', JUDGING.blocks('python'), ids=str)
def test_the_configs_of_judging_are_judges(block):
    found: dict[str, Any] = {}
    exec(block.text, found)
    if 'judge_serve' in found:
        server = read_judge_server(found['judge_serve'])
        served_judge(found.get('judge'), server.name, 'http://127.0.0.1', server.settings())
    elif 'eval_urls' in found:
        assert judge_config(found['eval_model_name'], found['eval_urls'], None)['type'] == 'llm'
    else:
        judge_config('', (), found.get('judge') or found['evaluator']['judge'])


SERVERS = [words for block in JUDGING.blocks('sh') for words in block.commands if words[0] == 'lmdeploy']


@pytest.mark.slow
@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('words', SERVERS, ids=lambda words: ' '.join(words[3:]))
def test_lmdeploy_understands_its_command_lines(lmdeploy_parser, words):
    parsed = lmdeploy_parser.parse_args(words[1:])
    assert parsed.model_name == words[3].rpartition('/')[2]
    assert (parsed.session_len, parsed.enable_prefix_caching) == (16384, True)
    assert parsed.tp == (4 if '72B' in parsed.model_name else 1)
    assert parsed.server_port in (23333, 23334)


# docs/report.md, docs/statistics.md


def test_the_plan_prints_what_the_page_shows(capsys):
    commands = [command for block in REPORT.blocks('sh') for command in block.commands]
    [(_, *arguments)] = [words for words in commands if '--n' in words]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    rows = [line for line in REPORT.text.splitlines() if line.startswith('| ') and line in printed]
    assert len([row for row in rows if '%' in row]) == 2


# docs/sweeps.md


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    """A folder with the page's template as my_sweep.py."""
    (tmp_path / 'my_sweep.py').write_text(SWEEPS.blocks('python')[0].text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures('in_folder')
def test_the_dry_run_prints_what_the_page_shows(capsys):
    [[program, *arguments]] = SWEEPS.blocks('sh')[0].commands
    assert (program, main(arguments)) == ('gpassk', 0)
    shown = SWEEPS.text.split('```\n| model')[1].partition('```')[0]
    assert capsys.readouterr().out == f'| model{shown}'


def test_the_overrides_of_the_page_work(in_folder):
    [block] = [block for block in SWEEPS.blocks('sh') if 'pilot' in block.text]
    [[_, *arguments]] = block.commands
    assert main(arguments) == 0
    names = [path.name for path in (in_folder / 'pilot').glob('*_t0-7_*')]
    assert names
    assert all('-r4.py' in name for name in names)


# docs/engines.md, docs/data.md


def test_the_table_of_engines_is_the_registry():
    """Each engine, its class, and the lines that it takes beside the others."""
    rows = page('engines').rows('`engine`')
    assert [row[0].strip('`') for row in rows] == list(ENGINES)
    for name, _, types, options in rows:
        engine = ENGINES[name.strip('`')]
        assert types == "the same, with `backend='pytorch'`" or f'`{engine.type.rpartition(".")[2]}`' in types
        assert options == 'the same' or set(re.findall('`(\\w+)`', options)) == set(engine.options)


def test_the_table_of_benchmarks_is_the_registry():
    """Each name of a template, and its number of questions where that is known."""
    rows = {name: row[2] for row in page('data').rows('name in a template') for name in _names(row[0])}
    assert list(rows) == [ANY_VERSION, *BENCHMARKS]
    for name, found in BENCHMARKS.items():
        if isinstance(found, QuestionSet):
            assert rows[name].startswith(str(found.questions))


def _names(cell: str) -> list[str]:
    """`olymmath-en-easy`, `-en-hard` is two names."""
    first, *rest = re.findall('`([^`]+)`', cell)
    return [first, *(f'olymmath{name}' if name.startswith('-') else name for name in rest)]


# CONTRIBUTING.md


def test_the_map_has_every_room():
    """Each folder of the package, and no other; files that are named are there."""
    rows = Page(ROOT / 'CONTRIBUTING.md').rows('room')
    named = {name for row in rows for name in re.findall(r'`([^`]+)`', row[0])}
    rooms = {f'{path.parent.name}/' for path in PACKAGE.glob('*/__init__.py')}
    assert {name for name in named if name.endswith('/')} == rooms
    assert {name for name in named if not list(PACKAGE.glob(name))} == set()

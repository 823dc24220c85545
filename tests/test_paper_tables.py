"""Tables in the layout of the paper, against numbers worked out by hand; and what LaTeX makes of them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from result_files import block, write_result

from gpassk_opencompass.cli import main
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.naming.manifest import Entry, ModelFacts, manifest_text
from gpassk_opencompass.questions.benchmarks import live_math_bench_rows
from gpassk_opencompass.report.published import read_published

MODELS: Mapping[str, tuple[ModelFacts, list[int]]] = {
    'plain-7b': (ModelFacts(open_source=True, mathematical=False, o1_like=False), [4] * 12 + [0] * 12),
    'math_7b': (ModelFacts(mathematical=True), [2] * 24),
    'o-large': (ModelFacts(open_source=False, o1_like=True), [4] * 18 + [3] * 6),
}
"""Facts and counts: the last takes no temperature, the others have a greedy run."""


def name_of(model: str) -> str:
    return f'{model}_l100' if model == 'o-large' else f'{model}_t1-0_l100'


def told(model: str, abbr: str, facts: ModelFacts) -> Entry:
    settings: dict[str, float | int] = {'max_out_len': 100}
    if '_t' in abbr:
        settings['temperature'] = 0.0 if '_t0_' in abbr else 1.0
    return Entry(
        f'{abbr}.py',
        't.py',
        model,
        f'org/{model}',
        abbr,
        'd',
        settings,
        'b',
        (2,),
        4,
        24,
        's',
        'h',
        facts=facts,
    )


def results(outputs: Path, with_facts: bool = True, **more: Any) -> Path:
    """Three models on 24 questions of two contests in two languages, and their manifest."""
    settings = {'groups': ('A_cn', 'A_en', 'B_cn', 'B_en'), 'dataset': 'LiveMathBench-v202412', **more}
    entries = []
    for model, (facts, counts) in MODELS.items():
        write_result(outputs, name_of(model), counts, **settings)
        entries.append(told(model, name_of(model), facts if with_facts else ModelFacts()))
        if model != 'o-large':
            write_result(outputs, f'{model}_t0_l100', [1] * 9 + [0] * 15, n=1, **settings)
            entries.append(told(model, f'{model}_t0_l100', ModelFacts()))
    (outputs / 'manifest.jsonl').write_text(manifest_text(entries))
    return outputs


def reported(outputs: Path, folder: Path, *options: str) -> list[str]:
    """The lines of paper.md."""
    arguments = ['report', str(outputs), '-o', str(folder), '--only', 'tables', '--paper', *options]
    assert main(arguments) == 0
    return (folder / 'paper.md').read_text('utf-8').splitlines()


def table_under(lines: Sequence[str], title: str) -> list[list[str]]:
    """The cells of the table below a heading."""
    rest = lines[lines.index(f'## {title}') + 2 :]
    rows = rest[: next(place for place, line in enumerate(rest) if not line.startswith('|'))]
    return [[cell.strip() for cell in row.strip('|').split('|')] for row in rows]


def test_models_stand_in_sections_with_their_marks(tmp_path: Path) -> None:
    """By kind, best first; for a model without temperature stands its mean accuracy; the best in bold."""
    lines = reported(results(tmp_path / 'o'), tmp_path / 'r')
    assert table_under(lines, 'LiveMathBench-v202412') == [
        ['LLMs', 'Greedy', 'G-Pass@2_0.5', 'G-Pass@2_0.75', 'G-Pass@2_1.0', 'mG-Pass@2'],
        ['---', *['---:'] * 5],
        ['**General LLMs**', *[''] * 5],
        ['plain-7b', '37.5', '50.0', '50.0', '50.0', '50.0'],
        ['**Mathematical Reasoning LLMs**', *[''] * 5],
        # two of four right: 1 − 1/6 at least one of two, 1/6 both
        ['math_7b', '37.5', '83.3', '16.7', '16.7', '16.7'],
        ['**o1-like Reasoning LLMs**', *[''] * 5],
        # (18·4 + 6·3)/(24·4) = 93.75; three of four: always one of two, both in half of the draws
        ['o-large †', '**93.8** ‡', '**100.0**', '**87.5**', '**87.5**', '**87.5**'],
    ]
    text = '\n'.join(lines)
    assert '† Its weights are not published' in text
    assert '‡ No temperature was set' in text
    assert '24 questions, judge: rule.' in text


def test_without_facts_there_are_no_sections(tmp_path: Path) -> None:
    """Rows alone, best first, and no mark that nobody can know."""
    rows = table_under(
        reported(results(tmp_path / 'o', with_facts=False), tmp_path / 'r'), 'LiveMathBench-v202412'
    )
    assert [row[0] for row in rows[2:]] == ['o-large', 'plain-7b', 'math_7b']


def test_thresholds_are_columns_of_every_table(tmp_path: Path) -> None:
    """τ → 0 is at least one correct."""
    outputs = results(tmp_path / 'o')
    lines = reported(outputs, tmp_path / 'r', '--threshold', '0', '0.25', '1')
    rows = table_under(lines, 'LiveMathBench-v202412')
    assert rows[0][2:] == ['G-Pass@2_→0', 'G-Pass@2_0.25', 'G-Pass@2_1.0', 'mG-Pass@2']
    assert rows[5][2:] == ['83.3', '83.3', '16.7', '16.7']
    assert 'G-Pass@2_0.25' in (tmp_path / 'r' / 'leaderboard.md').read_text('utf-8')
    assert r'$_{\to 0}$' in (tmp_path / 'r/tables/LiveMathBench-v202412.paper.tex').read_text('utf-8')
    arguments = ['report', str(outputs), '-o', str(tmp_path / 'r'), '--only', 'tables']
    assert main([*arguments, '--threshold', '0.5', '0.5']) == 2
    assert main([*arguments, '--threshold', '2']) == 2


def test_languages_of_a_contest_are_pooled(tmp_path: Path) -> None:
    """A table a contest, over the questions of both languages: the counts go round A_cn, A_en, B_cn, B_en."""
    lines = reported(results(tmp_path / 'o'), tmp_path / 'r')
    for contest, places in (('A', (0, 1)), ('B', (2, 3))):
        rows = {row[0]: row for row in table_under(lines, f'LiveMathBench-v202412: {contest}')}
        pooled = [c for place, c in enumerate(MODELS['o-large'][1]) if place % 4 in places]
        accuracy = 100 * fmean(c / 4 for c in pooled)
        both = 100 * fmean({4: 1.0, 3: 0.5}[c] for c in pooled)
        assert rows['o-large †'][1] == f'**{accuracy:.1f}** ‡'
        assert rows['o-large †'][-1] == f'**{both:.1f}**'
    one = reported(results(tmp_path / 'one', groups=('A_cn', 'A_en')), tmp_path / 'r')
    assert '## LiveMathBench-v202412: A' not in one


def questions(folder: Path) -> Path:
    """Eight questions of LiveMathBench in two files, two of them to be filled in."""
    for split, language in (('AMC', 'en'), ('CCEE', 'cn')):
        file = folder / '202412' / f'{split}_{language}.jsonl'
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = [
            {
                'question': f'{split} {number} + 1?',
                'answer': '2',
                'question_type': 'fill-in' if (split, number % 2) == ('CCEE', 1) else 'problem-solving',
            }
            for number in range(4)
        ]
        file.write_text(''.join(json.dumps(row) + '\n' for row in rows), 'utf-8')
    return folder


def test_question_types_come_from_the_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Matched by what was asked; other questions are refused."""
    folder = questions(tmp_path / 'data')
    rows = [
        row
        for split, language in (('AMC', 'en'), ('CCEE', 'cn'))
        for row in live_math_bench_rows(str(folder), '202412', [split], [language])
    ]
    record = block([4, 4, 4, 4, 0, 2, 0, 4], 4)
    record['counts']['uid'] = record['counts']['problem'] = [row['uid'] for row in rows]
    path = tmp_path / 'o' / 'w' / '20260101_000000' / 'results' / 'm_t1-0_l100' / 'LiveMathBench-k2-r2.json'
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({'gpassk': record}))
    lines = reported(tmp_path / 'o', tmp_path / 'r', '--question-types', str(folder))
    titles = [line.rpartition(': ')[2] for line in lines if line.startswith('## ')]
    assert titles[-2:] == ['problem-solving', 'fill-in']
    title = next(line.removeprefix('## ') for line in lines if line.endswith(': fill-in'))
    # two of four and four of four right: both of two drawn in 1/6 and in all draws
    assert table_under(lines, title)[-1][-1] == f'**{100 * (1 / 6 + 1) / 2:.1f}**'
    (folder / '202412' / 'AMC_en.jsonl').write_text(json.dumps({'question': 'other', 'answer': '1'}) + '\n')
    arguments = ['report', str(tmp_path / 'o'), '-o', str(tmp_path / 'r'), '--only', 'tables']
    assert main([*arguments, '--paper', '--question-types', str(folder)]) == 2
    assert '4 of 8 questions of LiveMathBench are not there' in capsys.readouterr().err


def test_types_without_livemathbench_or_without_tables_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Options that nothing would come of."""
    arguments = ['report', str(results(tmp_path / 'o')), '-o', str(tmp_path / 'r')]
    for options, message in (
        (['--question-types', '.'], 'goes with --paper'),
        (['--paper', '--only', 'page'], '--paper makes tables'),
        (['--paper', '--only', 'tables', '--question-types', '.'], 'no result here is of it'),
    ):
        assert main([*arguments, *options]) == 2
        assert message in capsys.readouterr().err


def test_the_published_leaderboard_has_its_sections(tmp_path: Path) -> None:
    """As on its page, in its order; a line a model of each benchmark."""
    assert main(['report', '-o', str(tmp_path), '--only', 'tables', '--paper', '--published']) == 0
    lines = (tmp_path / 'paper.md').read_text('utf-8').splitlines()
    rows = table_under(lines, 'published: LiveMathBench-2412')
    assert len(rows) == 2 + 3 + 28
    heads = [row[0].strip('*') for row in rows if row[0].startswith('**')]
    assert heads == ['General LLMs', 'Mathematical Reasoning LLMs', 'o1-like Reasoning LLMs']
    assert rows[3] == ['Llama-3.1-8B-Instruct', '24.0', '18.2', '11.3', '4.5', '10.4']


def test_paper_md_is_read_again_as_a_leaderboard(tmp_path: Path) -> None:
    """Each of its numbers, τ → 0 among them; ours and the published ones on one benchmark stay apart."""
    theirs = tmp_path / 'theirs.md'
    theirs.write_text(
        '## LiveMathBench-v202412\n|LLMs|G-Pass@$2_{\\to 0}$|mG-Pass@2|\n|--|--|--|\n|math_7b|12.0|3.4|\n',
        'utf-8',
    )
    options = ('--threshold', '0', '1', '--published', str(theirs))
    reported(results(tmp_path / 'o'), tmp_path / 'r', *options)
    read = read_published(tmp_path / 'r' / 'paper.md')
    ours, mean = 'LiveMathBench-v202412', Metric.mg_pass_at(2)
    assert read.benchmarks == (ours, f'{ours}: A', f'{ours}: B', f'published: {ours}')
    some, both = Metric.g_pass_at(2, 0), Metric.g_pass_at(2, 1)
    of_one = {key[1:]: value for key, value in read.values.items() if key[0] == 'math_7b'}
    # two of four right: 1 − 1/6 at least one of two, 1/6 both; 9 of 24 greedy ones
    assert {key: value for key, value in of_one.items() if ': ' not in key[0]} == {
        (ours, 'Greedy'): 37.5,
        (ours, some): 83.3,
        (ours, both): 16.7,
        (ours, mean): 16.7,
    }
    assert {key: value for key, value in of_one.items() if key[0].startswith('published: ')} == {
        (f'published: {ours}', some): 12.0,
        (f'published: {ours}', mean): 3.4,
    }
    assert set(read.models) == set(MODELS)


@pytest.mark.skipif(shutil.which('pdflatex') is None, reason='pdflatex is not installed')
def test_latex_compiles_without_errors(tmp_path: Path) -> None:
    """All tables of a report and of the published leaderboard, with booktabs alone."""
    reported(results(tmp_path / 'o'), tmp_path / 'r', '--threshold', '0', '0.5', '1', '--published')
    files = sorted((tmp_path / 'r' / 'tables').glob('*.paper.tex'))
    files += sorted((tmp_path / 'r' / 'tables').glob('*.contests.tex'))
    assert len(files) == 3
    inputs = '\n'.join(rf'\input{{{file}}}\clearpage' for file in files)
    document = rf'\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{inputs}\end{{document}}'
    (tmp_path / 'all.tex').write_text(document)
    command = ['pdflatex', '-interaction=nonstopmode', '-halt-on-error', 'all.tex']
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert 'Missing character' not in done.stdout

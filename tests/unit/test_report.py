"""`gpassk report`: what it prints and writes is the frame, and nothing a table holds is obeyed."""

import csv
import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

from result_files import ABBR, HALVES, THIRDS, write_result, write_three

from gpassk_opencompass.cli import main
from gpassk_opencompass.collect import collect, collect_one
from gpassk_opencompass.record import Names, write
from gpassk_opencompass.report.frame import COLUMNS, boards, frame, scores_of
from gpassk_opencompass.report.tables import (
    leaderboard,
)
from gpassk_opencompass.text import read_csv_cell


def report(*arguments):
    return main(['report', *map(str, arguments), '--only', 'tables'])


def cells(line):
    return [cell.strip() for cell in line.strip().strip('|').split('|')]


def numbers(text):
    """Every number of a table with its interval, as they are written."""
    return set(re.findall(r'-?\d+\.\d\d \[-?\d+\.\d, -?\d+\.\d\]', text))


def two_benchmarks(outputs):
    write_three(outputs)
    more = {'dataset': 'AIME2024', 'data': 'other', 'problems': [f'a{i}' for i in range(24)]}
    write_result(outputs, ABBR.format(1), HALVES, **more)


# Views of one frame


def test_every_number_of_every_table_is_that_of_the_frame(tmp_path, capsys):
    two_benchmarks(tmp_path / 'o')
    assert report(tmp_path / 'o', '-o', tmp_path / 'r') == 0
    printed = capsys.readouterr().out
    tables, _ = boards(collect([tmp_path / 'o']).results)
    data = frame(tables)
    known = {f'{row.value:.2f} [{row.low:.1f}, {row.high:.1f}]' for row in data.itertuples()}
    markdown = (tmp_path / 'r/leaderboard.md').read_text()
    latex = ''.join(path.read_text() for path in (tmp_path / 'r/tables').glob('*.tex'))
    for text in (printed, markdown, latex):
        assert numbers(text)
        assert numbers(text) <= known
    assert numbers(markdown) == numbers(latex) >= numbers(printed)
    with (tmp_path / 'r/scores.csv').open(newline='') as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(COLUMNS)
    for row, one in zip(rows, data.to_dict('records'), strict=True):
        for name, value in one.items():
            told = read_csv_cell(row[name])
            if isinstance(value, str):
                assert told == value
            else:
                assert told == '' if math.isnan(value) else float(told) == value
    assert report(tmp_path / 'o', '-o', tmp_path / 'r', '--json') == 0
    shown = json.loads(capsys.readouterr().out)['tables']
    assert [table['title'] for table in shown] == ['AIME2024', 'MATH500-L5', 'All benchmarks']
    own = data[(data.benchmark == 'AIME2024') & (data.group == '')].to_dict('records')
    for row, one in zip(shown[0]['rows'], own, strict=True):
        assert row == {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in one.items()
        }


def test_a_leaderboard_has_the_columns_of_the_paper(tmp_path):
    """Scores with two decimals, intervals with one, best first, health beside the score."""
    write_three(tmp_path)
    [board], _ = boards(collect([tmp_path]).results)
    data = frame([board])
    table = leaderboard(board, data, scores_of(data))
    shown = 'model Greedy G-Pass@2_0.5 G-Pass@2_0.75 G-Pass@2_1.0 mG-Pass@2 rank n health'
    assert table.columns == shown.split()
    assert [[cell.partition(' ')[0] for cell in row] for row in table.texts()] == [
        ['m2', '41.67', '77.78', '55.56', '55.56', '55.56', '1–2', '4', 'ok'],
        ['m1', '–', '61.11', '38.89', '38.89', '38.89', '1–2', '4', 'ok'],
    ]


def test_thresholds_level_and_k_are_those_asked_for(tmp_path):
    write_three(tmp_path / 'o')
    line = [tmp_path / 'o', '-o', tmp_path / 'r', '--k', 4, '--level', 0.9]
    assert report(*line, '--threshold', '0', '0.25', '1') == 0
    text = (tmp_path / 'r/leaderboard.md').read_text()
    row = next(line for line in text.splitlines() if '| model' in line)
    assert cells(row)[2:6] == ['G-Pass@4_0.0', 'G-Pass@4_0.25', 'G-Pass@4_1.0', 'mG-Pass@4']
    assert 'the 90 % interval' in text
    for wrong in (['--threshold', '0.5', '0.5'], ['--threshold', '2'], ['--k', '1'], ['--level', '95']):
        assert report(*line, *wrong) == 2


# Files


def test_a_report_is_printed_and_written(tmp_path, capsys):
    """No file has a path of this machine; what was left out is named, older results never fail it."""
    write_three(tmp_path / 'outputs')
    write_result(tmp_path / 'outputs', ABBR.format(1), THIRDS, time='20250101_000000')
    folder = tmp_path / 'report'
    assert report(tmp_path / 'outputs', '-o', folder, '--strict') == 0
    printed, said = capsys.readouterr()
    assert f'the tables: {folder}: leaderboard.md, scores.csv, tables/*.tex' in printed
    assert 'there is a newer result' in said
    assert {path.name for path in folder.rglob('*') if path.is_file()} == {
        *('leaderboard.md', 'scores.csv', 'MATH500-L5.tex', 'MATH500-L5.groups.tex')
    }
    write_result(tmp_path / 'outputs', ABBR.format(3), THIRDS).write_text('{')
    assert report(tmp_path / 'outputs', '-o', folder) == 0
    assert report(tmp_path / 'outputs', '-o', folder, '--strict') == 1
    assert 'cannot be read' in (folder / 'leaderboard.md').read_text()
    assert not [path for path in folder.rglob('*.*') if str(tmp_path).encode() in path.read_bytes()]


def test_nothing_found_is_refused(tmp_path, capsys):
    assert report(tmp_path, '-o', tmp_path / 'report') == 2
    assert 'gpassk check' in capsys.readouterr().err
    assert not (tmp_path / 'report').exists()


def test_without_the_extra_the_tables_are_written_all_the_same(tmp_path):
    write_three(tmp_path / 'outputs')
    code = (
        'import sys; sys.modules |= dict.fromkeys(["matplotlib"])\n'
        'from gpassk_opencompass.cli import main; sys.exit(main(sys.argv[1:]))'
    )
    arguments = [str(tmp_path / 'outputs'), '-o', str(tmp_path / 'report'), '--only', 'tables', 'figures']
    line = [sys.executable, '-c', code, 'report', *arguments]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert (tmp_path / 'report/leaderboard.md').exists()
    assert 'gpassk report: no figures: matplotlib is not installed; run: pip' in done.stderr
    assert done.stderr.endswith('--only tables takes none of it\n')
    assert not (tmp_path / 'report/figures').exists()


# The tables of one run of OpenCompass


# Lighteval's results beside OpenCompass's

LIGHTEVAL = Path(__file__).parents[1] / 'recorded' / 'lighteval'
BENCHMARK, NAME = 'LiveMathBench-vdemo-ADD_MUL_MIX-cn_en', 'demo_t1.0_p0.9_l40'


def test_two_hosts_stand_in_one_table_and_keys_in_their_files_stay_there(tmp_path):
    """With the warning that each has its own prompt; one model of both has its host in its name."""
    shutil.copytree(LIGHTEVAL, tmp_path / 'lighteval')
    [path] = (tmp_path / 'lighteval').rglob('results_*.json')
    summary = json.loads(path.read_text(encoding='utf-8'))
    summary['config_general']['model_config']['api_key'] = 'sk-secret'
    path.write_text(json.dumps(summary))
    result = collect_one(tmp_path / 'lighteval')
    result.run = Names(model=NAME, dataset=f'{BENCHMARK}-k4_8-r1', host='opencompass')
    result._samples, result.bounds = None, {}
    write(tmp_path / 'oc/w/20260101_000000/results' / NAME / f'{BENCHMARK}-k4_8-r1.json', result)
    assert report(tmp_path / 'oc', tmp_path / 'lighteval', '-o', tmp_path / 'r') == 0
    text = (tmp_path / 'r/leaderboard.md').read_text(encoding='utf-8')
    assert 'Runs of lighteval and opencompass stand together' in text
    assert "the prompt around a question and the chat template are each host's own" in text
    with (tmp_path / 'r/scores.csv').open(newline='') as file:
        told = {(row['run'], row['host']) for row in csv.DictReader(file)}
    assert told == {('demo lighteval', 'lighteval'), ('demo opencompass', 'opencompass')}
    assert not any(b'sk-secret' in path.read_bytes() for path in (tmp_path / 'r').rglob('*.*'))

"""The speed benchmarks: each still runs, and what they measure and print is right."""

from __future__ import annotations

import json
import os
import sys
import time
from argparse import ArgumentParser
from importlib import import_module
from pathlib import Path

import pytest
from hosts import import_plugin

from benchmarks.__main__ import LIMIT, SUITE, main, run
from benchmarks.made import answer_of, made_pairs, made_responses, write_questions
from benchmarks.measuring import command_cost, cost
from benchmarks.page import BEGIN, END, measured_part, put_into
from benchmarks.sections import add_size, duration, times
from benchmarks.serving import SAMPLES, Rate, prompts, table
from gpassk_opencompass.answers import final_answer

pytestmark = pytest.mark.slow


@pytest.mark.e2e
@pytest.mark.parametrize('name', SUITE)
def test_a_benchmark_still_runs(name: str) -> None:
    """At its smallest size, each gives a table without gaps, and compares what agrees."""
    import_plugin()
    section = import_module(f'benchmarks.{name}').measure('tiny')
    assert section.rows
    assert all(len(row) == len(section.heads) and all(row) for row in section.rows)
    assert section.headlines


def test_every_benchmark_is_in_the_suite() -> None:
    """A module with sizes to measure is one that `make bench` runs."""
    folder = Path(__file__).resolve().parents[1] / 'benchmarks'
    with_sizes = {
        file.stem for file in folder.glob('*.py') if 'def measure(size: Size)' in file.read_text('utf-8')
    }
    assert with_sizes == set(SUITE)


def test_cost_counts_processor_time_and_memory_of_the_work_alone() -> None:
    """Sleeping costs none; 64 MiB that the work fills are seen, and nothing of what was there before."""
    ballast = b'x' * (96 << 20)
    asleep, filling = cost(lambda: time.sleep(0.05)), cost(lambda: len(bytearray(os.urandom(1)) * (64 << 20)))
    assert asleep.seconds >= 0.05 > asleep.cpu
    assert asleep.added < 32
    assert 60 <= filling.added < 100
    assert filling.value == 64 << 20
    assert len(ballast) / (1 << 20) <= filling.mebibytes


def test_cost_counts_what_children_of_the_work_spend() -> None:
    """A command that computes for some time adds its processor time, however long the clock runs."""
    code = 'import time\nwhile time.process_time() < 0.3: pass'
    assert (
        cost(lambda: os.waitpid(os.spawnv(os.P_NOWAIT, sys.executable, ['python', '-c', code]), 0)).cpu >= 0.3
    )
    assert command_cost([sys.executable, '-c', code]).cpu >= 0.3


def test_work_that_fails_is_an_error_with_its_traceback() -> None:
    """Also where it dies without a word, and where it is a command."""
    with pytest.raises(RuntimeError, match='ZeroDivisionError'):
        cost(lambda: 1 / 0)
    with pytest.raises(RuntimeError, match='exit status 3'):
        cost(lambda: os._exit(3))
    with pytest.raises(RuntimeError, match='ended with 1'):
        command_cost([sys.executable, '-c', 'raise SystemExit(1)'])


def package(root: Path) -> None:
    """A `benchmarks` that comes before the real one, also where PYTHONPATH names that."""
    (root / 'benchmarks').mkdir()
    (root / 'benchmarks' / '__init__.py').touch()


def test_a_failing_benchmark_is_on_the_page_and_keeps_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page names it and why; its neighbour's section stays."""
    monkeypatch.setattr('benchmarks.__main__.ROOT', tmp_path)
    package(tmp_path)
    good = {'title': 'Good', 'about': 'a', 'heads': ['x'], 'rows': [['1']], 'notes': [], 'headlines': []}
    (tmp_path / 'benchmarks' / 'good.py').write_text(
        f'import sys\nopen(sys.argv[-1], "w").write({json.dumps(good)!r})\n'
    )
    (tmp_path / 'benchmarks' / 'bad.py').write_text('raise SystemExit(7)\n')
    assert [run(name, 'tiny', tmp_path) for name in ('bad', 'good')] == [False, True]
    text = measured_part([tmp_path / 'bad.json', tmp_path / 'good.json', tmp_path / 'never_ran.json'])
    assert '### bad\n\nNot measured: exit status 7' in text
    assert '### Good\n\na\n\n| x' in text


def test_a_benchmark_that_never_ends_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all that it started, and the page says so."""
    monkeypatch.setattr('benchmarks.__main__.ROOT', tmp_path)
    monkeypatch.setitem(LIMIT, 'tiny', 0.3)
    package(tmp_path)
    (tmp_path / 'benchmarks' / 'endless.py').write_text('import signal\nsignal.pause()\n')
    assert not run('endless', 'tiny', tmp_path)
    assert 'stopped: not done within 0.3 s' in measured_part([tmp_path / 'endless.json'])


def test_an_unknown_benchmark_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything runs, with the names that there are."""
    monkeypatch.setattr('sys.argv', ['benchmarks', 'no_such'])
    with pytest.raises(SystemExit, match='2'):
        main()


@pytest.mark.parametrize(
    ('typed', 'size'), [([], 'full'), (['--quick'], 'quick'), (['--size', 'tiny'], 'tiny')]
)
def test_a_benchmark_without_options_is_the_full_one(typed: list[str], size: str) -> None:
    """And has a shorter form."""
    parser = ArgumentParser()
    add_size(parser)
    assert parser.parse_args(typed).size == size


def test_results_go_between_the_marks_of_the_page(tmp_path: Path) -> None:
    """Twice over, with the text around them untouched; a page without marks is refused."""
    page = tmp_path / 'page.md'
    page.write_text(f'before\n{BEGIN}\nold\n{END}\nafter\n')
    for text in ('new', 'newer'):
        put_into(page, text)
    assert page.read_text() == f'before\n{BEGIN}\nnewer\n{END}\nafter\n'
    page.write_text('no marks')
    with pytest.raises(SystemExit, match='lacks'):
        put_into(page, 'new')


def test_made_responses_state_what_they_are_said_to(tmp_path: Path) -> None:
    """The right ones give the reference or its other spelling, the others something else."""
    questions = write_questions(tmp_path, 0.1)
    responses, right = made_responses(questions, 4, 50)
    for row, (response, correct) in enumerate(zip(responses, right, strict=True)):
        answer = answer_of(row % questions)
        given = final_answer(response).text
        assert (given in (answer.reference, answer.respelled)) is correct
        assert (given == answer.wrong) is not correct
    assert len({pair[:2] for pair in made_pairs(400)}) == 400


@pytest.mark.parametrize(
    ('seconds', 'shown'),
    [(0.0, '0.00 µs'), (1.23e-4, '123 µs'), (0.0456, '45.6 ms'), (7.891, '7.89 s'), (4321, '72 min')],
)
def test_durations_have_three_digits(seconds: float, shown: str) -> None:
    """In the unit that fits."""
    assert duration(seconds) == shown


@pytest.mark.parametrize(('ratio', 'shown'), [(0.5, '0.50×'), (4.25, '4.2×'), (123456, '123,456×')])
def test_ratios_have_as_many_digits_as_they_deserve(ratio: float, shown: str) -> None:
    """Two below 1, one below 10, none above."""
    assert times(ratio) == shown


def test_clients_of_a_server_are_compared_by_their_median_rounds() -> None:
    """Each number of requests under way has its row; one slow round changes no ratio of medians."""
    seconds = {'openai': (1.0, 2.0, 50.0), 'vllm bench serve': (2.0, 1.0, 4.0)}
    rates = [Rate(client, 16, 64, each) for client, rounds in seconds.items() for each in rounds]
    first, second = table([*rates, Rate('openai', 1, 8, 4.0), Rate('vllm bench serve', 1, 8, 2.0)])[2:]
    assert first == '| 16 | 64 | 32.00/s | 32.00/s | 1.00 | 2.00, 0.50, 0.08 |'
    assert second == '| 1 | 8 | 2.00/s | 4.00/s | 0.50 | 0.50 |'


def test_no_prompt_is_sent_to_a_server_twice() -> None:
    """Neither within a turn nor in the next one, for as many as any round sends."""
    wanted = max(SAMPLES.values())
    sent = [prompt for turn in (7, 8) for prompt in prompts(turn, wanted)]
    assert len(set(sent)) == 2 * wanted
    assert len(set(map(len, sent))) == 1

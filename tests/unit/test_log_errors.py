"""What a failure was is one line of its log, whatever else stands there."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpassk_opencompass.log_errors import error_in, last_lines, last_said

LOGS = Path(__file__).parents[1] / 'recorded' / 'logs'
"""Of runs of OpenCompass 0.5.4, with other paths."""


@pytest.mark.parametrize(
    ('log', 'error'),
    [
        (
            'infer_no_file.out',
            "FileNotFoundError: [Errno 2] No such file or directory: '/data/sweep0/later/trace'",
        ),
        (
            'eval_no_predictions.out',
            'FileNotFoundError: Prediction files not found: neither '
            '/outputs/broken/20261122_084048/predictions/scripted/bench.json nor '
            '/outputs/broken/20261122_084048/predictions/scripted/bench_0.json exists',
        ),
        (
            'infer_no_server.out',
            'RuntimeError: Calling OpenAI API failed after retrying for 9 times. Check the logs for details. '
            '(before it: Connection error.)',
        ),
        ('infer_killed.out', ''),
        ('command.log', ''),
    ],
)
def test_the_error_of_a_recorded_log(log, error):
    """The exception with its message, however long, and no frame, no progress bar, no prefix of a logger."""
    assert error_in(last_lines(LOGS / log)) == error
    ours = error_in(last_lines(LOGS / 'eval_no_judge.out'))
    assert ours == (LOGS / 'eval_no_judge.out').read_text().splitlines()[-1]
    assert ours.startswith('gpassk_opencompass.errors.IncompleteError: no judge server answers (http://')


ENGINE = '(EngineCore pid=4711) '
VLLM = 'ERROR 11-22 08:41:14 [core.py:708] '


def test_the_cause_in_a_process_of_the_engine_is_named():
    """vLLM puts process and logger before each line of the real error, and then fails with another one."""
    inner = [
        'EngineCore failed to start.',
        'Traceback (most recent call last):',
        '  File "core.py", line 699, in run_engine_core',
        '    engine_core = EngineCoreProc(*args, **kwargs)',
        '                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^',
        'ValueError: To serve at least one request, 4.50 GiB KV cache is needed',
    ]
    outer = [
        'Traceback (most recent call last):',
        '  File "openicl_infer.py", line 177, in <module>',
        '    inferencer.run()',
        'RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}',
    ]
    colours = [f'\x1b[1;36m{ENGINE}\x1b[0;0m{VLLM}{line}' for line in inner]
    expected = f'{outer[-1]} (before it: {inner[-1]})'
    assert error_in([*(f'{ENGINE}{VLLM}{line}' for line in inner), *outer]) == expected
    assert error_in([*colours, *outer]) == expected


def test_a_bare_exception_has_the_code_that_raised_it():
    head = ['Traceback (most recent call last):', '  File "a.py", line 1, in <module>', '    assert ready, x']
    assert error_in([*head, 'AssertionError']) == 'AssertionError at: assert ready, x'
    assert error_in([*head, 'pkg.BadThing:', 'it is bad']) == 'pkg.BadThing: it is bad'
    assert error_in([*head, 'KeyboardInterrupt']) == ''


@pytest.mark.parametrize(
    ('lines', 'said'),
    [
        (['loading', 'srun: error: node7: Killed'], 'srun: error: node7: Killed'),
        (
            ['Fatal Python error: Aborted', '', '  File "x.py", line 57 in f', 'Extension modules: numpy'],
            'Fatal Python error: Aborted',
        ),
        (['11/22 08:41:21 - OpenCompass - ERROR - /a/b.py - f - 241 - no space', 'bye'], 'no space'),
        (['11/22 08:41:21 - OpenCompass - INFO - loading'], 'loading'),
        ([' 44%|████▍     | 4/9 [00:22<00:28,  5.61s/it]'], ''),
        ([], ''),
    ],
)  # fmt: skip
def test_without_a_traceback_the_last_thing_said(lines, said):
    """How it died, else an error that was logged, else the last line that is none of a bar."""
    assert last_said(lines) == said

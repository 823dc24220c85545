"""Graders of other programs: how they are asked, what becomes of those that break, and the table of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import answers, graders
from benchmarks.graders import ADAPTERS, IN_A_ROW, Asked, Graded, NoGrader, grade, python_of
from benchmarks.graders.adapters import GRADERS

FAKE = """
import json, os, sys, time
print(json.dumps({'version': sys.argv[2]}), flush=True)
for line in sys.stdin:
    pair = json.loads(line)
    with open(sys.argv[1], 'a', encoding='utf-8') as log:
        log.write(pair['answer'] + '\\n')
    if pair['answer'] == 'dies':
        os._exit(3)
    if pair['answer'] == 'hangs':
        time.sleep(60)
    said = {'equal': pair['reference'] == pair['answer']}
    if pair['answer'] == 'raises':
        said = {'failed': 'ValueError'}
    if pair['answer'] == 'shrugs':
        said = {'equal': None}
    print('no JSON' if pair['answer'] == 'babbles' else json.dumps(said), flush=True)
"""
"""Takes an equal text for right; writes down what it is asked; breaks where the answer says so."""


@pytest.fixture
def fake(tmp_path: Path) -> list[str]:
    """The command of the fake grader, whose version is 1."""
    script = tmp_path / 'fake.py'
    script.write_text(FAKE, encoding='utf-8')
    return [sys.executable, str(script), str(tmp_path / 'asked.txt'), '1']


def asked(tmp_path: Path) -> list[str]:
    """The answers that the fake grader got."""
    return (tmp_path / 'asked.txt').read_text(encoding='utf-8').splitlines()


def test_a_grader_is_asked_once_about_each_pair(tmp_path: Path, fake: list[str]) -> None:
    """Its verdicts come in the order of the pairs; text of any language arrives as it is."""
    pairs = [Asked('a', 'b'), Asked('充要', '充要'), Asked('a', 'b'), Asked('x\n"', 'x\n"')]
    graded = grade(fake, pairs, 20)
    assert graded == Graded('1', [False, True, False, True], {})
    assert asked(tmp_path) == ['b', '充要', 'x', '"']


@pytest.mark.parametrize(
    ('answer', 'reason'),
    [
        ('dies', 'crash'),
        ('hangs', 'time'),
        ('babbles', 'no verdict'),
        ('shrugs', 'no verdict'),
        ('raises', 'ValueError'),
    ],
)
def test_a_pair_without_a_verdict_is_refused_and_counted(fake: list[str], answer: str, reason: str) -> None:
    """As often as it is there; the pairs after it are graded."""
    pairs = [Asked(answer, answer), Asked('a', 'a'), Asked(answer, answer)]
    assert grade(fake, pairs, 1.0 if answer == 'hangs' else 20.0) == Graded(
        '1', [False, True, False], {reason: 2}
    )


def test_a_grader_that_gives_no_verdicts_at_all_is_given_up(tmp_path: Path, fake: list[str]) -> None:
    """After so many pairs in a row; an exception that it names is a reply of its own."""
    with pytest.raises(NoGrader, match=f'no verdict on {IN_A_ROW} pairs in a row, the last time: crash'):
        grade(fake, [Asked(str(number), 'dies') for number in range(50)], 20)
    assert len(asked(tmp_path)) == IN_A_ROW
    graded = grade(fake, [Asked(str(number), 'raises') for number in range(50)], 20)
    assert graded.failed == {'ValueError': 50}


def test_kept_verdicts_are_not_asked_for_again(tmp_path: Path, fake: list[str]) -> None:
    """Those that came before a run was broken off neither; another version is asked anew."""
    kept = tmp_path / 'kept' / 'fake.jsonl'
    first, second = [Asked('a', 'a'), Asked('b', 'raises')], [Asked('c', 'd'), Asked('b', 'raises')]
    grade(fake, first, 20, kept)
    graded = grade(fake, first + second, 20, kept)
    assert graded == Graded('1', [True, False, False, False], {'ValueError': 2})
    assert asked(tmp_path) == ['a', 'raises', 'd']
    assert grade([*fake[:-1], '2'], first, 20, kept).version == '2'
    assert asked(tmp_path)[3:] == ['a', 'raises']


@pytest.mark.parametrize(
    ('code', 'why'),
    [
        (
            'print(\'{"missing": "ModuleNotFoundError: its parser"}\')',
            'not installed: ModuleNotFoundError: its',
        ),
        ('raise SystemExit(1)', 'does not start it: it ended without a reply'),
        ('print("hello")', 'does not start it'),
        ('print([])', 'does not start it: expected a JSON object'),
    ],
    ids=['missing', 'silent', 'no JSON', 'no object'],
)
def test_a_grader_that_does_not_start_says_why(code: str, why: str) -> None:
    """Before it is asked anything."""
    with pytest.raises(NoGrader, match=why):
        grade([sys.executable, '-c', code], [Asked('a', 'a')], 20)


def test_a_grader_that_is_not_installed_is_named_by_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that is to be made."""
    monkeypatch.setattr(graders, 'ROOT', tmp_path)
    with pytest.raises(NoGrader, match=r'not installed, there is no \.venv-graders/verl'):
        python_of('verl-prime')


def test_an_adapter_says_that_its_package_is_missing(tmp_path: Path) -> None:
    """In an environment without it, with the name of what cannot be imported."""
    command = [sys.executable, '-S', str(ADAPTERS), 'lm-eval-minerva']
    with pytest.raises(NoGrader, match="not installed: ModuleNotFoundError: No module named 'lm_eval'"):
        grade(command, [Asked('1', '1')], 20)


def test_what_a_grader_prints_is_no_reply(tmp_path: Path) -> None:
    """Nor what its children print; its exceptions are named."""
    script = tmp_path / 'noisy.py'
    script.write_text(
        f'import os, sys\nsys.path.insert(0, {str(ADAPTERS.parent)!r})\nimport adapters\n'
        'def load():\n'
        '    print("loading")\n'
        '    def accepts(reference, answer):\n'
        '        print("comparing", flush=True)\n'
        '        os.system("echo child")\n'
        '        return {1: "x"}[int(answer)] == reference\n'
        '    return accepts\n'
        'adapters.GRADERS["noisy"] = adapters.Grader("", "", load)\n'
        'adapters.main()\n',
        encoding='utf-8',
    )
    graded = grade([sys.executable, str(script), 'noisy'], [Asked('x', '1'), Asked('x', '2')], 20)
    assert graded == Graded('', [True, False], {'KeyError': 1})


@pytest.mark.slow
def test_plain_math_verify_grades_through_its_adapter() -> None:
    """The one grader that is there wherever this package is."""
    pairs = [Asked('\\frac{1}{2}', '0.5'), Asked('3', '4')]
    assert grade([sys.executable, ADAPTERS, 'math-verify'], pairs, 60).accepted == [True, False]


def test_the_table_counts_what_each_judge_gets_wrong(
    tmp_path: Path, fake: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By source; of a whole response graders get what is in the box. Below stand the pairs without a verdict,
    and who is not installed."""
    pairs = tmp_path / 'pairs.jsonl'
    rows = [
        ('1/2', '0.5', True, 'a'),
        ('2', '3', False, 'a'),
        ('4', 'So it is \\boxed{4}.', False, 'b'),
        ('5', 'raises', True, 'b'),
    ]
    names = ('reference', 'answer', 'label', 'source')
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    pairs.write_text('\n'.join(lines), encoding='utf-8')
    monkeypatch.setattr(
        answers, 'python_of', lambda name: python_of(name) if name == 'verl-prime' else fake[0]
    )
    monkeypatch.setattr(answers, 'ADAPTERS', fake[1])
    monkeypatch.setattr(graders, 'ROOT', tmp_path)
    monkeypatch.setattr(answers, 'grade', lambda command, *rest: grade([*command[:2], *fake[2:]], *rest))
    monkeypatch.setattr(
        'sys.argv', ['answers', str(pairs), '--no-speed', '--grader', 'evalscope', 'verl-prime']
    )
    answers.main()
    shown = [line.replace(' ', '') for line in capsys.readouterr().out.splitlines()]
    assert '|FP/FN|pairs|ours|evalscope|' in shown
    assert '|a|2|0/0|0/1|' in shown
    assert '|b|2|1/1|1/1|' in shown
    assert '|all|4|1/1|1/2|' in shown
    assert '-evalscope1;noverdicton1pairs,whichcountasrefused:ValueError1' in shown
    assert '-verl-prime:notinstalled,thereisno.venv-graders/verl' in shown


def test_an_unknown_grader_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is judged, with the names that there are."""
    monkeypatch.setattr('sys.argv', ['answers', '--grader', 'verl'])
    with pytest.raises(SystemExit, match='2'):
        answers.main()
    assert f"unknown grader 'verl'; there are {', '.join(GRADERS)}" in capsys.readouterr().err

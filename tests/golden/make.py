"""Write the golden files: what commit d649c40 gave, against which all that came later is held.

    python tests/golden/make.py [NAME …]        # such as configs; with none all but demo
    python tests/golden/make.py demo outputs/demo  # the scores of the runs of `make demo`

`test_golden.py` calls the same functions and compares. A golden file changes in the commit that changes the
behaviour on purpose, whose message says why. `work_dir/` was sampled by d649c40, `published.json` is what
the published script gave: neither is written again.
"""

from __future__ import annotations

import csv
import json
import os
import runpy
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
sys.path[:0] = [str(TESTS), str(HERE)]

from hosts import SHARED, results_of, run_opencompass
from templates import TEMPLATES

import gpassk_opencompass
from gpassk_opencompass import Pair, RuleJudge
from gpassk_opencompass.cli import main

PACKAGE = str(Path(gpassk_opencompass.__file__).parent)
SHIPPED = ('close', 'close_o1', 'demo', 'nono1', 'o1')
PAIRS = SHARED / 'data/answer_pairs/pairs.jsonl'
SAMPLES = SHARED / 'data/samples'

LOGS = (
    'evalscope/*/*', 'inspect/*', 'lighteval', 'lighteval_tasks/*', 'lm_eval/*', 'matharena/*',
    'nemo_skills', 'opencompass/*', 'verl/*/*/',
)  # fmt: skip
"""What of `tests/recorded` is scored, each by itself."""


def gpassk(*arguments: str) -> tuple[int, str, str]:
    """The exit code of a command, what it prints, and its messages."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(arguments)
    return code, out.getvalue(), err.getvalue()


# Configs


def expanded(template: Path, *options: str) -> dict[str, dict[str, Any]]:
    """File name → config of a template."""
    with tempfile.TemporaryDirectory() as folder:
        code, _, said = gpassk('expand', str(template), '--output-dir', folder, '--no-data-check', *options)
        assert code == 0, said
        found = {}
        for file in sorted(Path(folder).glob('*.py')):
            names = runpy.run_path(str(file))
            found[file.name] = {name: value for name, value in names.items() if name[0] != '_'}
        return found


def flat(value: Any, place: str = '') -> dict[str, Any]:
    """Place → value of all that is in a config: 'models.0.path' → 'org/model'."""
    if isinstance(value, dict) and value:
        parts: Iterable[tuple[Any, Any]] = value.items()
    elif isinstance(value, list) and any(isinstance(one, (dict, list)) for one in value):
        parts = enumerate(value)
    else:
        return {place: value.replace(PACKAGE, '<package>') if isinstance(value, str) else value}
    inner = (flat(one, f'{place}.{name}'.lstrip('.')) for name, one in parts)
    return {name: one for each in inner for name, one in each.items()}


def of_template(configs: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """What all configs of a template share, and the rest of each."""
    each = {file: flat(config) for file, config in configs.items()}
    shared = dict(
        set.intersection(*({(name, repr(value)) for name, value in one.items()} for one in each.values()))
    )
    first = next(iter(each.values()))
    rest = {file: {name: one[name] for name in one if name not in shared} for file, one in each.items()}
    return {'all': {name: first[name] for name in first if name in shared}, **rest}


def configs() -> dict[str, Any]:
    """All configs of the shipped templates and of those in `templates.py`."""
    found = {name: expanded(TESTS.parent / f'config_templates/{name}.py') for name in SHIPPED}
    for name, text in TEMPLATES.items():
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / 'template.py'
            file.write_text(text, encoding='utf-8')
            found[name] = expanded(file)
    return {name: of_template(each) for name, each in found.items()}


# Answers


def ranges(numbers: Iterable[int]) -> str:
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ' '.join(f'{first}-{last}' if last > first else f'{first}' for first, last in parts)


def grouped(said: Sequence[str]) -> dict[str, str]:
    """What is said → the numbers, from 1, of which it is said."""
    return {
        text: ranges(number for number, one in enumerate(said, 1) if one == text)
        for text in sorted(set(said))
    }


def read_lines(path: Path) -> list[Any]:
    """The JSON objects of a file, one a line."""
    return [json.loads(line) for line in path.read_text(encoding='utf-8').splitlines()]


def answers() -> dict[str, Any]:
    """Verdict and rule for each pair of the suite, which begins with those of `written.tsv`."""
    rows = read_lines(TESTS / 'unit/answers/suite.jsonl')
    lines = (TESTS / 'unit/answers/written.tsv').read_text(encoding='utf-8').splitlines()
    hand = [Pair(*fields_of(line)) for line in lines]
    suite = [Pair(row['question'], row['reference'], row['answer']) for row in rows]
    with RuleJudge() as judge:
        said = [f'{one.verdict.value}: {one.origin}' for one in judge.judge([*suite, *hand])]
    return {'suite.jsonl': grouped(said[: len(suite)]), 'written.tsv': grouped(said[len(suite) :])}


def fields_of(line: str) -> tuple[str, str, str]:
    """Question, reference and answer of a line of `written.tsv`."""
    _, _, reference, answer, _, *question = line.split('\t')
    return ''.join(question).replace('\\n', '\n'), reference, answer


def pairs() -> dict[str, str]:
    """Verdict for each labelled pair from elsewhere, by the number of its line."""
    rows = read_lines(PAIRS)
    with RuleJudge() as judge:
        said = judge.judge([Pair('', row['gold'], row['pred']) for row in rows])
    return {
        f'{source} {verdict}': ranges(
            int(row['id'].rpartition('-')[2])
            for row, one in zip(rows, said, strict=True)
            if (row['source'], one.verdict.value) == (source, verdict)
        )
        for source in sorted({row['source'] for row in rows})
        for verdict in ('correct', 'incorrect', 'unjudged')
    }


# Counts


def counts_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """n, and `c/unjudged` of each question."""
    block = record['gpassk']
    counts = block['counts']
    each = zip(counts['uid'], counts['c'], counts['unjudged'], strict=True)
    return {'n': block['n'], **{uid: f'{c}/{unjudged}' for uid, c, unjudged in each}}


def scored(path: Path, *options: str) -> dict[str, Any]:
    """Counts of each run in a log, what is remarked, and which runs are refused."""
    with tempfile.TemporaryDirectory() as folder:
        _, out, err = gpassk('score', os.path.relpath(path), '-o', f'{folder}/records', *options)
        records = sorted(Path(folder).rglob('*.gpassk.json'))
        found: dict[str, Any] = {
            file.name: counts_of(json.loads(file.read_text(encoding='utf-8'))) for file in records
        }
    passed = ('|', '[', 'interval: ', 'wrote ', os.path.relpath(path))
    remarks = [line for line in out.splitlines() if line and not line.startswith(passed)]
    return {**found, 'remarks': remarks, 'messages': err.splitlines()}


def logs() -> dict[str, Any]:
    """The recorded logs, by the verdicts in them; and their responses by the rule, where they have some."""
    os.chdir(TESTS / 'recorded')
    found = {}
    for pattern in LOGS:
        for path in sorted(Path().glob(pattern)):
            found[str(path)] = scored(path)
            again = scored(path, '--judge', 'rule')
            if any(name.endswith('.json') for name in again):
                found[f'{path} by the rule'] = again
    return found


def samples() -> dict[str, Any]:
    """The shared samples: real responses with their labels and by the rule, and counts of a training run."""
    file = SAMPLES / 'math_cot_100_n8.jsonl'
    found = {
        'labels': scored(file, '--judge', 'none'),
        'rule': scored(file, '--judge', 'rule', '--field', 'reference=answer'),
    }
    shares = json.loads((SAMPLES / 'one_shot_rlvr_counts_n8.json').read_text(encoding='utf-8'))
    with tempfile.TemporaryDirectory() as folder:
        rows = [{'uid': uid, 'n': 8, 'c': round(8 * each[-1])} for uid, each in shares.items()]
        counts = Path(folder) / 'counts.jsonl'
        counts.write_text('\n'.join(map(json.dumps, rows)), encoding='utf-8')
        os.chdir(folder)
        told = scored(Path(counts.name))
    (record,) = (each for name, each in told.items() if name.endswith('.json'))
    correct = [value for name, value in record.items() if name != 'n']
    return {**found, 'counts': {value: correct.count(value) for value in sorted(set(correct))}}


def work_dir() -> dict[str, Any]:
    """Counts and scores of predictions that d649c40 drew, evaluated by OpenCompass with our evaluator."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (work,) = (HERE / 'work_dir').iterdir()
        (old,) = work.glob('*/configs/*.py')
        shutil.copytree(work, root / 'work')
        config = root / 'config.py'
        text = old.read_text(encoding='utf-8').replace('/srv/demo/questions', f'{PACKAGE}/demo/questions')
        config.write_text(text, encoding='utf-8')
        done = run_opencompass(config, root / 'work', '-m', 'eval', '-r')
        found = results_of(root / 'work')
        assert len(found) == 1, done.stdout[-2000:] + done.stderr[-2000:]
    scores = {name: value for name, value in found[0].items() if name not in ('details', 'gpassk')}
    return {'counts': counts_of(found[0]), 'scores': scores}


def demo(folder: Path) -> dict[str, dict[str, str]]:
    """Scores and n of each run of `gpassk demo`, as its summary has them."""
    files = sorted(folder.glob('*/*/summary/gpassk_????????_??????.csv'))
    rows = [row for one in files for row in csv.DictReader(one.read_text(encoding='utf-8').splitlines())]
    return {row.pop('model'): {name: row[name] for name in row if name != 'dataset'} for row in rows}


GOLDEN = {make.__name__: make for make in (configs, answers, pairs, logs, samples, work_dir)}


def stored(name: str) -> Any:
    return json.loads((HERE / f'{name}.json').read_text(encoding='utf-8'))


def store(name: str, value: Mapping[str, Any]) -> None:
    """Write a golden file: an entry a line, and so an entry of an entry."""
    blocks = []
    for key, entry in value.items():
        if isinstance(entry, dict):
            inner = ',\n'.join(
                f'  {json.dumps(one)}: {json.dumps(entry[one], ensure_ascii=False)}' for one in entry
            )
            blocks.append(f' {json.dumps(key)}: {{\n{inner}\n }}')
        else:
            blocks.append(f' {json.dumps(key)}: {json.dumps(entry, ensure_ascii=False)}')
    text = '{\n' + ',\n'.join(blocks) + '\n}\n'
    (HERE / f'{name}.json').write_text(text, encoding='utf-8')


if __name__ == '__main__':
    if sys.argv[1:2] == ['demo']:
        store('demo', demo(Path(sys.argv[2])))
    for name in sys.argv[1:] or GOLDEN:
        if name in GOLDEN:
            store(name, GOLDEN[name]())

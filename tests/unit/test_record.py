"""The pair of files that keeps a result: what is in it, what is refused, a death or a full disk at any place.

As a program it is a writer that dies: `python test_record.py FOLDER`.
"""

import hashlib
import json
import os
import random
import re
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import pyarrow
import pytest
from dying import Fault, arm
from exact import FunctionJudge
from loguru import logger
from pyarrow import parquet

from gpassk_opencompass import InputError, Samples, score
from gpassk_opencompass.errors import ForeignFileError
from gpassk_opencompass.metrics import Metric
from gpassk_opencompass.record import Names, Result, read, warn_once, write

TESTS = Path(__file__).resolve().parents[1]


def made(counts, n=4, seed=0, **columns):
    """A result with these counts; responses that do not get shorter by compression."""
    chance = random.Random(seed)
    rows = [(q, r) for q in range(len(counts)) for r in range(n)]
    texts = [f'{chance.randbytes(500).hex()} \\boxed{{{1 if r < counts[q] else 0}}}' for q, r in rows]
    samples = Samples(
        {
            'uid': [f'q{q}' for q, _ in rows],
            'replica': [r for _, r in rows],
            'question': [f'{q}?' for q, _ in rows],
            'reference': ['1'] * len(rows),
            'group': [('A_en', 'B_en')[q % 2] for q, _ in rows],
            'response': texts,
            **columns,
        }
    )
    judge = FunctionJudge(lambda pair: None if pair.answer == '?' else pair.answer == '1')
    names = Names(model='m_t0.7_l100', dataset='d-k2-r2', created='2026-11-26T00:00:00+00:00')
    return score(samples, judge, k=[2], names=names, unjudged_tolerance=1.0)


OLD, NEW = [1, 2, 3], [4, 0, 2]


@pytest.fixture
def warnings():
    warn_once.cache_clear()
    said = []
    sink = logger.add(lambda message: said.append(message.record['message']), level='WARNING')
    yield said
    logger.remove(sink)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


# What is in it


def test_the_pair_gives_the_result_back(tmp_path):
    """All of the record, and all of the samples; the JSON names the Parquet by its content."""
    result = made(OLD)
    write(tmp_path / 'x.json', result)
    found = read(tmp_path / 'x.json')
    assert found.model_dump() == result.model_dump()
    assert (found.path, found.scores()) == (tmp_path / 'x.json', result.scores())
    told = found.sample_file
    content = (tmp_path / told.name).read_bytes()
    assert told.sha256 == hashlib.sha256(content).hexdigest()
    assert told.name == f'x.{told.sha256[:12]}.samples.parquet'
    assert told.rows == parquet.read_metadata(tmp_path / told.name).num_rows == 12
    samples, expected = found.samples(), result.samples()
    assert [list(samples[name]) for name in samples.names] == [list(expected[name]) for name in samples.names]
    assert list(found.samples(rows=(4, 8))['response']) == list(expected['response'][4:8])


@pytest.mark.parametrize('how', ['missing or cannot be read', 'damaged'])
def test_the_json_alone_gives_scores_and_counts(how, tmp_path, warnings):
    """Any k and τ of them, too; that samples are not there, or one byte of them, is said once."""
    write(tmp_path / 'x.json', made(OLD))
    [samples] = tmp_path.glob('*.parquet')
    content = bytearray(samples.read_bytes())
    content[len(content) // 2] ^= 1
    samples.write_bytes(content)
    if how != 'damaged':
        samples.unlink()
    found = read(tmp_path / 'x.json')
    assert found.values(Metric.parse('G-Pass@3_1.0')).tolist() == [0.0, 0.0, 0.25]
    assert warnings == []
    assert found.samples() is read(tmp_path / 'x.json').samples() is None
    assert warnings == [f'{samples} is {how}: single samples cannot be shown; the scores stand']


def test_a_reader_of_the_json_sees_questions_answers_and_verdicts(tmp_path):
    """In `details`, which OpenCompass may leave out: nothing is read back from them. Halves are escaped."""
    responses = ['\ud800 \\boxed{1}', '', '\\boxed{?}', '\\boxed{1}']
    write(tmp_path / 'x.json', made([1, 2], n=2, response=responses))
    assert read(tmp_path / 'x.json').samples()['response'] == ['\\ud800 \\boxed{1}', *responses[1:]]
    content = json.loads((tmp_path / 'x.json').read_text(encoding='utf-8'))
    assert content['details'] == {
        'question': ['0?', '1?'],
        'reference': ['1', '1'],
        'answers': [['1', ''], ['?', '1']],
        'verdicts': ['10', '?1'],
    }
    del content['details']
    (tmp_path / 'x.json').write_text(json.dumps(content), encoding='utf-8')
    assert read(tmp_path / 'x.json').counts.c == [1, 1]


def test_the_hash_of_the_data_is_that_of_uid_question_and_reference():
    """Each as its length in 8 bytes, big end first, and its UTF-8; in the order of the questions."""
    texts = [text for q in range(3) for text in (f'q{q}', f'{q}?', '1')]
    content = b''.join(len(text.encode()).to_bytes(8, 'big') + text.encode() for text in texts)
    assert made(OLD).data.sha256 == hashlib.sha256(content).hexdigest()
    other = [made(OLD, question=['?'] * 12), made(OLD, reference=['01'] * 12), made([1, 2])]
    assert len({made(NEW, seed=1).data.sha256, *(one.data.sha256 for one in other)}) == 4


def test_a_result_that_was_read_is_written_with_its_samples(tmp_path):
    """Also in another folder, under another name; an earlier one's samples go, other files stay."""
    write(tmp_path / 'x.json', made(OLD))
    first = names_in(tmp_path)
    for name in ('x.samples.parquet', 'xy.0123456789ab.samples.parquet', 'x.parquet'):
        (tmp_path / name).touch()
    kept = names_in(tmp_path)
    write(tmp_path / 'there' / 'y.json', read(tmp_path / 'x.json'))
    assert len(read(tmp_path / 'there' / 'y.json').samples()) == 12
    write(tmp_path / 'x.json', made(NEW))
    assert len(names_in(tmp_path)) == len(kept) + 1
    assert set(kept) - set(names_in(tmp_path)) == set(first) - {'x.json'}


def test_what_cannot_be_written_is_one_line_and_leaves_a_pair(tmp_path, warnings, monkeypatch):
    """Scores outlive samples; where the JSON cannot be written either, the old pair stays."""

    def full(self, path):
        path.write_bytes(b'half of it')
        raise OSError(28, 'No space left on device')

    write(tmp_path / 'x.json', made(OLD))
    before, broken = names_in(tmp_path), made(NEW)
    broken.judge['grader'] = object()
    monkeypatch.setattr(Samples, 'write', full)
    with pytest.raises(TypeError):
        write(tmp_path / 'x.json', broken)
    assert (names_in(tmp_path), warnings) == (before, [])
    assert read(tmp_path / 'x.json').samples() is not None
    write(tmp_path / 'x.json', made(NEW))
    [line] = warnings
    assert line.startswith(f'the samples of {tmp_path / "x.json"} were not written (OSError: [Errno 28]')
    assert names_in(tmp_path) == ['x.json']
    found = read(tmp_path / 'x.json')
    assert (found.sample_file, found.counts.c) == (None, NEW)


# A death, or a full disk


def die(folder):
    """Write the new pair over the old one in copies of this process: each dies at another place, or none."""
    old, new = made(OLD), made(NEW, seed=1)
    chance = random.Random(0)
    pyarrow.array([''])  # imports much that no copy needs to import

    def run(name, fault):
        pid = os.fork()
        if pid == 0:
            logger.remove()
            write(folder / name / 'x.json', old)
            if fault:
                arm(fault)
            try:
                write(folder / name / 'x.json', new)
            except OSError:
                os._exit(3)
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    codes = {'none': run('none', None)}
    for emptied in (False, True):
        change = 0
        while (change := change + 1) < 100:
            name = f'change {change} {emptied}'
            codes[name] = run(name, Fault('', str(folder), change, emptied))
            if codes[name] == 0:
                break
    most = max(path.stat().st_size for path in (folder / 'none').iterdir())
    for deadly in (True, False):
        for size in [0, 1, *(chance.randrange(most) for _ in range(8))]:
            codes[f'size {size} {deadly}'] = run(
                f'size {size} {deadly}', Fault('', str(folder), 0, False, size, deadly)
            )
    print(json.dumps(codes))


def test_a_death_at_any_place_leaves_the_old_pair_or_the_new_one(tmp_path, warnings):
    """SIGKILL before and after each change of a file, a death or an error at some byte of either file.

    Never a mixture, never a number that is neither; and the next writer leaves its pair and nothing else.
    """
    line, environment = [sys.executable, __file__, str(tmp_path)], {**os.environ, 'PYTHONPATH': str(TESTS)}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    codes = json.loads(done.stdout)
    assert codes['none'] == 0
    assert sorted(set(codes.values())) == [-25, -9, 0, 3], codes
    new, seen = made(NEW, seed=1), set()
    for name, code in codes.items():
        found = read(tmp_path / name / 'x.json')
        expected = {tuple(OLD): made(OLD), tuple(NEW): new}[tuple(found.counts.c)]
        assert found.scores() == expected.scores(), name
        samples = found.samples()
        if found.sample_file is None:  # there was room for the JSON alone
            assert code == 0
            assert name.startswith('size')
        else:
            assert samples is not None, name
            assert samples.counts().c.tolist() == found.counts.c, name
            assert list(samples['response']) == list((expected.samples() or samples)['response']), name
        seen.add((code, tuple(found.counts.c)))
        write(tmp_path / name / 'x.json', new)
        assert read(tmp_path / name / 'x.json').samples() is not None
        assert len([one for one in names_in(tmp_path / name) if not one.startswith('.')]) == 2, name
    assert warnings == []
    assert {(-9, tuple(OLD)), (-9, tuple(NEW)), (-25, tuple(OLD)), (3, tuple(OLD)), (0, tuple(NEW))} <= seen


# What is refused


def content_of(result):
    return json.loads(json.dumps(result.as_json()))


def changed(content, place, new):
    """A copy with another value at `a/b/0`; without it, if the value is `...`."""
    copy = deepcopy(content)
    steps = [place] if place in content else place.split('/')  # scores of groups have a slash
    *path, last = [int(step) if step.isdecimal() else step for step in steps]
    inner = copy
    for step in path:
        inner = inner[step]
    if new is ...:
        del inner[last]
    else:
        inner[last] = new
    return copy


DAMAGES = [
    ('gpassk/judge/more', json.loads('[' * 150 + ']' * 150), 'nested more than 100 deep'),
    ('gpassk/schema', 2, 'has schema 2; this version reads 3'), ('gpassk/n', ..., 'gpassk.n is missing'),
    ('gpassk/n', 5, 'gpassk.health.samples is 12; expected 15'), ('gpassk/n', '4', "gpassk.n = '4'"),
    ('gpassk/k', [2, 5], 'gpassk.k is [2, 5]; expected [2, 4]'),
    ('gpassk/counts/c/0', -1, 'gpassk.counts.c.0 = -1'),
    ('gpassk/counts/c/0', 5, "counts: c and in doubt of 'q0' is 5; expected 4"),
    ('gpassk/counts/c/0', 2, 'but its counts give'),
    ('gpassk/counts/unjudged/0', 1, 'health.unjudged is 0; expected 1'),
    ('gpassk/counts/problem', ['p'], 'gpassk.counts.problem has 1 entries; expected 3'),
    ('gpassk/counts/uid/1', 'q0', "the number of 'q0' is 2; expected 1"),
    ('gpassk/data/questions', 4, 'gpassk.data.questions is 4; expected 3'),
    ('gpassk/sample_file', {'name': '../x.samples.parquet', 'sha256': 64 * '0', 'rows': 1}, 'file.name'),
    ('accuracy', 50.001, 'accuracy = 50.001, but its counts give 50.000000'),
    ('accuracy', float('nan'), 'accuracy = nan'),
]  # fmt: skip


@pytest.mark.parametrize(('place', 'new', 'said'), DAMAGES, ids=[f'{i}' for i in range(len(DAMAGES))])
def test_a_record_that_contradicts_itself_is_refused(tmp_path, place, new, said):
    path = tmp_path / 'x.json'
    content = content_of(made(OLD))
    path.write_text(json.dumps(changed(content, place, new)), encoding='utf-8')
    with pytest.raises(InputError) as told:
        read(path)
    assert str(told.value).startswith(f'{path} ')
    assert said in str(told.value)
    assert '\n' not in str(told.value)


def test_fields_of_later_versions_are_kept():
    content = changed(content_of(made(OLD)), 'gpassk/counts/weight', [1, 2, 3])
    servers = [{'engine': 'vllm', 'version': '0.32.0'}, {'model': 'm'}, {'version': '7'}, 'damaged']
    content['gpassk']['provenance'] = {'versions': {'torch': '2.13.0'}, 'servers': [*servers, servers[0]]}
    result = Result.model_validate(content['gpassk'])
    assert content_of(result)['gpassk']['counts']['weight'] == [1, 2, 3]
    assert result.engine == 'torch 2.13.0, vllm 0.32.0, 7'


@pytest.mark.parametrize(
    ('content', 'error', 'said'),
    [
        ('{"accuracy": 5.0}', ForeignFileError, 'is no result of G-Pass@k: it has no "gpassk"'),
        ('[1]', ForeignFileError, 'is no result'),
        ('{"error": "it failed"}', InputError, 'says that its evaluation failed: it failed'),
        ('{"gpassk": ', InputError, 'cannot be read: '),
        ('[' * 100_000, InputError, 'cannot be read: '),
    ],
)
def test_what_is_no_record_is_told(tmp_path, content, error, said):
    """Somebody else's file is none that is damaged; nor is a folder, a file of samples, or none at all."""
    (tmp_path / 'x.json').write_text(content, encoding='utf-8')
    with pytest.raises(error, match=re.escape(said)):
        read(tmp_path / 'x.json')
    for name, why in (
        ('', 'is a folder; give one result file'),
        ('x.0123456789ab.samples.parquet', r'has the samples of a result; give the \.json beside it'),
        ('none.json', 'cannot be read: No such file'),
    ):
        with pytest.raises(InputError, match=why):
            read(tmp_path / name)


if __name__ == '__main__':
    die(Path(sys.argv[1]))

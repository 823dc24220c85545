"""Sessions on a cluster that a test plays: what is submitted, continued, given up and told."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fake_opencompass import config_text, predictions, record, write, write_configs

from gpassk_opencompass.cli import run_in_job
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.runs import cluster_jobs, lock
from gpassk_opencompass.runs.clusters import ClusterDriver, Seen, Work, ray
from gpassk_opencompass.runs.clusters.cluster import Phase
from gpassk_opencompass.runs.clusters.work import FRUITLESS, Ended, Notes, extent_of, read_works, write_works
from gpassk_opencompass.runs.lock import WorkDirLock, is_in_use
from gpassk_opencompass.runs.plan import Planned, discovered_runs, planned_runs
from gpassk_opencompass.runs.processes import Stop
from gpassk_opencompass.runs.state import Finding, State

Event = Callable[[Work], Seen]


@dataclass
class Played:
    """A cluster whose jobs end, one look after their submission, as the events say, in turn."""

    events: list[Event]
    name: str = 'Played'
    interval: float = 0.0
    submitted: list[Work] = field(default_factory=list)
    jobs: dict[str, Seen] = field(default_factory=dict)
    cancelled: list[bool] = field(default_factory=list)
    refuses: int = 10**6
    """The number of submissions from which on it refuses."""
    refusal: Exception = field(default_factory=lambda: InputError('no more jobs'))

    def adopt(self, runs: Collection[str]) -> Mapping[str, Work]:
        return {}

    def submit(self, works: Sequence[Work]) -> Mapping[str, Work]:
        if len(self.submitted) >= self.refuses:
            raise self.refusal
        placed = {f'j{len(self.submitted) + number}': work for number, work in enumerate(works)}
        self.submitted += works
        for name, work in placed.items():
            self.jobs[name] = self.events.pop(0)(work)
        return placed

    def look(self) -> Mapping[str, Seen]:
        return dict(self.jobs)

    def cancel(self, hurry: bool) -> None:
        self.cancelled.append(hurry)
        ended = Seen(Phase.ENDED, 'CANCELLED', Path('log'))
        self.jobs = {name: ended for name in self.jobs}

    def close(self) -> None:
        pass


@dataclass
class Told:
    """A watcher that keeps what it is told."""

    findings: list[Finding] = field(default_factory=list)
    begun: list[str] = field(default_factory=list)

    def started(self, run: Planned, what: str) -> None:
        self.begun.append(f'{run.name}: {what}')

    def ended(self, finding: Finding, seconds: float | None) -> None:
        self.findings.append(finding)

    def working(self, jobs: Sequence[object]) -> None:
        pass


def drives(
    cluster: Played, runs: Sequence[Planned], stop: Stop | None = None, told: Told | None = None
) -> tuple[dict[str, Finding], list[str]]:
    """Drive runs in ./out; return their findings, and what was said."""
    said: list[str] = []
    driver = ClusterDriver(
        cluster,
        Path('out'),
        lambda session: ['run', *(str(run.config) for run in session.runs)],
        lambda finding: finding.state is State.COMPLETE,
        told or Told(),
        Stop() if stop is None else stop,
        said.append,
    )
    return {finding.name: finding for finding in driver.drive(runs)}, said


def finished(work: Work) -> Seen:
    """All runs of a job get their results."""
    for run, folder in zip(work.runs, work.work_dirs, strict=True):
        place = Path(folder, '20260101_000000')
        write(place / 'configs' / 'x.py', Path('configs', f'{run}.py').read_text())
        write(place / 'predictions' / f'm-{run}' / f'd-{run}.json', predictions(32))
        write(place / 'results' / f'm-{run}' / f'd-{run}.json', record())
    return Seen(Phase.ENDED, 'COMPLETED', Path('log'), code=0)


def lost_after(rows: int) -> Event:
    """The node dies when so many predictions are there."""

    def event(work: Work) -> Seen:
        for run, folder in zip(work.runs, work.work_dirs, strict=True):
            place = Path(folder, '20260101_000000')
            write(place / 'configs' / 'x.py', Path('configs', f'{run}.py').read_text())
            lines = ''.join(f'{json.dumps({"idx": row})}\n' for row in range(rows))
            write(place / 'predictions' / f'm-{run}' / f'tmp_d-{run}.jsonl', lines)
        return Seen(Phase.ENDED, 'NODE_FAIL', write(Path('job.log'), 'the end\n'), may_go_on=True)

    return event


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sequence[Planned]:
    """Two runs of one model, and one of another."""
    monkeypatch.chdir(tmp_path)
    write_configs(tmp_path, 'a', 'c')
    text = config_text('b', path='org/other', run_cfg={'num_gpus': 4})
    (tmp_path / 'configs' / 'b.py').write_text(text)
    return planned_runs([Path('configs')]).runs


def test_a_session_is_one_job(runs: Sequence[Planned]) -> None:
    """Runs of one model go together, with the GPUs that it needs."""
    cluster = Played([finished, finished])
    findings, said = drives(cluster, runs)
    assert [(work.runs, work.gpus) for work in cluster.submitted] == [(('a', 'c'), 0), (('b',), 4)]
    assert {finding.state for finding in findings.values()} == {State.COMPLETE}
    assert said == ['submitted to Played: 3 runs in 2 jobs, j0, j1']


def test_a_job_gets_the_gpus_of_the_largest_model(runs: Sequence[Planned]) -> None:
    """A config may have several models; of one that computes them nobody knows, and that is said."""
    both = "models = [{'abbr': 'x', 'run_cfg': {'num_gpus': 2}}, {'abbr': 'y', 'run_cfg': {'num_gpus': 4}}]\n"
    Path('configs', 'a.py').write_text(both + "datasets = [{'abbr': 'd'}]\n")
    Path('configs', 'b.py').write_text('import math\nmodels = [math.pi]\ndatasets = [1]\n')
    cluster = Played([lambda work: Seen(Phase.ENDED, 'COMPLETED', Path('log'), code=1)] * 3)
    _, said = drives(cluster, planned_runs([Path('configs')]).runs)
    assert {work.runs: work.gpus for work in cluster.submitted} == {('a',): 4, ('b',): 0, ('c',): 0}
    assert [text for text in said if 'no GPU is asked for' in text and ': b; ' in text]


def test_what_is_complete_is_not_submitted(runs: Sequence[Planned]) -> None:
    """A second command submits nothing, and with one run left, that one."""
    drives(Played([finished, finished]), runs)
    cluster = Played([])
    findings, said = drives(cluster, runs)
    assert (cluster.submitted, said, len(findings)) == ([], [], 3)
    [result] = Path('out/c').glob('*/results/*/*.json')
    result.unlink()
    cluster = Played([finished])
    drives(cluster, runs)
    assert [work.runs for work in cluster.submitted] == [('c',)]


def test_a_job_that_the_cluster_ends_goes_on_while_there_is_progress(runs: Sequence[Planned]) -> None:
    """Four allocations, each with some more predictions, then the end."""
    cluster = Played([*map(lost_after, (4, 8, 12, 16)), finished])
    findings, said = drives(cluster, runs[1:2])
    assert findings['b'].state is State.COMPLETE
    assert len(cluster.submitted) == 5
    assert sum('is continued' in line for line in said) == 4


def test_of_a_session_only_the_run_at_work_is_said_to_have_started(runs: Sequence[Planned]) -> None:
    """The others wait for their turn in the job."""
    told, cluster = Told(), Played([lambda work: Seen(Phase.RUNNING, 'RUNNING', Path('log'), 'n1')])
    [first, second] = [run for run in runs if run.name in ('a', 'c')]
    seen: list[list[str]] = []

    def look() -> Mapping[str, Seen]:
        seen.append(list(told.begun))
        held = [] if len(seen) == 1 else [first] if len(seen) == 2 else [second]
        for run in (first, second):
            path = Path('out', run.name, '.gpassk', 'lock')
            write(path, [1, 'n1', '2026-01-01T00:00:00Z']) if run in held else path.unlink(missing_ok=True)
        if len(seen) == 4:
            cluster.jobs = {name: finished(cluster.submitted[0]) for name in cluster.jobs}
        return dict(cluster.jobs)

    cluster.look = look
    _, said = drives(cluster, [first, second], told=told)
    a, c = 'a: Played job j0 on n1', 'c: Played job j0 on n1'
    assert seen == [[], [], [a], [a, c]]
    assert 'Played job j0 on n1: begins with 2 runs' in said


@pytest.mark.parametrize('named', ['by the config', 'by the variable'])
def test_verdicts_in_a_store_elsewhere_are_progress(
    runs: Sequence[Planned], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """A slow judge may take several allocations after the last sample."""
    monkeypatch.setenv('HOME', str(tmp_path))
    if named == 'by the variable':
        monkeypatch.setenv('GPASSK_VERDICTS', '~/kept')
    else:
        text = config_text('b') + "judge = {'type': 'Judge', 'store': 'kept'}\n"
        Path('configs', 'b.py').write_text(text)

    def judging(number: int) -> Event:
        def event(work: Work) -> Seen:
            write(tmp_path / 'kept' / f'{number}.jsonl', 'x')
            return Seen(Phase.ENDED, 'TIMEOUT', Path('log'), may_go_on=True)

        return event

    cluster = Played([*map(judging, range(FRUITLESS + 2)), finished])
    findings, _ = drives(cluster, planned_runs([Path('configs/b.py')]).runs)
    assert findings['b'].state is State.COMPLETE


def test_without_progress_twice_a_job_is_given_up(runs: Sequence[Planned]) -> None:
    """The third allocation brings nothing new, and neither does the fourth: failed, with state and log."""
    cluster = Played([*map(lost_after, (4, 8, 8, 8)), finished])
    findings, _ = drives(cluster, runs[1:2])
    finding = findings['b']
    assert len(cluster.submitted) == 4
    assert finding.state is State.FAILED
    assert 'Played ended job j3: NODE_FAIL, 2 times in a row without anything new' in finding.detail
    assert '8 of ? predictions' in finding.detail
    assert [(str(path), lines) for path, lines in finding.logs] == [('job.log', ('the end',))]


def test_a_job_that_was_cancelled_by_somebody_is_not_continued(runs: Sequence[Planned]) -> None:
    """Its wish counts."""
    cluster = Played([lambda work: Seen(Phase.ENDED, 'CANCELLED', Path('none.log'))])
    findings, _ = drives(cluster, runs[1:2])
    assert 'Played ended job j0: CANCELLED' in findings['b'].detail
    assert findings['b'].state is State.FAILED


@pytest.mark.parametrize('refusal', [InputError('no more jobs'), OSError('no more jobs')])
def test_a_refused_continuation_takes_no_other_run_with_it(
    runs: Sequence[Planned], refusal: Exception
) -> None:
    """The run says why it was not continued, the others end as they do; so on a full disk."""
    cluster = Played([finished, lost_after(4)], refuses=2, refusal=refusal)
    findings, _ = drives(cluster, runs)
    assert findings['a'].state is findings['c'].state is State.COMPLETE
    assert findings['b'].detail.startswith('not continued, no more jobs; 4 of ? predictions')


def test_a_stop_has_all_jobs_stop(runs: Sequence[Planned]) -> None:
    """Cleanly first; what was at work is told, what waited is not."""
    stop = Stop()
    working = Seen(Phase.RUNNING, 'RUNNING', Path('log'), 'n1')

    def works(work: Work) -> Seen:
        lost_after(4)(work)
        stop.count = 1 if work.session == 'b' else 0
        return working if work.session == 'a' else Seen(Phase.WAITING, 'PENDING', Path('log'))

    class Once(Played):
        def look(self) -> Mapping[str, Seen]:
            return dict(self.jobs)

    cluster = Once([works, works])
    with stop:
        findings, _ = drives(cluster, runs, stop)
    assert cluster.cancelled == [False]
    assert findings == {}


@pytest.mark.parametrize(('extents', 'worth'), [('ab bc', True), ('ab bb', True), ('ab bb bb', False)])
def test_an_allocation_is_worth_it_unless_two_brought_nothing(
    tmp_path: Path, extents: str, worth: bool
) -> None:
    """What a job itself decides before it has itself started again."""
    notes = Notes(tmp_path, 0)
    assert [notes.is_fruitful(*pair) for pair in extents.split()][-1] is worth


def test_notes_of_a_job_survive_what_a_kill_leaves(tmp_path: Path) -> None:
    """An end counts until the next start; a torn file is none."""
    notes = Notes(tmp_path, 3)
    assert (notes.node, notes.ended) == (None, None)
    notes.begin('0', 'n1')
    notes.end(Ended(75, 'later'))
    assert (notes.node, notes.ended) == ('n1', Ended(75, 'later'))
    notes.begin('1', 'n2')
    assert (notes.node, notes.ended) == ('n2', None)
    (tmp_path / '3.ended').write_text('{"code": 7')
    assert notes.ended is None


def test_works_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Names of any language; anything else in their place is refused with the path."""
    works = [Work('模型', ('模型',), ('/x',), ('run', 'a b'), '/here', 2)]
    write_works(tmp_path / 'jobs', works)
    assert read_works(tmp_path / 'jobs') == works
    (tmp_path / 'jobs' / 'works.json').write_text('[{"session": 1}]')
    with pytest.raises(InputError, match=r'works\.json does not say what the job does'):
        read_works(tmp_path / 'jobs')
    with pytest.raises(InputError, match='cannot read'):
        read_works(tmp_path / 'none')


def test_an_extent_changes_with_samples_and_verdicts_alone(tmp_path: Path) -> None:
    """Neither logs nor copies of the config are progress."""
    place, seen = tmp_path / '20260101_000000', [extent_of([tmp_path])]
    for path, new in [
        ('logs/infer/m/d.out', False),
        ('configs/x.py', False),
        ('predictions/m/run.provenance', False),
        ('predictions/m/tmp_d.jsonl', True),
        ('verdicts/v.jsonl', True),
        ('results/m/d.json', True),
    ]:
        write(place / path, 'x')
        seen.append(extent_of([tmp_path]))
        assert (seen[-1] != seen[-2]) is new, path


def test_a_ray_task_has_the_paths_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`~` is the home directory of who types it, and that of a node may be another one."""
    given: list[Any] = []

    class Package:
        """What is used of ray to place a task."""

        def remote(self, *arguments: Any, **_: Any) -> Any:
            given.extend(arguments)
            return lambda function: self

        def options(self, **_: Any) -> Package:
            return self

        def nodes(self) -> list[Any]:
            return []

    monkeypatch.setattr(ray, '_connected', lambda address: Package())
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setenv('GPASSK_SAMPLES', '~/samples')
    monkeypatch.setenv('GPASSK_VERDICTS', 'verdicts')
    work = Work('s', ('r',), (str(tmp_path / 'r'),), ('run',), str(tmp_path))
    ray.Ray('auto', tmp_path / 'notes', None, print).submit([work])
    variables = given[1]
    assert 'HOME' not in variables
    assert variables['GPASSK_SAMPLES'] == str(tmp_path / 'samples')
    assert variables['GPASSK_VERDICTS'] == str(tmp_path / 'verdicts')


def test_a_job_that_is_cancelled_before_its_runs_notes_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it looks for what an earlier start has left."""
    write_works(tmp_path / 'notes', [Work('s', ('r',), (str(tmp_path / 'r'),), ('run',), str(tmp_path))])
    monkeypatch.setattr(run_in_job, 'holder_of', lambda folder: signal.raise_signal(signal.SIGTERM))
    monkeypatch.setenv('GPASSK_JOB', 'slurm:hpc:1_0#0')
    monkeypatch.chdir(tmp_path)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR1)}
    try:
        assert run_in_job.main([str(tmp_path / 'notes'), '0']) == 130
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert Notes(tmp_path / 'notes', 0).ended == Ended(130)


def foreign_lock(work_dir: Path, job: str | None) -> None:
    """A lock of a process of another machine."""
    write(work_dir / '.gpassk' / 'lock', [4711, 'elsewhere', '2026-01-01T00:00:00Z', 99, job])


@pytest.mark.parametrize(
    ('job', 'own', 'answer', 'free'),
    [
        (None, 'slurm:hpc:12#1', (0, ''), False),
        ('slurm:hpc:12#0', 'slurm:hpc:12#1', None, True),
        ('slurm:hpc:12#1', 'slurm:hpc:12#1', None, False),
        ('ray::ab_0#x', 'ray::ab_0#y', None, True),
        ('ray::ab_0#x', 'ray::cd_0#y', None, False),
        ('slurm:hpc:12#0', '', (0, 'RUNNING\n'), False),
        ('slurm:hpc:12#0', '', (0, 'PENDING\n'), False),
        ('slurm:hpc:12#0', '', (0, 'NODE_FAIL\n'), True),
        ('slurm:hpc:12_3#0', '', (1, 'slurm_load_jobs error: Invalid job id specified'), True),
        ('slurm:hpc:12#0', '', (1, 'Unable to contact slurm controller'), False),
        ('slurm:hpc:12#0', '', (127, 'squeue: No such file'), False),
        ('slurm:other:12#0', '', (1, 'Invalid job id specified'), False),
        ('slurm:hpc:12; rm#0', '', (1, 'Invalid job id specified'), False),
    ],
)
def test_a_lock_of_another_machine_is_free_when_its_job_is_certainly_over(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    job: str | None,
    own: str,
    answer: tuple[int, str] | None,
    free: bool,
) -> None:
    """An earlier start of one's own job, or a job that Slurm says is over; in doubt it is in use."""

    def ask(*command: str) -> cluster_jobs.subprocess.CompletedProcess[str]:
        assert answer is not None, 'nobody needs to be asked'
        if command[0] == 'scontrol':
            return cluster_jobs.subprocess.CompletedProcess(command, 0, 'ClusterName = hpc\n', '')
        return cluster_jobs.subprocess.CompletedProcess(command, answer[0], *(answer[1], answer[1]))

    monkeypatch.setattr(cluster_jobs, 'ask', ask)
    cluster_jobs._own_cluster.cache_clear()
    monkeypatch.setenv(cluster_jobs.JOB, own)
    foreign_lock(tmp_path, job)
    try:
        check_lock(tmp_path, own, free)
    finally:
        cluster_jobs._own_cluster.cache_clear()


def check_lock(tmp_path: Path, own: str, free: bool) -> None:
    """Whether it can be taken, and is said to be in use, as it should."""
    assert is_in_use(tmp_path) is not free
    if free:
        with WorkDirLock(tmp_path):
            assert json.loads((tmp_path / '.gpassk/lock').read_text())[4] == (own or None)
    else:
        with pytest.raises(lock.IncompleteError, match='in use by process 4711 on elsewhere'):
            WorkDirLock(tmp_path).__enter__()


def test_notes_beside_work_directories_make_none_of_their_folder(tmp_path: Path) -> None:
    """`gpassk check out` lists the runs, not the folder of the jobs."""
    write(tmp_path / 'out/.gpassk/slurm/x/works.json', [])
    write(tmp_path / 'out/run/.gpassk/starts.jsonl', '')
    found = discovered_runs(tmp_path / 'out')
    assert [run.name for run, _ in found.runs] == ['run']
    assert found.foreign == ()

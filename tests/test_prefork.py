"""Copies of the warm process do what Python would do, with scripts in the place of OpenCompass's own."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event, Timer
from types import ModuleType
from typing import Any, cast

import pytest

from gpassk_opencompass.prefork import Pool, client
from gpassk_opencompass.prefork.client import with_real_gpus
from gpassk_opencompass.prefork.kept import kept
from gpassk_opencompass.prefork.tasks import held_by, script_of
from gpassk_opencompass.serving import GRACE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith('linux'), reason='processes are copied on Linux'),
]

PATIENCE = 60.0
CLIENT = Path(sys.modules[Pool.__module__].__file__ or '').with_name('client.py')


class Bench:
    """A pool, scripts for it, and what it wrote."""

    def __init__(self, folder: Path, pool: Pool) -> None:
        self.folder, self.pool = folder, pool
        self._started: list[subprocess.Popen[str]] = []

    def script(self, name: str, text: str) -> Path:
        """A script; `opencompass` gets what the pool knows OpenCompass's own by."""
        path = self.folder / name
        head = f'#!{sys.executable}\n# from opencompass.cli.main import main\n'
        path.write_text((head if name == 'opencompass' else '') + textwrap.dedent(text))
        path.chmod(0o755)
        return path

    def start(self, *line: str | Path, plain: bool = False, **options: Any) -> subprocess.Popen[str]:
        """`opencompass …`, or a script, as a copy or by Python itself, in a session of its own."""
        words = [*map(str, line)]
        if not plain:
            own = self.script('opencompass', '') if not (self.folder / 'opencompass').exists() else None
            words = [*self.pool.command([str(self.folder / 'opencompass')])[:-1], *words]
            if own:
                own.unlink()
        else:
            words = [sys.executable, *words]
        settings = {
            'env': environment(),
            'cwd': self.folder,
            'stdout': subprocess.PIPE,
            'stderr': subprocess.PIPE,
            'text': True,
            'start_new_session': True,
            **options,
        }
        self._started.append(subprocess.Popen(words, **settings))
        return self._started[-1]

    def done(self, *line: str | Path, **options: Any) -> tuple[int, str, str]:
        """Exit code, output and errors of a script."""
        process = self.start(*line, **options)
        out, error = process.communicate(timeout=PATIENCE)
        return process.returncode, out, error

    def close(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()
            process.wait(PATIENCE)

    def events(self, kind: str) -> list[dict[str, Any]]:
        """What the pool has noted."""
        lines = (self.folder / 'events').read_text().splitlines()
        return [event for event in map(json.loads, lines) if event['event'] == kind]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, 'LC_ALL': 'C.UTF-8', **more}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Pool(environment(), tmp_path / 'events', modules=('json', 'textwrap')) as pool:
        bench = Bench(tmp_path, pool)
        try:
            yield bench
        finally:
            bench.close()


def until(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, f'not within {PATIENCE} s: {what}'
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0]
    except OSError:
        return False
    return state != 'Z'


def number_in(path: Path) -> int:
    until(lambda: path.exists() and path.read_text().endswith('\n'), f'{path.name} is written')
    return int(path.read_text())


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
    assert ready, 'it says nothing'
    return process.stdout.readline().rstrip('\n')


ENDS = {
    'done': 'print("said")',
    'three': 'raise SystemExit(3)',
    'large': 'raise SystemExit(256 + 7)',
    'text': 'raise SystemExit("because")',
    'error': 'def f():\n    raise KeyError("x")\nf()',
    'syntax': 'def f(:\n    pass',
    'signal': 'import os, signal; os.kill(os.getpid(), signal.SIGKILL)',
    'interrupt': 'raise KeyboardInterrupt',
    'at exit': 'import atexit; atexit.register(print, "late"); print("early")',
    'thread': 'import threading, time\n'
    'threading.Thread(target=lambda: (time.sleep(0.1), print("thread"))).start()\nprint("main")',
    'hook': 'import sys\nsys.excepthook = lambda kind, error, tb: print("hooked", kind.__name__)\n1 / 0',
    'os._exit': 'import os; print("lost"); os._exit(9)',
    'subprocess': 'import subprocess, sys\n'
    'sys.exit(subprocess.run([sys.executable, "-c", "exit(4)"]).returncode)',
}


@pytest.mark.parametrize('kind', ENDS)
def test_a_script_ends_as_by_python_itself(bench: Bench, kind: str) -> None:
    """Exit code, output and traceback are Python's own, compared with Python's own."""
    script = bench.script('task.py', ENDS[kind])
    assert bench.done(script) == bench.done(script, plain=True)
    assert len(bench.events('copy')) == 1


ABOUT = """
    import json, os, sys, time
    print(json.dumps({
        'name': __name__, 'file': __file__, 'argv': sys.argv, 'path': sys.path[0], 'cwd': os.getcwd(),
        'mask': os.umask(0), 'zone': time.strftime('%Z', time.gmtime(0)), 'local': time.localtime(0)[:6],
        'environment': {name: value for name, value in os.environ.items() if name != '_'},
        'input': sys.stdin.read(), 'main': sys.modules['__main__'].__file__, 'spec': __spec__,
        'leader': os.getsid(0) == os.getpid() or 'client', 'executable': sys.executable,
        'terminal': sys.stdout.isatty(), 'buffered': sys.stdout.line_buffering,
    }))
"""


def test_a_script_finds_what_python_itself_would_give_it(bench: Bench) -> None:
    """Arguments, directory, environment, time zone, umask, standard input and its own module."""
    script = bench.script('task.py', ABOUT)
    place = bench.folder / 'a place'
    place.mkdir()
    found = []
    for plain in (False, True):
        with (bench.script('input', 'told')).open() as told:
            options = {'cwd': place, 'stdin': told, 'umask': 0o027, 'plain': plain}
            variables = environment(TZ='Asia/Tokyo', ODD='ä\n"', EMPTY='')
            code, out, error = bench.done(script, '--x', 'ü b', env=variables, **options)
        assert code == 0, error
        found.append(json.loads(out))
    assert found[0] == found[1]
    assert found[0]['local'][3] == 9
    assert len(bench.events('copy')) == 1


def test_bytes_that_are_no_text_reach_the_script(bench: Bench) -> None:
    """Arguments and variables of a file system that knows no encoding."""
    script = bench.script('task.py', 'import os, sys; print(os.fsencode(sys.argv[1]), os.environb[b"ODD"])')
    odd = os.fsdecode(b'\xff\xfe')
    code, out, error = bench.done(script, odd, env=environment(ODD=odd))
    assert (code, out) == (0, "b'\\xff\\xfe' b'\\xff\\xfe'\n"), error


def test_the_task_of_a_command_is_a_copy_too(bench: Bench) -> None:
    """The command starts it through a shell, by the Python that it sees, as OpenCompass does."""
    bench.script('task.py', 'import os, sys; print("task", sys.argv[1:], os.environ["GIVEN"]); sys.exit(5)')
    command = bench.script(
        'opencompass',
        """
        import subprocess, sys
        print('command', sys.argv[1:], flush=True)
        sys.exit(subprocess.run(f'GIVEN=1 {sys.executable} task.py a b', shell=True).returncode)
        """,
    )
    assert bench.done(command, 'config')[:2] == (5, "command ['config']\ntask ['a', 'b'] 1\n")
    assert [Path(event['words'][0]).name for event in bench.events('copy')] == ['opencompass', 'task.py']


def test_what_is_no_script_is_done_by_python_itself(bench: Bench) -> None:
    """A module, a text, and a launcher of several processes."""
    assert bench.done('-c', 'print(1)')[:2] == (0, '1\n')
    assert bench.done('-m', 'this')[0] == 0
    assert bench.done('-m', 'torch.distributed.run', '--help-me-not')[0] != 0
    assert bench.done('missing.py')[0] == 2
    assert len(bench.events('plain')) == 4


def test_a_variable_that_counts_at_import_is_not_ignored(bench: Bench) -> None:
    """What was imported without it cannot do it justice."""
    script = bench.script('task.py', 'import os; print(os.environ["HF_HUB_OFFLINE"])')
    assert bench.done(script, env=environment(HF_HUB_OFFLINE='maybe'))[:2] == (0, 'maybe\n')
    assert bench.events('copy') == []


def test_two_at_once(bench: Bench) -> None:
    """Both are at work before either goes on: neither holds up the process that they are copies of."""
    script = bench.script('task.py', 'print("here", flush=True); print(input())')
    both = [bench.start(script, stdin=subprocess.PIPE) for _ in range(2)]
    assert [line_of(process) for process in both] == ['here', 'here']
    for number in (1, 0):
        assert both[number].communicate(f'{number}\n', timeout=PATIENCE) == (f'{number}\n', '')


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_copy_as_it_would_end_python(bench: Bench, number: int) -> None:
    """And the client ends as the copy did."""
    script = bench.script('task.py', 'import signal; print("up", flush=True); signal.pause()')
    ends = []
    for plain in (False, True):
        process = bench.start(script, plain=plain)
        assert line_of(process) == 'up'
        process.send_signal(number)
        ends.append(process.wait(PATIENCE))
    assert ends[0] == ends[1] == -number


def test_a_copy_may_handle_a_signal(bench: Bench) -> None:
    """It is asked, not killed, and it is waited for."""
    script = bench.script(
        'task.py',
        """
        import signal, sys
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(11))
        print('up', flush=True)
        signal.pause()
        """,
    )
    process = bench.start(script)
    assert line_of(process) == 'up'
    process.terminate()
    assert process.wait(PATIENCE) == 11


HANGING = """
    import os, subprocess, sys, time
    from pathlib import Path
    child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])
    Path('child').write_text(f'{child.pid}\\n')
    Path('task').write_text(f'{os.getpid()}\\n')
    child.wait()
"""
COMMAND = """
    import os, subprocess, sys
    from pathlib import Path
    Path('command').write_text(f'{os.getpid()}\\n')
    subprocess.run(f'{sys.executable} task.py', shell=True)
"""


def hanging(bench: Bench) -> tuple[subprocess.Popen[str], list[int]]:
    """A command whose task waits for a process of its own; their numbers."""
    bench.script('task.py', HANGING)
    process = bench.start(bench.script('opencompass', COMMAND))
    return process, [number_in(bench.folder / name) for name in ('task', 'child', 'command')]


def until_gone(pids: Sequence[int]) -> None:
    until(lambda: not any(map(is_alive, pids)), f'{pids} have ended')


def test_a_group_that_is_asked_to_end_is_gone_when_its_client_is(bench: Bench) -> None:
    """As `gpassk run` stops a command: nothing writes any more when it looks at what there is."""
    process, pids = hanging(bench)
    os.killpg(process.pid, signal.SIGTERM)
    assert process.wait(PATIENCE) == -signal.SIGTERM
    assert not any(map(is_alive, pids))


def test_a_client_that_is_killed_takes_its_command_with_it(bench: Bench) -> None:
    """kill -9 of the client alone; also the task, and the process that the task has started."""
    process, pids = hanging(bench)
    process.kill()
    process.wait(PATIENCE)
    until_gone(pids)
    script = bench.script('after.py', 'print("alive")')
    assert bench.done(script)[:2] == (0, 'alive\n')


def test_a_command_that_is_killed_takes_its_task_with_it(bench: Bench) -> None:
    """kill -9 of the copy of the command: the client ends as it did, when the task is gone."""
    process, pids = hanging(bench)
    os.kill(pids[-1], signal.SIGKILL)
    assert process.wait(PATIENCE) == -signal.SIGKILL
    assert not any(map(is_alive, pids))


def test_the_warm_process_takes_all_with_it_and_is_replaced(bench: Bench) -> None:
    """kill -9 of the warm process: the command ends and says why, the next one has a new process."""
    process, pids = hanging(bench)
    warm = parent_of(pids[0])
    os.kill(warm, signal.SIGKILL)
    out, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert 'was killed' in error, out
    until_gone(pids)
    until(lambda: not is_alive(warm), 'it is gone')
    assert bench.done(bench.script('after.py', 'print("alive")'))[:2] == (0, 'alive\n')
    assert len(bench.events('ready')) == 2


def test_one_that_cannot_live_is_not_started_for_ever(tmp_path: Path) -> None:
    """Then commands are what they are without it."""
    with Pool(environment(), modules=('gpassk_dies',)) as pool:
        (tmp_path / 'gpassk_dies.py').write_text('import os; os._exit(1)')
        pool._environment['PYTHONPATH'] = os.pathsep.join(
            [str(tmp_path), environment().get('PYTHONPATH', '')]
        )
        bench = Bench(tmp_path, pool)
        command = bench.script('opencompass', 'print("done")')
        try:
            for _ in range(5):
                line = pool.command([str(command)])
                done = subprocess.run(line, capture_output=True, text=True, env=environment(), check=False)
                assert (done.returncode, done.stdout) == (0, 'done\n')
                until(lambda: pool._process is None or pool._process.poll() is not None, 'it has died')
            assert '3 times' in pool.plain_because
            assert pool.command([str(command)]) == [str(command)]
        finally:
            bench.close()


def parent_of(pid: int) -> int:
    return int(Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[1])


def test_all_ends_with_the_owner(bench: Bench) -> None:
    """kill -9 of the process that made the pool, in the middle of a command."""
    bench.script('task.py', HANGING)
    command = bench.script('opencompass', COMMAND)
    owner = bench.script(
        'owner.py',
        f"""
        import os, subprocess, sys
        from pathlib import Path
        from gpassk_opencompass.prefork import Pool
        pool = Pool(os.environ, modules=())
        process = subprocess.Popen(pool.command([{str(command)!r}]), start_new_session=True)
        Path('folder').write_text(str(pool._folder))
        process.wait()
        """,
    )
    process = bench.start(owner, plain=True)
    pids = [number_in(bench.folder / name) for name in ('task', 'child', 'command')]
    warm = parent_of(pids[0])
    process.kill()
    process.wait(PATIENCE)
    until_gone([*pids, warm])
    folder = Path((bench.folder / 'folder').read_text())
    until(lambda: not folder.exists(), 'nothing is left of it')


def test_a_file_that_is_handed_on_is_held_as_long_as_the_command_lives(bench: Bench) -> None:
    """A pipe ends when nobody holds it any more: neither the client nor the copy; the warm process never."""
    script = bench.script('task.py', 'import signal; print("up", flush=True); signal.pause()')
    reader, writer = os.pipe()
    process = bench.start(script, pass_fds=(writer,))
    os.close(writer)
    assert line_of(process) == 'up'
    client = process.pid
    assert select.select([reader], [], [], 0)[0] == []
    copy = bench.events('copy')[0]['pid']
    held = {os.readlink(f'/proc/{copy}/fd/{fd}') for fd in os.listdir(f'/proc/{copy}/fd')}
    assert os.readlink(f'/proc/self/fd/{reader}') in held
    os.kill(client, signal.SIGTERM)
    process.wait(PATIENCE)
    assert select.select([reader], [], [], PATIENCE)[0] == [reader]
    os.close(reader)


def test_the_folder_of_the_socket_is_private_and_removed(bench: Bench) -> None:
    """Nobody else may ask for copies; nothing is left behind."""
    assert bench.done(bench.script('task.py', 'pass'))[0] == 0
    folder = bench.pool._folder
    assert folder is not None
    assert folder.stat().st_mode & 0o777 == 0o700
    bench.pool.__exit__(None, None, None)
    assert not folder.exists()


def test_copies_draw_different_random_numbers(bench: Bench) -> None:
    """As new processes do; ports are chosen so."""
    script = bench.script('task.py', 'import random; print(random.random())')
    assert bench.done(script)[1] != bench.done(script)[1]


def test_only_commands_of_this_machine_and_this_python_are_copied(tmp_path: Path) -> None:
    """Tasks on other nodes, and another environment's OpenCompass, do not know this process."""
    with Pool(environment(), modules=()) as pool:
        own = Bench(tmp_path, pool).script('opencompass', '')
        other = tmp_path / 'other'
        other.write_text('#!/elsewhere/bin/python\nfrom opencompass.cli.main import main\n')
        assert pool.serves([str(own), 'c.py'])
        for number, runner in enumerate(['type="SlurmRunner"', 'type="LocalRunner", debug=True']):
            config = tmp_path / f'{number}.py'
            config.write_text(f'infer = dict(runner=dict({runner}))\n')
            assert not pool.serves([str(own), str(config)])
        for line in (
            [str(other)],
            [str(tmp_path / 'none')],
            [str(own), '--slurm', '-p', 'x'],
            [str(own), '--debug'],
        ):
            assert not pool.serves(line)
            assert pool.command(line) == line
        assert pool._process is None


def test_elsewhere_than_on_linux_commands_are_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And it is said."""
    monkeypatch.setattr(sys, 'platform', 'darwin')
    with Pool(environment()) as pool:
        own = Bench(tmp_path, pool).script('opencompass', '')
        assert pool.command([str(own)]) == [str(own)]
        assert 'darwin' in pool.plain_because


# Models that stay loaded

TASK = """
    import json, os, sys
    from pathlib import Path
    from gpassk_opencompass.prefork.kept import kept
    def load():
        with open(os.environ['LOADS'], 'a') as file: file.write(f'{os.getpid()}\\n')
        return object()
    def close(thing):
        with open(os.environ['LOADS'], 'a') as file: file.write(f'closed {os.getpid()}\\n')
    thing = kept(('test', 'a'), load, close)
    told = {'own': 'OWN', 'gpus': 'CUDA_VISIBLE_DEVICES', 'real': 'GPASSK_GPUS'}
    told = {name: os.environ.get(variable) for name, variable in told.items()}
    print(json.dumps({'pid': os.getpid(), 'cwd': os.getcwd(), **told}), flush=True)
    sys.path.append('/nowhere')
    exec(os.environ.get('DO', ''))
"""


class Models(Bench):
    """Sampling tasks of sessions."""

    def sample(self, name: str, *, session: str = 's', path: str = 'org/m', **more: str) -> Any:
        """A task that is at work."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        model = {'type': 'gpassk_opencompass.SeededHuggingFace', 'path': path, 'abbr': name}
        (folder / 'x_params.py').write_text(f'models = [{model!r}]\ndatasets = [[dict(abbr="d")]]\n')
        script = self.script('openicl_infer.py', TASK)
        variables = environment(GPASSK_SESSION=session, LOADS=str(self.folder / 'loads'), OWN=name, **more)
        return self.start(script, 'x_params.py', env=variables, cwd=folder)

    def said(self, name: str, **settings: str) -> dict[str, Any]:
        """What a task said, when it has ended well."""
        out, error = self.sample(name, **settings).communicate(timeout=PATIENCE)
        assert error == ''
        found: dict[str, Any] = json.loads(out)
        return found

    def loads(self) -> list[str]:
        return (self.folder / 'loads').read_text().split('\n')[:-1]


@pytest.fixture
def models(bench: Bench) -> Models:
    made = Models(bench.folder, bench.pool)
    made._started = bench._started
    return made


def test_runs_of_a_session_share_what_is_loaded(models: Models) -> None:
    """One process, one load; directory, arguments and variables are each task's own."""
    first, second = models.said('one'), models.said('two')
    assert first['pid'] == second['pid']
    assert (first['own'], second['own']) == ('one', 'two')
    assert second['cwd'] == str(models.folder / 'two')
    assert models.loads() == [str(first['pid'])]


def test_another_model_or_session_has_a_process_of_its_own(models: Models) -> None:
    """So do tasks outside of a session, which keep nothing."""
    said = [models.said('a'), models.said('b', path='org/other'), models.said('c', session='t')]
    said += [models.said('d', session=''), models.said('d', session='')]
    assert len({one['pid'] for one in said}) == 5
    assert models.said('a')['pid'] == said[0]['pid']


def test_release_returns_when_the_processes_are_gone(models: Models) -> None:
    """What they had loaded is closed; those of other sessions stay."""
    mine, other = models.said('a')['pid'], models.said('b', session='t')['pid']
    models.pool.release('s')
    assert not is_alive(mine)
    assert is_alive(other)
    assert models.loads() == [str(mine), str(other), f'closed {mine}']
    models.pool.release('unknown')
    assert models.said('a')['pid'] != mine


def test_what_is_sent_whole_is_not_sent_again() -> None:
    """A server that is done before its client goes on has gone: else the client would do it once more."""

    class Quick:
        def sendmsg(self, parts: list[bytes], rights: object) -> int:
            return sum(map(len, parts))

        def sendall(self, data: bytes) -> None:
            raise BrokenPipeError

    client.send(cast(socket.socket, Quick()), {'words': ['x']})


def test_a_copy_is_released_by_its_gpus(models: Models) -> None:
    """The other one of the session stays."""
    first, other = (models.said(gpu, CUDA_VISIBLE_DEVICES=gpu)['pid'] for gpu in ('GPU-a', 'GPU-b'))
    models.pool.release('s', ['GPU-a'])
    assert not is_alive(first)
    assert is_alive(other)
    models.pool.release('s')
    assert not is_alive(other)


def test_models_that_share_a_gpu_stay_on_it_together(models: Models) -> None:
    """Each takes a part of it; one that needs all of it makes the idle ones go."""
    part = {'CUDA_VISIBLE_DEVICES': 'GPU-a', 'GPASSK_GPU_MEMORY': '20'}
    first = models.said('a', session='s', **part)['pid']
    second = models.said('b', session='t', **part)['pid']
    assert (is_alive(first), is_alive(second)) == (True, True)
    assert models.said('c', session='s', **part)['pid'] == first
    whole = models.said('d', session='u', CUDA_VISIBLE_DEVICES='GPU-a')['pid']
    assert (is_alive(first), is_alive(second), is_alive(whole)) == (False, False, True)


def test_a_task_that_fails_ends_its_process_and_no_other(models: Models) -> None:
    """The next one loads anew; the exit code and the traceback are the usual ones."""
    first, other = models.said('a')['pid'], models.said('b', session='t')['pid']
    failing = models.sample('a', DO='raise RuntimeError("poisoned")')
    out, error = failing.communicate(timeout=PATIENCE)
    assert (failing.returncode, json.loads(out)['pid']) == (1, first)
    assert error.startswith('Traceback (most recent call last):\n  File "')
    assert error.endswith('RuntimeError: poisoned\n')
    assert str(models.folder / 'openicl_infer.py') in error.splitlines()[1]
    assert not is_alive(first)
    assert models.said('a')['pid'] != first
    assert models.said('b', session='t')['pid'] == other


@pytest.mark.parametrize('how', ['import os; os.kill(os.getpid(), 9)', 'import os; os._exit(7)'])
def test_a_model_process_that_dies_fails_its_task_alone(models: Models, how: str) -> None:
    """kill -9, or an abort of a library."""
    first = models.said('a')['pid']
    failing = models.sample('a', DO=how)
    assert failing.wait(PATIENCE) == (7 if '_exit' in how else -9)
    assert models.said('a')['pid'] != first


def test_a_client_that_is_killed_ends_its_model_process(models: Models) -> None:
    """Nobody waits for those samples; the next task loads anew."""
    process = models.sample('a', DO='import signal; signal.pause()')
    pid = json.loads(line_of(process))['pid']
    process.kill()
    until(lambda: not is_alive(pid), 'it is gone')
    assert models.said('a')['pid'] != pid


def test_two_tasks_of_one_model_at_once_have_a_process_each(models: Models) -> None:
    """Both stay for what follows."""
    waiting = models.sample('a', DO='import signal; signal.signal(15, lambda *_: None); signal.pause()')
    first = json.loads(line_of(waiting))['pid']
    second = models.said('b')['pid']
    assert second != first
    waiting.terminate()
    assert waiting.wait(PATIENCE) == 0
    assert {models.said('a')['pid'], models.said('b')['pid']} <= {first, second}


def test_gpus_are_the_real_ones_and_freed_for_the_next_model(models: Models) -> None:
    """An idle model of another session is gone before one is loaded on the same GPU; elsewhere it stays."""
    gpus = {'GPASSK_GPUS': 'GPU-a,GPU-b'}
    first = models.said('a', CUDA_VISIBLE_DEVICES='1', **gpus)
    assert (first['gpus'], first['real']) == ('GPU-b', None)
    elsewhere = models.said('b', session='t', CUDA_VISIBLE_DEVICES='0', **gpus)['pid']
    check = f'print(os.path.exists("/proc/{first["pid"]}/stat"))'
    process = models.sample('c', session='u', CUDA_VISIBLE_DEVICES='0', GPASSK_GPUS='GPU-b', DO=check)
    out, _ = process.communicate(timeout=PATIENCE)
    assert out.splitlines()[1] == 'False'
    assert is_alive(elsewhere)


def test_where_importing_has_touched_a_gpu_its_processes_are_no_copies(tmp_path: Path) -> None:
    """A copy could not use it: a model gets a new process, which stays, other tasks on a GPU are plain."""
    (tmp_path / 'libcuda.so.1').write_text('driver')
    (tmp_path / 'toucher.py').write_text(
        f'import mmap\nfile = open({str(tmp_path / "libcuda.so.1")!r}, "rb")\n'
        'driver = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)\n'
    )
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get('PYTHONPATH')])])
    with Pool(environment(PYTHONPATH=paths), tmp_path / 'events', modules=('toucher',)) as pool:
        models = Models(tmp_path, pool)
        try:
            gpu = {'PYTHONPATH': paths, 'CUDA_VISIBLE_DEVICES': '0', 'GPASSK_GPUS': 'GPU-a'}
            maps = 'print("libcuda" in open("/proc/self/maps").read())'
            first = models.sample('a', DO=maps, **gpu).communicate(timeout=PATIENCE)
            second = models.sample('b', DO=maps, **gpu).communicate(timeout=PATIENCE)
            assert [json.loads(said[0].splitlines()[0])['gpus'] for said in (first, second)] == ['GPU-a'] * 2
            assert len({json.loads(said[0].splitlines()[0])['pid'] for said in (first, second)}) == 1, first
            assert [said[0].splitlines()[1] for said in (first, second)] == ['False', 'False']
            task = models.script('task.py', maps)
            assert models.done(task, env=environment(**gpu))[:2] == (0, 'False\n')
            on_cpu = environment(PYTHONPATH=paths, CUDA_VISIBLE_DEVICES='')
            assert models.done(task, env=on_cpu)[:2] == (0, 'True\n')
        finally:
            models.close()


def test_a_number_of_no_gpu_is_an_error(models: Models) -> None:
    """Not another GPU."""
    process = models.sample('a', CUDA_VISIBLE_DEVICES='2', GPASSK_GPUS='GPU-a,GPU-b')
    out, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "'2'" in error
    assert '2 GPUs' in error, out


def test_nothing_of_one_task_reaches_the_next(models: Models) -> None:
    """Search path, main module, modules of its own directory, open streams."""
    (models.folder / 'a').mkdir()
    (models.folder / 'b').mkdir()
    for name in 'ab':
        (models.folder / name / 'beside.py').write_text(f'NAME = {name!r}\n')
    do = 'sys.path.insert(0, os.getcwd()); import beside; print(beside.NAME, sys.path.count("/nowhere"))'
    names = []
    for name in 'ab':
        out, error = models.sample(name, DO=do).communicate(timeout=PATIENCE)
        names.append(out.splitlines()[1:])
        assert error == ''
    assert names == [['a 1'], ['b 1']]


STUBBORN = """
import atexit, signal, subprocess, time
code = 'import signal, time; signal.signal(15, signal.SIG_IGN); print("up", flush=True); time.sleep(600)'
line = [sys.executable, '-c', code]
child = subprocess.Popen(line, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
child.stdout.readline()
Path('child').write_text(f'{child.pid}\\n')
atexit.register(time.sleep, 600)
"""
"""A model that does not end by itself, with a process in a group of its own, as engines have them."""


@pytest.mark.parametrize('ending', ['of the pool', 'of the model'])
def test_in_a_hurry_nobody_waits_for_a_model_and_nothing_is_left(tmp_path: Path, ending: str) -> None:
    """Which else has 20 s to end."""
    hurry = Event()
    with Pool(environment(), tmp_path / 'events', modules=(), in_a_hurry=hurry.is_set) as pool:
        models = Models(tmp_path, pool)
        pid = models.said('a', DO=STUBBORN)['pid']
        child = number_in(tmp_path / 'a' / 'child')
        models.close()
        Timer(1, hurry.set).start()
        began = time.monotonic()
        if ending == 'of the model':
            pool.release('s')
            assert time.monotonic() - began < 10
    assert 1 <= time.monotonic() - began < 15
    assert not is_alive(pid)
    assert not is_alive(child)


def test_a_model_that_does_not_end_is_killed_with_all_that_it_has_started(
    models: Models,
) -> None:
    """When its time is over."""
    pid = models.said('a', DO=STUBBORN)['pid']
    child = number_in(models.folder / 'a' / 'child')
    began = time.monotonic()
    models.pool.release('s')
    assert GRACE <= time.monotonic() - began < 2 * GRACE
    assert not is_alive(pid)
    assert not is_alive(child)


def test_outside_of_a_model_process_nothing_is_kept() -> None:
    """Each call makes it anew."""
    made: list[int] = []
    for _ in range(2):
        kept(('test',), lambda: made.append(1))
    assert made == [1, 1]


def test_gpu_numbers_are_looked_up_in_the_order_given() -> None:
    """Numbers, UUIDs and MIG ids; without GPASSK_GPUS, or without GPUs, nothing changes."""
    ids = 'MIG-1,3,GPU-x'
    assert (
        with_real_gpus({'CUDA_VISIBLE_DEVICES': '2,0', 'GPASSK_GPUS': ids})['CUDA_VISIBLE_DEVICES']
        == 'GPU-x,MIG-1'
    )
    assert with_real_gpus({'CUDA_VISIBLE_DEVICES': '', 'GPASSK_GPUS': ids}) == {'CUDA_VISIBLE_DEVICES': ''}
    assert with_real_gpus({'CUDA_VISIBLE_DEVICES': '2'}) == {'CUDA_VISIBLE_DEVICES': '2'}


def test_a_launcher_of_one_process_is_that_process(tmp_path: Path) -> None:
    """As OpenCompass starts a task on several GPUs; of several processes it is left alone."""
    script = tmp_path / 'openicl_infer.py'
    script.touch()
    line = ['-m', 'torch.distributed.run', '--master_port=123', '--nproc_per_node', '1', str(script), 'cfg']
    words, variables = script_of(line, '/', {}) or ([], {})
    assert words == [str(script), 'cfg']
    assert (variables['MASTER_PORT'], variables['RANK'], variables['WORLD_SIZE']) == ('123', '0', '1')
    assert script_of([*line[:4], '2', *line[5:]], '/', {}) is None


def test_evaluations_are_done_by_the_task_that_holds_no_copy_of_all_responses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is the script of the OpenCompass that is imported; not another one, nor that of sampling."""
    folder, other = tmp_path / 'opencompass' / 'tasks', tmp_path / 'other' / 'opencompass' / 'tasks'
    scripts = [folder / 'openicl_eval.py', folder / 'openicl_infer.py', other / 'openicl_eval.py']
    for script in scripts:
        script.parent.mkdir(parents=True, exist_ok=True)
        script.touch()
    imported = ModuleType('opencompass.tasks.openicl_eval')
    imported.__file__ = str(scripts[0])
    monkeypatch.setitem(sys.modules, imported.__name__, imported)
    around = folder / '..' / 'tasks' / 'openicl_eval.py'
    words = [(script_of([str(one), 'cfg'], '/', {}) or ([], {}))[0] for one in [*scripts, around]]
    assert [Path(script).parent.name for script, _ in words] == ['scripts', 'tasks', 'tasks', 'scripts']
    assert all(Path(script).is_file() and config == 'cfg' for script, config in words)


@pytest.mark.parametrize(
    ('text', 'is_held'),
    [
        ("models = [dict(type='x.SeededVLLM', path='m')]", True),
        ("models = [dict(type='x.Served', path='m', serve='vllm serve')]", True),
        ("models = [dict(type='x.OpenAISDK', path='m')]", False),
        ("models = [dict(type='x.SeededVLLM'), dict(type='x.SeededVLLM', path='m')]", False),
        ('models = [', False),
        ('import os', False),
    ],
)
def test_only_models_that_keep_what_they_load_get_a_process(tmp_path: Path, text: str, is_held: bool) -> None:
    """A config that says nothing of the kind is a copy of its own."""
    (tmp_path / 'x_params.py').write_text(text)
    words = ['/somewhere/openicl_infer.py', 'x_params.py']
    held = held_by(words, str(tmp_path), {'GPASSK_SESSION': 's', 'CUDA_VISIBLE_DEVICES': '0,1'})
    assert (held is not None) == is_held
    if held:
        assert held.gpus == {'0', '1'}
    assert held_by(words, str(tmp_path), {}) is None

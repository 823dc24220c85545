"""`gpassk run` as a process on real clusters, in an environment whose `opencompass` is `fake_opencompass`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import fake_opencompass
from fake_opencompass import FOLDER, behave, called, config_text, write_configs

PATIENCE = 240.0


class ClusterSweep:
    """A folder with configs, an environment, and the commands that run in them.

    Args:
        root: empty.
        variables: of the cluster.
    """

    def __init__(self, root: Path, variables: Mapping[str, str]) -> None:
        self.root, self.out = root, root / 'out'
        (root / 'control').mkdir()
        self._python = _environment(root / 'env')
        tests = Path(__file__).parent
        paths = os.pathsep.join([str(tests.parent), str(tests)])
        self._variables = {
            **os.environ,
            **variables,
            FOLDER: str(root / 'control'),
            'PYTHONPATH': paths,
        }

    def configs(self, *names: str) -> None:
        """Write configs that share a model, so one session."""
        write_configs(self.root, *names)

    def model(self, name: str, path: str, gpus: int = 0) -> None:
        """Write a config with a model of its own."""
        write_configs(self.root)
        text = config_text(name, path=path, run_cfg={'num_gpus': gpus})
        (self.root / 'configs' / f'{name}.py').write_text(text)

    def behave(self, name: str, behaviour: str) -> None:
        """See `fake_opencompass.install`."""
        behave(self.root, name, behaviour)

    def start(self, *options: str) -> subprocess.Popen[str]:
        """Start `gpassk run` of the configs."""
        return subprocess.Popen(
            [self._python, '-m', 'gpassk_opencompass.cli', 'run', 'configs', '-w', 'out', *options],
            cwd=self.root,
            env=self._variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *options: str) -> tuple[int, str]:
        """Run it to its end; return its exit code and what it said."""
        return finished(self.start(*options))

    def called(self) -> list[str]:
        """For which configs `opencompass` was started, in order."""
        return called(self.root)

    def resumed(self) -> list[bool]:
        """Whether each of these starts went on in a time directory."""
        return ['-r' in call['arguments'] for call in fake_opencompass.calls(self.root)]

    def wait_until(self, condition: Callable[[], object], run: subprocess.Popen[str]) -> None:
        """Wait while the command runs; fail if it ends, or takes too long, before the condition holds."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if run.poll() is not None or time.monotonic() > deadline:
                run.kill()
                raise AssertionError(run.communicate()[0])
            time.sleep(0.1)

    def hangs(self) -> bool:
        """Whether a run with half of its predictions hangs now."""
        return (self.root / 'control' / 'hanging').exists()

    def where(self, variable: str) -> str | None:
        """The value that the latest `opencompass` has for a variable of its environment."""
        pid = fake_opencompass.calls(self.root)[-1]['pid']
        entries = Path(f'/proc/{pid}/environ').read_text().split('\0')
        return dict(entry.partition('=')[::2] for entry in entries).get(variable)

    def logs(self) -> str:
        """The output of all jobs."""
        return '\n'.join(path.read_text() for path in sorted(self.out.glob('.gpassk/*/*/*.log')))


def finished(run: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for the end; return the exit code and what was said."""
    try:
        said, _ = run.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        run.kill()
        raise AssertionError(run.communicate()[0]) from None
    return run.returncode, said


def _environment(folder: Path) -> str:
    """Make an environment with the packages of this one and the fake `opencompass`; return its Python."""
    (folder / 'bin').mkdir(parents=True)
    here = Path(sys.prefix).resolve()
    (folder / 'lib').symlink_to(here / 'lib')
    shutil.copy(here / 'pyvenv.cfg', folder)
    python = folder / 'bin' / 'python'
    python.symlink_to(here / 'bin' / 'python')
    program = folder / 'bin' / 'opencompass'
    program.write_text(f'#!{python}\nfrom fake_opencompass import main\nmain()\n')
    program.chmod(0o755)
    return str(python)

"""A real Slurm of two nodes on this machine, in a folder of its own, for as long as a `with` block lasts.

Debian: `apt-get install --no-install-recommends slurm-wlm munge`. Everything runs as root and listens on
the loopback device alone; no file outside the folder is written or read.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from loopback import end

NODES = ('n1', 'n2')
PARTITION = 'debug'
PROGRAMS = ('munged', 'mungekey', 'slurmctld', 'slurmd', 'srun', 'scontrol', 'sinfo')
PATH = os.pathsep.join([os.environ.get('PATH', os.defpath), '/usr/sbin', '/sbin'])

# A node has one CPU, so it runs one job at a time, and a GPU that is none: Slurm only counts it.
CONFIG = """\
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=15
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
PropagateResourceLimits=NONE
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobs.log
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
KillWait=1
GresTypes=gpu
PartitionName={partition} Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
NODE = 'NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 Gres=gpu:1\n'


class Job(NamedTuple):
    """A finished job, from Slurm's own log of completed jobs."""

    name: str
    node: str
    state: str
    start: str
    end: str


def why_not() -> str:
    """Why no Slurm can be started here; empty if one can."""
    if os.geteuid() != 0:
        return 'starting Slurm needs root'
    missing = [program for program in PROGRAMS if shutil.which(program, path=PATH) is None]
    return f'Slurm is not installed: no {", ".join(missing)}' if missing else ''


class SlurmCluster:
    """slurmctld, two slurmd and their munged, as long as the `with` block lasts.

    Args:
        folder: empty; keeps configuration, state and logs.
        hosts: each node is a machine of its own name, for who asks the system for it.
    """

    def __init__(self, folder: Path, hosts: bool = False) -> None:
        self._folder, self._hosts = folder, hosts
        self._daemons: list[subprocess.Popen[bytes]] = []
        self.environment = {'SLURM_CONF': str(folder / 'slurm.conf'), 'PATH': PATH}

    def __enter__(self) -> SlurmCluster:
        self._write_configuration()
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def command(self, *command: str) -> str:
        """What one of Slurm's own commands prints."""
        done = subprocess.run(
            command, env={**os.environ, **self.environment}, capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr

    def jobs(self) -> list[Job]:
        """All that ended so far, in that order."""
        log = self._folder / 'jobs.log'
        lines = log.read_text().splitlines() if log.exists() else []
        fields = [dict(re.findall(r'(\w+)=(\S*)', line)) for line in lines]
        keys = ('Name', 'NodeList', 'JobState', 'StartTime', 'EndTime')
        return [Job(*(field[key] for key in keys)) for field in fields]

    def lose(self, node: str) -> None:
        """As if the machine burnt down: all its processes are killed, and Slurm is told that it is down."""
        for pid in self._processes(f'SLURMD_NODENAME={node}'):
            _kill(pid)
        self.command('scontrol', 'update', f'nodename={node}', 'state=down', 'reason=lost')

    def _write_configuration(self) -> None:
        (self._folder / 'state').mkdir()
        host = socket.gethostname().split('.')[0]
        ports = _free_ports(1 + len(NODES))
        nodes = (NODE.format(name=name, host=host, port=ports.pop()) for name in NODES)
        config = CONFIG.format(host=host, port=ports.pop(), folder=self._folder, partition=PARTITION)
        (self._folder / 'slurm.conf').write_text(''.join(nodes) + config)
        gpus = (f'NodeName={name} Name=gpu File=/dev/null\n' for name in NODES)
        (self._folder / 'gres.conf').write_text(''.join(gpus))

    def _start(self) -> None:
        files = {name: self._folder / f'munge.{name}' for name in ('key', 'socket', 'pid', 'log', 'seed')}
        subprocess.run(['mungekey', '-c', '-k', str(files['key'])], env={'PATH': PATH}, check=True)
        options = [f'--{name}-file={files[name]}' for name in ('key', 'pid', 'log', 'seed')]
        self._daemon('munged', '--foreground', '--force', f'--socket={files["socket"]}', *options)
        self._wait_for(files['socket'].exists, 'munged')
        self._daemon('slurmctld', '-D', '-i')
        for name in NODES:
            # The tasks get this variable from Slurm, the daemon from here: it tells whose a process is.
            self._daemon(*self._named(name), 'slurmd', '-D', '-N', name, SLURMD_NODENAME=name)
        self._wait_for(self._all_idle, 'the nodes')

    def _named(self, host: str) -> list[str]:
        """What starts a daemon as on a machine of this name, which it can resolve; nobody else sees it."""
        if not self._hosts:
            return []
        names = self._folder / f'hosts-{host}'
        names.write_text(f'127.0.0.1 localhost {host}\n')
        become = f'mount --bind {shlex.quote(str(names))} /etc/hosts && hostname {host} && exec "$0" "$@"'
        return ['unshare', '--uts', '--mount', 'sh', '-c', become]

    def _daemon(self, *command: str, **environment: str) -> None:
        with (self._folder / f'{command[0]}.out').open('ab') as out:
            daemon = subprocess.Popen(
                command,
                env={**os.environ, **self.environment, **environment},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=self._folder,
            )
        self._daemons.append(daemon)

    def _all_idle(self) -> bool:
        return self.command('sinfo', '-h', '-N', '-o', '%N %T').split() == [
            word for name in NODES for word in (name, 'idle')
        ]

    def _wait_for(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + 60
        while not condition():
            if time.monotonic() > deadline:
                logs = ''.join(path.read_text()[-2000:] for path in sorted(self._folder.glob('*.out')))
                raise RuntimeError(f'{what} did not come up:\n{logs}')
            time.sleep(0.1)

    def _stop(self) -> None:
        """End the daemons in the reverse order, then whatever they and their jobs left behind."""
        for daemon in reversed(self._daemons):
            end(daemon, seconds=10)
        for pid in self._processes():
            _kill(pid)

    def _processes(self, *variables: str) -> Iterator[int]:
        """All whose environment has this cluster's configuration, and these variables."""
        wanted = {f'SLURM_CONF={self.environment["SLURM_CONF"]}', *variables}
        for path in Path('/proc').glob('[0-9]*/environ'):
            with suppress(OSError):
                if wanted <= set(path.read_text(errors='replace').split('\0')):
                    yield int(path.parent.name)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(('127.0.0.1', 0)) for _ in range(count)]
    ports = [opened.getsockname()[1] for opened in sockets]
    for opened in sockets:
        opened.close()
    return ports


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)

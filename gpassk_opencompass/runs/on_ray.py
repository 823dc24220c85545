"""`gpassk run --ray ADDRESS`: the models of a sweep as tasks of a Ray cluster.

A task drives the runs of one model on the GPUs that Ray gives it, as `gpassk run` does. All nodes see work
directories and configs under the same paths. A task that fails is tried again, where it goes on.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import GPassKError, IncompleteError, InputError
from ..processes import Stop
from .driver import Driver, Watcher, gpus_needed, servers_of
from .opencompass import Options
from .plan import Planned, by_model
from .state import Finding, examine
from .work_dir import JOB


def run_on_ray(address: str, runs: Sequence[Planned], driver: Driver) -> list[Finding]:
    """Run what is not complete as `driver` would; return the state of each run that it came to."""
    ray, outputs, options, found = _connect(address), driver.outputs, driver.options, dict[str, Finding]()

    def tell(runs: Iterable[Planned], why: str = '', *, only_done: bool = False) -> None:
        for run in runs:
            finding = examine(run, outputs / run.name)
            done = options.is_done(finding)
            if done or not only_done:
                detail = finding.detail if done or not why else f'{finding.detail}; {why}'
                found[run.name] = replace(finding, detail=detail)
                driver.watcher.ended(found[run.name], None)

    tell(runs, only_done=True)
    models = by_model(run for run in runs if run.name not in found)
    most = max((node['Resources'].get('GPU', 0) for node in ray.nodes() if node['Alive']), default=0)
    drive = ray.remote(max_retries=2, retry_exceptions=[IncompleteError])(_drive)
    job = f'ray {ray.get_runtime_context().get_job_id()}'
    tasks: dict[Any, list[Planned]] = {}
    for gpus, model in sorted(((max(map(_gpus_of, group)), model) for model, group in models.items()))[::-1]:
        if gpus > most:
            tell(models[model], f'needs {gpus} GPUs, and no node of the cluster has more than {most:g}')
            continue
        order = (models[model], outputs, Path.cwd(), options, dict(driver.variables), job)
        tasks[drive.options(num_cpus=1, num_gpus=gpus, name=model).remote(*order)] = models[model]
        driver.watcher.note(f'{model}: {len(models[model])} runs wait for {gpus} GPUs of the cluster')
    while tasks and not driver.stop:
        for task in ray.wait(list(tasks), timeout=1.0)[0]:
            tell(tasks.pop(task), _failure(ray, task))
    for task in tasks:  # as Ctrl-C does it
        ray.cancel(task)
    if tasks:
        ray.wait(list(tasks), num_returns=len(tasks), timeout=60.0)
    ray.shutdown()
    return [found[run.name] for run in runs if run.name in found]


def _connect(address: str) -> Any:
    try:
        import ray

        ray.init(address=address, log_to_driver=False, logging_level='ERROR')
    except ImportError as error:
        raise InputError('--ray: ray is not installed; run: pip install "ray>=2.10"') from error
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise InputError(f'--ray {address}: no cluster there: {error}') from error
    return ray


def _failure(ray: Any, task: Any) -> str:
    """Return why a task failed at last; '' if it did not."""
    try:
        ray.get(task)
    except (ray.exceptions.RayError, GPassKError) as error:
        return str(error).strip().rpartition('\n')[2]
    return ''


def _gpus_of(run: Planned) -> int:
    """Return how many GPUs a run takes at a time: its model, or its judge."""
    servers = filter(None, servers_of(run.values, Options()))
    return max(gpus_needed(run.values), *(server.gpus for server in servers), 0)


def _drive(
    runs: Sequence[Planned], outputs: Path, here: Path, options: Options, variables: dict[str, str], job: str
) -> None:
    """Run what is not complete on the GPUs of this task; raise IncompleteError if that does not end well."""
    import ray

    os.chdir(here)  # relative paths of configs
    os.environ[JOB] = job
    gpus = tuple(map(str, ray.get_gpu_ids()))
    findings = Driver(outputs, options, gpus, Watcher(), Stop(), variables).drive(runs)
    if bad := [one for one in findings if not options.is_done(one)]:
        raise IncompleteError('; '.join(f'{one.name}: {one.detail}' for one in bad))

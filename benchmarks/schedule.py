"""How close the pool of `gpassk run` comes to the bound: a fleet of models on 8 and on 64 GPUs, simulated.

    python -m benchmarks.schedule

100 models of 1, 2, 4 and 8 GPUs with 25 runs each, of lengths that differ by a factor of 30; a server takes
minutes to load. The bound is the larger of all GPU seconds over the GPUs, and the longest model on as many
servers as there are runs.
"""

from __future__ import annotations

import heapq
import random

from gpassk_opencompass.runs.driver import Entry, Pool, Task
from gpassk_opencompass.runs.plan import Planned
from gpassk_opencompass.serving import Served, read_serve

MODELS, RUNS = 100, 25
SIZES = (1, 1, 1, 1, 2, 2, 4, 8)


def fleet(seed: int) -> dict[Entry, tuple[float, float]]:
    """Return each model with the seconds that it takes to load, and those of its runs on one server."""
    chance = random.Random(seed)
    entries = {}
    for number in range(MODELS):
        gpus = chance.choice(SIZES)
        seconds = RUNS * chance.lognormvariate(6.0, 0.8)
        tasks = [Task(Planned(f'{number}-{run}')) for run in range(RUNS)]
        served = Served(read_serve({}, 'vllm'), f'org/{number}', str(number), gpus)
        entries[Entry(tasks, gpus, served, size=seconds)] = 60.0 * gpus**0.5, seconds
    return entries


def makespan(entries: dict[Entry, tuple[float, float]], gpus: int) -> float:
    """Return when the last model has ended; a server does one run after the other."""
    pool = Pool(entries, [str(number) for number in range(gpus)])
    free: list[tuple[float, int, Entry]] = []
    servers = dict.fromkeys(entries, 0)
    now, changed = 0.0, True
    while pool.waiting or free:
        while changed and (started := pool.next()):
            for entry, given in started:
                for _ in range(len(given) // entry.gpus):
                    servers[entry] += 1
                    heapq.heappush(free, (now + entries[entry][0], id(entry) + servers[entry], entry))
        changed = False
        now, number, entry = heapq.heappop(free)
        if entry.tasks:
            entry.tasks.pop()
            heapq.heappush(free, (now + entries[entry][1] / RUNS, number, entry))
            continue
        servers[entry] -= 1
        if not servers[entry]:
            pool.working.remove(entry)
            changed = True
    return now


def bound(entries: dict[Entry, tuple[float, float]], gpus: int) -> float:
    """Return what no order can beat."""
    work = sum(entry.gpus * (load + seconds) for entry, (load, seconds) in entries.items()) / gpus
    return max(work, *(load + seconds / RUNS for load, seconds in entries.values()))


def main() -> None:
    """Print the ratio for several fleets."""
    print('| GPUs | fleets | makespan / bound |\n| --- | --- | --- |')
    for gpus in (8, 64):
        ratios = [makespan(entries, gpus) / bound(entries, gpus) for entries in map(fleet, range(10))]
        print(f'| {gpus} | {len(ratios)} | {min(ratios):.3f} to {max(ratios):.3f} |')


if __name__ == '__main__':
    main()

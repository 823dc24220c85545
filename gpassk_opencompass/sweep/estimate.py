"""What a sweep would cost: samples, verdicts and tokens, before anything is run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .grid import Run

HEADERS = ('model', 'benchmark', 'configs', 'questions', 'samples', 'verdicts, at most', 'tokens, at most')


def estimate_table(runs: Sequence[Run]) -> str:
    """A row a model and benchmark, and a last one with the totals; `?` where a size is not known.

    samples: n × questions. verdicts: a judge is asked once for each different answer to a question, so at
    most once a sample. tokens: sampled ones, if every response were as long as `max_out_len` allows.
    """
    from tabulate import tabulate

    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.model, run.benchmark), []).append(run)
    rows = [[*names, *_cells(group)] for names, group in groups.items()]
    total = ['total', '', *_cells(runs)]
    total[3] = ''
    return tabulate(
        [*rows, total],
        HEADERS,
        tablefmt='github',
        colalign=('left', 'left', *['right'] * 5),
        disable_numparse=True,
    )


def samples(run: Run) -> int | None:
    """How many responses a run draws; None if that is not known."""
    return None if run.n is None or run.questions is None else run.n * run.questions


def tokens(run: Run) -> int | None:
    """How many tokens they have at most."""
    drawn, length = samples(run), run.settings.get('max_out_len')
    return None if drawn is None or length is None else drawn * int(length)


def _cells(runs: Sequence[Run]) -> list[str]:
    drawn = _sum(samples, runs)
    questions = '?' if runs[0].questions is None else f'{runs[0].questions:,}'
    return [f'{len(runs):,}', questions, drawn, drawn, _sum(tokens, runs)]


def _sum(count: Callable[[Run], int | None], runs: Iterable[Run]) -> str:
    counts = [count(run) for run in runs]
    known = [number for number in counts if number is not None]
    if not known:
        return '?'
    return f'{sum(known):,}' + (' + ?' if len(known) < len(counts) else '')

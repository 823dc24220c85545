"""Check what `make demo` wrote: three runs with their known scores, which fall with temperature; a report."""

import csv
import json
import sys
from pathlib import Path

REPORT = ('leaderboard.md', 'scores.csv', 'tables', 'index.html', 'figures')
GOLDEN = Path(__file__).resolve().parents[1] / 'tests/golden/demo.json'
"""The scores and n of each run, as `tests/golden/make.py` wrote them."""


def main(folder: str) -> None:
    """Exit with a message at the first thing that is not as it should be."""
    summaries = sorted(Path(folder).glob('*/*/summary/gpassk_????????_??????.csv'))
    found = [row for one in summaries for row in csv.DictReader(one.read_text(encoding='utf-8').splitlines())]
    rows = [row for _, row in sorted({row['model']: row for row in found}.items())]
    names = [row['model'] for row in rows]
    greedy, sampled = [row for row in rows if row['n'] == '1'], [row for row in rows if row['n'] == '48']
    check((len(greedy), len(sampled)) == (1, 2), f'expected one greedy run and two temperatures, got {names}')
    check(all(row['unjudged'] == '0' for row in rows), 'every sample is judged')
    check(20 < float(greedy[0]['accuracy']) < 95, 'the greedy run is neither hopeless nor perfect')
    cool, hot = sampled
    for k in (4, 8, 16):
        for row in sampled:
            falling = [float(row[f'G-Pass@{k}_{tau}']) for tau in (0.0, 0.5, 0.75, 1.0)]
            check(falling == sorted(falling, reverse=True), f'G-Pass@{k} falls as the threshold rises')
        for key in (f'G-Pass@{k}_1.0', f'mG-Pass@{k}'):
            check(float(cool[key]) > float(hot[key]), f'{key} falls as temperature rises')
    golden = json.loads(GOLDEN.read_text(encoding='utf-8'))
    for row in rows:
        for name, known in golden[row['model']].items():
            check(
                row.get(name, '') == known, f'{name} of {row["model"]} is {known}, but it is {row.get(name)}'
            )
    report = Path(folder, 'report')
    missing = [name for name in REPORT if not (report / name).exists()]
    check(not missing, f'the report has all its parts, but {report} lacks {missing}')
    check(
        'demo t=0.3' in (report / 'leaderboard.md').read_text(encoding='utf-8'),
        'the leaderboard has the runs',
    )
    print(f'{folder}: as it should be')


def check(holds: bool, what: str) -> None:
    """Stop unless it holds."""
    if not holds:
        sys.exit(f'demo: not so: {what}')


if __name__ == '__main__':
    main(*sys.argv[1:])

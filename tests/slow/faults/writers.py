"""Commands that write several files into one folder, the last argument of each."""

from __future__ import annotations

from pathlib import Path

from result_files import write_three
from sweeping import BASE

Line = tuple[str | Path, ...]


def expansion_and_report(root: Path) -> dict[str, Line]:
    """`dump_configs` of seven configs and `report` on three results below `root`; the folder is left out."""
    template = root / 'template.py'
    template.write_text(BASE.replace('temperatures = [0.3]', 'temperatures = [0.1 * i for i in range(1, 8)]'))
    write_three(root / 'outputs')
    return {
        'dump_configs': ('dump_configs', '-tc', template, '--output-dir'),
        'report': ('gpassk', 'report', root / 'outputs', '--only', 'tables', '-o'),
    }

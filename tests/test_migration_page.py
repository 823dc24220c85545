"""docs/migration.md: every file that the published repository had is in its table and leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from doc_pages import ROOT, page
from older_templates import ERAS
from sweeping import dump

from gpassk_opencompass.cli import COMMANDS
from gpassk_opencompass.sweep.engines import ENGINES
from gpassk_opencompass.sweep.older_models import CLASSES

PUBLISHED = (
    'README.md',
    'assets/pass-at-k-v-s-greedy-g-pass-at-k.png',
    'assets/performance.png',
    'docs/LiveMathBench-A.csv',
    'docs/index.html',
    'docs/leaderboard.html',
    'docs/livecode.html',
    'docs/results.json',
    'lighteval/configs/eval_cfg.yaml',
    'lighteval/lighteval_run.py',
    'lighteval/src/lighteval_metric.py',
    'lighteval/src/lighteval_task.py',
    'opencompass/config_templates/close.py',
    'opencompass/config_templates/nono1.py',
    'opencompass/config_templates/o1.py',
    'opencompass/dump_opencompass_configs.py',
    'opencompass_config_templates/nono1.py',
    'opencompass_config_templates/o1.py',
    'save_opencompass_configs.py',
)
"""Every file of its history."""

SECTIONS = (
    'Definition of G-Pass@k',
    'Main Results',
    'Use G-Pass@k in Your Project',
    'Use G-Pass@k in OpenCompass',
    'Deploy Judge Models',
    'Use G-Pass@k in Lighteval',
)
"""Of its README."""


def test_the_page_shows_what_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For the three API models; only the folder is another."""
    assert dump(tmp_path, ERAS['close of March 2025'].text) == 0
    printed = capsys.readouterr().out.replace(str(tmp_path / 'configs'), 'opencompass_configs')
    assert printed in [block.text for block in page('migration').blocks('')]


ROWS = page('migration').rows('there')


@pytest.mark.parametrize('name', [*PUBLISHED, *SECTIONS])
def test_everything_published_has_a_row(name: str) -> None:
    """In the first column, as it is called there."""
    assert any(re.search(rf'(^|[ ,]){re.escape(name)}($|[ ,:])', row[0]) for row in ROWS)


def test_every_row_leads_to_something_that_is_there() -> None:
    """A file, a command, a Python name or a page; the tests of all pages follow the links and names."""
    for there, here in ROWS:
        names = re.findall(r'`([^`]+)`', here)
        paths = [name for name in names if '/' in name or name.endswith('.py')]
        commands = [name.split()[1] for name in names if name.startswith('gpassk ')]
        assert all((ROOT / path).exists() for path in paths if ' ' not in path), there
        assert set(commands) <= set(COMMANDS), there
        assert names or re.search(r'\]\([\w-]+\.md', here), there


def test_the_page_has_every_class_that_is_translated_with_its_engine() -> None:
    """As the code has them."""
    rows = {row[0].strip('`'): row[1] for row in page('migration').rows('in the old config')}
    for name in CLASSES:
        engines = re.findall(r'`(\w+)`', rows[name].partition('engine')[2])
        assert engines
        for engine in engines:
            assert f'`{ENGINES[engine].type.rpartition(".")[2]}`' in rows[name]

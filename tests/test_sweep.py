"""The expander: what a template becomes."""

from __future__ import annotations

from pathlib import Path

import pytest
from sweeping import BASE, NAME, dataset_of, dump, expanded

from gpassk_opencompass.sweep.folder import signature


@pytest.mark.parametrize(
    ('lines', 'name'),
    [
        ('temperatures = 0.3', NAME),
        ('k_lists = [4, 8, 16]', NAME),
        ('k_lists = [[16, 4, 8]]', NAME),
        ('k_lists = 16', NAME.replace('k4_8_16', 'k16')),
        ('temperatures = 1', NAME.replace('t0-3', 't1-0')),
        ('temperatures = [1e-05]', NAME.replace('t0-3', 't0-00001')),
        ('del replications; n = 48', NAME),
        ('del replications; n = 50', NAME.replace('r3', 'n50')),
        ('cot = False', NAME.replace('-k4', '-nocot-k4')),
        (
            "dataset_splits = ['AMC', 'CCEE']; dataset_languages = 'en'",
            NAME.replace('-k4', '-AMC_CCEE-en-k4'),
        ),
        ("version = '202505'", NAME.replace('202412', '202505-all-en')),
        ('random_seeds = range(7, 8)', NAME.replace('rs42', 'rs7')),
        ("llm_infos = '/models/Qwen2.5-7B/'", NAME.replace('model-7b', 'Qwen2-5-7B')),
        ("llm_infos = [dict(path='x/y', name='模型 1')]", NAME.replace('model-7b', '模型-1')),
        ('import os; from itertools import product; _private = UPPER = object()', NAME),
    ],
)
def test_names(tmp_path: Path, lines: str, name: str) -> None:
    """A scalar is an axis of one, a flat k list one list; what differs from the standard shows."""
    assert list(expanded(tmp_path, f'{BASE}\n{lines}\n')) == [name]


def test_the_inferencer_gets_the_share_that_may_fail(tmp_path: Path) -> None:
    """With another one the samples are the same, and so is the signature by which a run is found again."""
    (tmp_path / 'b').mkdir()
    plain, other = expanded(tmp_path, BASE), expanded(tmp_path / 'b', BASE + 'most_failed = 0.5\n')
    assert 'most_failed' not in dataset_of(plain)['infer_cfg']['inferencer']
    assert dataset_of(other)['infer_cfg']['inferencer'] == {
        **dataset_of(plain)['infer_cfg']['inferencer'],
        'most_failed': 0.5,
    }
    assert signature(plain[NAME]) == signature(other[NAME])
    assert dump(tmp_path, BASE + 'most_failed = 10\n') == 2

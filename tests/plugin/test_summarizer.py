"""GPassKSummarizer: what it prints, writes and warns of."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exact import FunctionJudge
from hosts import dataset_config, import_plugin
from result_files import THIRDS, block
from scipy import stats

from gpassk_opencompass.errors import InputError
from gpassk_opencompass.record import Names, Result, read, result_of, write
from gpassk_opencompass.report.tables import summary_table
from gpassk_opencompass.samples import Samples
from gpassk_opencompass.scoring import score

plugin = import_plugin()
ConfigDict = import_module('mmengine.config').ConfigDict if plugin else None


def made(responses: list[str], verdicts: dict[str, bool | None]) -> Result:
    n = len(responses)
    same = {
        'question': 'q',
        'reference': '1',
        'group': 'AMC_en',
        'language': 'en',
        'problem': 'p',
        'uid': 'u',
    }
    columns = {name: [value] * n for name, value in same.items()}
    samples = Samples({'response': responses, 'replica': list(range(n)), **columns})
    judge = FunctionJudge(lambda pair: verdicts[pair.answer])
    names = Names(model='model', dataset='bench', host='opencompass')
    return score(samples, judge, n=n, k=2, unjudged_tolerance=1.0, names=names)


def config_of(work_dir: Path, models: list[Any], dataset: dict[str, Any]) -> Any:
    whole = {**dataset_config(work_dir), **dataset}
    return ConfigDict(work_dir=str(work_dir), models=models, datasets=[whole])


def summarize(tmp_path: Path, result: Result | None, *others: str) -> Path:
    models = [{'abbr': 'model'}, *({'abbr': other} for other in others)]
    config = config_of(tmp_path, models, {'abbr': 'bench'})
    path = tmp_path / 'results' / 'model' / 'bench.json'
    if result is not None:
        write(path, result)
    plugin.GPassKSummarizer(config).summarize(time_str='now')
    return tmp_path / 'summary'


def test_the_table_is_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same text on the screen and in the .md; every metric in the .csv files."""
    folder = summarize(tmp_path, made([r'\boxed{1}', r'\boxed{2}'], {'1': True, '2': False}))
    text = (folder / 'gpassk_now.md').read_text()
    assert text in capsys.readouterr().out
    assert 'bench: n = 2, 0 samples unjudged' in text
    assert re.search(r'\| model\b.*\| +50\.00 ', text)
    assert 'WARNING' not in text
    assert 'G-Pass@2_0.25' in (folder / 'gpassk_now.csv').read_text()
    assert 'AMC_en' in (folder / 'gpassk_now.breakdown.csv').read_text()


def test_what_a_reader_should_know_is_said(tmp_path: Path) -> None:
    """Cut-off responses and unjudged samples stand below the table."""
    result = made(
        [r'\boxed{1}', r'\boxed{3}', r'hence \boxed{2'], {'1': True, '3': None, '2': False, '': False}
    )
    text = (summarize(tmp_path, result) / 'gpassk_now.md').read_text()
    assert '1 of 3 responses look cut off' in text
    assert '1 samples unjudged: accuracy from 33.33 to 66.67' in text


def test_a_model_that_changed_since_the_result_is_shown_only_where_that_is_accepted(tmp_path: Path) -> None:
    """What the evaluation accepted stands below the table; else the result is missing, with the setting."""
    result = made([r'\boxed{1}', r'\boxed{2}'], {'1': True, '2': False})
    told = 'scored although settings changed since sampling, as keep says'
    result.provenance = {'model': {'path': 'a'}, 'warnings': [told]}
    write(tmp_path / 'results' / 'model' / 'bench.json', result)
    models, dataset = [{'abbr': 'model', 'path': 'b'}], {'abbr': 'bench'}
    plugin.GPassKSummarizer(config_of(tmp_path, models, dataset)).summarize(time_str='before')
    assert not list((tmp_path / 'summary').glob('gpassk*'))
    assert '50.00' not in (tmp_path / 'summary' / 'summary_before.csv').read_text()
    dataset = {**dataset, 'eval_cfg': {'evaluator': {'keep': ['settings']}}}
    plugin.GPassKSummarizer(config_of(tmp_path, models, dataset)).summarize(time_str='now')
    text = (tmp_path / 'summary' / 'gpassk_now.md').read_text()
    assert f'WARNING model@bench: {told}' in text
    assert 'MISSING' not in text


def test_the_summary_of_opencompass_is_written_as_ever(tmp_path: Path) -> None:
    """To the byte, for the programs that read leaderboards out of it."""
    result = made([r'\boxed{1}', r'\boxed{2}'], {'1': True, '2': False})
    folder = summarize(tmp_path, result)
    ours = {path.suffix: path.read_bytes() for path in folder.glob('summary_now.*')}
    config = config_of(tmp_path, [{'abbr': 'model'}], {'abbr': 'bench'})
    import_module('opencompass.summarizers').DefaultSummarizer(config).summarize(None, 'now')
    assert ours == {path.suffix: path.read_bytes() for path in folder.glob('summary_now.*')}
    assert {'.txt', '.csv'} <= set(ours)


def test_a_missing_result_is_named(tmp_path: Path) -> None:
    """A failed task leaves a line, not only a row less; without any result there is no table."""
    result = made([r'\boxed{1}', r'\boxed{2}'], {'1': True, '2': False})
    text = (summarize(tmp_path / 'one', result, 'gone') / 'gpassk_now.md').read_text()
    assert 'MISSING' in text
    assert 'gone/bench.json' in text
    assert not list(summarize(tmp_path / 'none', None).glob('gpassk*'))


@pytest.mark.parametrize(
    'damage', ['null', '5', '"gpassk"', '{"gpassk": 5}', '{"gpassk": {}}', '[' * 100_000]
)
def test_a_damaged_result_does_not_keep_the_others_from_their_table(tmp_path: Path, damage: str) -> None:
    """It is named like one that is missing, whatever of it can be read."""
    other = tmp_path / 'results' / 'other' / 'bench.json'
    other.parent.mkdir(parents=True)
    other.write_text(damage)
    result = made([r'\boxed{1}', r'\boxed{2}'], {'1': True, '2': False})
    text = (summarize(tmp_path, result, 'other') / 'gpassk_now.md').read_text()
    assert re.search(r'\| model\b.*\| +50\.00 ', text)
    with pytest.raises(InputError) as caught:
        read(other)
    line = ' '.join(str(caught.value).split())
    assert f'MISSING {other}: {line}; OpenCompass would keep it' in ' '.join(text.split())


def sampled(model: str, dataset: str = 'LiveMathBench-v202412-k4_8_16-r3') -> Result:
    """48 answers to each of 24 questions: a third always, a third half of the time, a third never correct."""
    counts = [12 * c for c in THIRDS]
    run = {'model': model, 'dataset': dataset}
    return result_of(Path('x.json'), {'gpassk': block(counts, 48, k=[16], run=run)})


def test_each_score_has_its_interval_below() -> None:
    """Of the accuracy: mean 0.5, with two solved and two unsolved problems added."""
    lines = summary_table([sampled('m_l1')]).splitlines()
    scores, below = [
        [cell.strip() for cell in line.strip('|').split('|')]
        for line in lines
        if line.startswith(('| m ', '|  '))
    ]
    assert scores[:2] == ['m', '50.00']
    assert below[0] == ''
    low, high = map(float, below[1].split('–'))
    values = np.array([1.0] * 8 + [0.5] * 8 + [0] * 8 + [1, 1, 0, 0])
    half = stats.t.ppf(0.975, 27) * values.std(ddof=1) / np.sqrt(28)
    assert (low, high) == (round(100 * (0.5 - half), 1), round(100 * (0.5 + half), 1))

"""GPassKSummarizer: what it prints, writes and warns of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from exact import FunctionJudge
from hosts import dataset_config, import_plugin

from gpassk_opencompass.record import Names, Result, write
from gpassk_opencompass.samples import Samples
from gpassk_opencompass.scoring import score

plugin = import_plugin()
ConfigDict = import_module('mmengine.config').ConfigDict if plugin else None


def made(responses: Sequence[str] = (r'\boxed{1}', r'\boxed{2}'), **verdicts: bool | None) -> Result:
    """Of one question; `verdicts` of answers, behind `a`, beside 1 (right) and 2 (wrong)."""
    known = {'1': True, '2': False} | {name[1:]: verdict for name, verdict in verdicts.items()}
    n, names = len(responses), 'question reference group language problem uid'.split()
    columns = {name: [one] * n for name, one in zip(names, ('q', '1', 'AMC_en', 'en', 'p', 'u'), strict=True)}
    samples = Samples({'response': list(responses), 'replica': list(range(n)), **columns})
    names = Names(model='model', dataset='bench', host='opencompass')
    judge = FunctionJudge(lambda pair: known[pair.answer])
    return score(samples, judge, n=n, k=2, unjudged_tolerance=1.0, names=names)


def config_of(work_dir: Path, *models: dict[str, Any], **dataset: Any) -> Any:
    whole = {**dataset_config(work_dir), **dataset}
    return ConfigDict(work_dir=str(work_dir), models=list(models), datasets=[whole])


def summarize(tmp_path: Path, result: Result | None, *others: str) -> Path:
    """The folder of the summary of the model with this result, and of other ones."""
    config = config_of(tmp_path, *({'abbr': name} for name in ('model', *others)))
    if result is not None:
        write(tmp_path / 'results' / 'model' / 'bench.json', result)
    plugin.GPassKSummarizer(config).summarize(time_str='now')
    return tmp_path / 'summary'


def test_the_table_is_printed_and_written(tmp_path, capsys):
    """The same rows on the screen and in the .md; every metric in the .csv files."""
    folder = summarize(tmp_path, made())
    text, printed = (folder / 'gpassk_now.md').read_text(), capsys.readouterr().out
    for shown in (text, printed):
        assert re.search(r'\| model +\| bench +\| +2 \| +50\.00 \[', shown)
        assert '95 % interval for new questions' in shown
    assert 'WARNING' not in text
    assert 'G-Pass@2_0.25' in (folder / 'gpassk_now.csv').read_text()
    assert 'AMC_en' in (folder / 'gpassk_now.breakdown.csv').read_text()


def test_a_model_that_changed_since_the_result_is_shown_only_where_that_is_accepted(tmp_path):
    """What the evaluation accepted stands below the table; else the result is missing, with the setting."""
    result, model = made(), {'abbr': 'model', 'path': 'b'}
    told = 'scored although settings changed since sampling, as keep says'
    result.provenance = {'model': {'path': 'a'}, 'warnings': [told]}
    write(tmp_path / 'results' / 'model' / 'bench.json', result)
    plugin.GPassKSummarizer(config_of(tmp_path, model)).summarize(time_str='before')
    assert not list((tmp_path / 'summary').glob('gpassk*'))
    assert '50.00' not in (tmp_path / 'summary' / 'summary_before.csv').read_text()
    config = config_of(tmp_path, model, eval_cfg={'evaluator': {'keep': ['settings']}})
    plugin.GPassKSummarizer(config).summarize(time_str='now')
    text = (tmp_path / 'summary' / 'gpassk_now.md').read_text()
    assert f'WARNING model@bench: {told}' in text
    assert 'MISSING' not in text


def test_the_summary_of_opencompass_is_written_as_ever(tmp_path):
    """To the byte, for the programs that read leaderboards out of it."""
    folder = summarize(tmp_path, made())
    ours = {path.suffix: path.read_bytes() for path in folder.glob('summary_now.*')}
    config = config_of(tmp_path, {'abbr': 'model'})
    import_module('opencompass.summarizers').DefaultSummarizer(config).summarize(None, 'now')
    assert ours == {path.suffix: path.read_bytes() for path in folder.glob('summary_now.*')}
    assert {'.txt', '.csv'} <= set(ours)


def test_a_missing_result_is_named(tmp_path):
    """A failed task leaves a line, not only a row less; without any result there is no table."""
    text = (summarize(tmp_path / 'one', made(), 'gone') / 'gpassk_now.md').read_text()
    assert 'MISSING' in text
    assert 'gone/bench.json' in text
    assert not list(summarize(tmp_path / 'none', None).glob('gpassk*'))

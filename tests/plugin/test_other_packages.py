"""Model classes, judges and formats of other packages, as docs/extending.md shows how to write them."""

from __future__ import annotations

import json
import re
import sys
from importlib import import_module
from io import BytesIO
from typing import Any
from urllib.request import Request

import pytest
from doc_pages import page
from hosts import import_plugin

from gpassk_opencompass.cli import main
from gpassk_opencompass.formats import FORMATS

pytestmark = pytest.mark.slow


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """A folder in which the package of the page is installed."""
    named = re.findall(r'`theirs/(\w+)\.py`', page('extending').text)
    files = dict(zip(named, [block.text for block in page('extending').blocks('python')], strict=False))
    assert sorted(files) == ['judge', 'model']
    (tmp_path / 'site' / 'theirs').mkdir(parents=True)
    for name, text in files.items():
        (tmp_path / 'site' / 'theirs' / f'{name}.py').write_text(text, encoding='utf-8')
    monkeypatch.syspath_prepend(tmp_path / 'site')
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.partition('.')[0] == 'theirs']:
        del sys.modules[name]


@pytest.mark.filterwarnings('ignore')
def test_their_model_class_draws_each_sample_with_its_seed(theirs, monkeypatch):
    import_plugin()
    from opencompass.utils import build_model_from_cfg

    from gpassk_opencompass.plugin.seeds import sample_seed

    asked: list[dict[str, Any]] = []

    def urlopen(request: Request) -> BytesIO:
        assert isinstance(request.data, bytes)
        asked.append(json.loads(request.data))
        return BytesIO(b'{"text": "so 7", "finish_reason": "stop", "output_tokens": 2}')

    monkeypatch.setattr(import_module('theirs.model'), 'urlopen', urlopen)
    own = {'path': 'their-7b', 'temperature': 0.5, 'random_seed': 42, 'api_addr': 'http://127.0.0.1:1'}
    rest = {'abbr': 'm', 'max_out_len': 9, 'batch_size': 2, 'run_cfg': {'num_gpus': 0}}
    model = build_model_from_cfg({'type': 'theirs.model.TheirModel', **own, **rest})
    told: list[Any] = []
    seeds = [model.seed_of('q', replica) for replica in range(2)]
    model.sample(['a', 'b'], seeds, 9, lambda number, *answer: told.append(answer))
    assert [(text, generation.output_tokens) for text, generation, _ in told] == [('so 7', 2)] * 2
    assert [one['seed'] for one in asked] == [sample_seed(42, 'q', replica, 31) for replica in range(2)]
    settings = {'max_tokens': 9, 'temperature': 0.5}
    assert asked[0] == {'model': 'their-7b', 'prompt': 'a', 'seed': seeds[0], **settings}


@pytest.mark.parametrize(
    ('judge', 'right', 'said'),
    [
        ('theirs.judge.Nearly', 0.0, ''),
        ('{"type": "theirs.judge.Nearly", "tolerance": 0.01}', 50.0, ''),
        ('{"type": "theirs.judge.Nearly", "width": 2}', None, 'it takes tolerance'),
    ],
    ids=['path', 'arguments', 'argument'],
)
def test_their_judge_judges_by_its_path(theirs, judge, right, said, capsys):
    """2.004 is near enough to 2 or not; what it does not take is refused in a line."""
    rows = {'question': '1 + 1?', 'reference': '2', 'responses': [r'\boxed{2.004}', r'\boxed{3}']}
    (theirs / 'samples.jsonl').write_text(json.dumps(rows))
    code = main(['score', 'samples.jsonl', '--k', '1', '--judge', judge, '-o', 'out.json'])
    assert code == (0 if right is not None else 2)
    assert said in capsys.readouterr().err
    if right is not None:
        record = json.loads((theirs / 'out.json').read_text())
        assert (record['accuracy'], record['gpassk']['judge']['name']) == (right, 'nearly')


def test_a_format_of_ones_own_is_read(tmp_path, monkeypatch):
    """As the page shows it, in a folder with such a file."""
    row = {'name': 'u', 'asked': '1 + 1?', 'key': ' 2 ', 'said': {'text': 'It is 2.'}, 'right': True}
    (tmp_path / 'logs').mkdir()
    (tmp_path / 'logs' / 'a.jsonl').write_text(json.dumps(row))
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    try:
        [shown] = [block.text for block in page('extending').blocks('python') if 'FORMATS[' in block.text]
        exec(shown, found)
    finally:
        FORMATS.pop('quiz', None)
    [run] = found['runs']
    columns = ('uid', 'question', 'reference', 'response', 'verdict')
    assert [run.samples[name][0] for name in columns] == ['u', '1 + 1?', '2', 'It is 2.', 'correct']

"""Samples are kept by content: what a config asks its model for, where an earlier one has drawn of it."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from forks import Forks
from hosts import dataset_config, import_plugin, numbers, results_of, write_bench, write_config

from gpassk_opencompass.demo import MODEL

import_plugin()
from kept_model import ENGINE, FAILS, TRACE, asked  # noqa: E402

pytestmark = pytest.mark.e2e

QUESTIONS = [(f'{i}+{i + 30}=?', '$7$') for i in range(8)]
ODD = {'evaluator': {'type': 'gpassk_opencompass.GPassKEvaluator', 'judge': {'type': 'known_model.OddJudge'}}}


def seeded(**settings: Any) -> dict[str, Any]:
    model = {'type': 'kept_model.SeededModel', 'abbr': 'kept', 'path': MODEL, 'random_seed': 42}
    return {**model, 'max_out_len': 64, 'batch_size': 5, 'run_cfg': {'num_gpus': 0}, **settings}


UNKNOWN = seeded(path='org/unknown')
HOSTED = seeded(type='kept_model.HostedModel')


class Lab:
    """A folder in which configs are run, each in a work directory of its own, with one store beside them."""

    def __init__(self, forks: Forks, root: Path) -> None:
        self.forks, self.root = forks, root
        self.asked: Counter[str] = Counter()
        """Samples that the last run asked its model for."""
        self.said = ''
        """What it printed."""
        write_bench(root / 'data', {'AMC_en': QUESTIONS})

    def run(
        self,
        name: str,
        model: dict[str, Any],
        *options: str,
        variables: dict[str, str] | None = None,
        **data: Any,
    ) -> dict[str, Any] | None:
        """Run a config; its result, if there is one."""
        data = {'k': [2, 4], 'n': 4, **data}
        config = write_config(self.root / f'{name}.py', model, dataset_config(self.root / 'data', **data))
        trace = self.root / f'{name}.trace'
        trace.unlink(missing_ok=True)
        (self.root / '.cache/dataset_size.json').unlink(missing_ok=True)  # which has the rows of another n
        said = self.root / 'said'
        before = len(said.read_text()) if said.exists() else 0
        line = ('opencompass', config, '-w', self.root / 'out' / name, *options)
        told = {TRACE: str(trace), 'GPASSK_REUSE': '', **(variables or {})}
        self.forks.start(*line, folder=self.root, variables=told).wait()
        self.asked, self.said = asked(trace), said.read_text()[before:]
        results = results_of(self.root / 'out' / name)
        return results[-1] if results else None

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of the predictions of a run, of all shards."""
        files = sorted((self.root / 'out' / name).glob('*/predictions/*/*.json'))
        return [row for file in files for row in json.loads(file.read_text()).values()]

    @property
    def files(self) -> list[Path]:
        """Those of the store."""
        return sorted((self.root / 'out/.gpassk/samples').glob('*/*.jsonl'))


@pytest.fixture
def lab(forks: Forks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """With eight questions."""
    monkeypatch.delenv('GPASSK_SAMPLES', raising=False)
    return Lab(forks, tmp_path)


def told_of(result: dict[str, Any] | None) -> dict[str, Any]:
    """What a result says of samples that were taken."""
    assert result is not None
    reused: dict[str, Any] = result['gpassk']['provenance'].get('reused', {})
    return reused


def same(result: dict[str, Any] | None) -> dict[str, Any]:
    """A result without what must differ: moments, names of files, and that samples were taken."""
    assert result is not None
    compared = numbers(result)
    compared['gpassk']['provenance'].pop('reused', None)
    return compared


def responses(rows: list[dict[str, Any]]) -> list[Any]:
    """All that a row says, but who drew it."""
    return [{**row, 'sample': {**row['sample'], 'origin': None}} for row in rows]


def test_a_run_of_16_is_topped_up_to_48(lab: Lab) -> None:
    """The demo's model: 256 samples are asked for, and the record is that of a run that drew all 384."""
    model = {
        'type': 'kept_model.ListedHuggingFace',
        'abbr': 'demo',
        'path': MODEL,
        'model_kwargs': {'torch_dtype': 'torch.float32', 'device_map': 'cpu'},
        'generation_kwargs': {'do_sample': True, 'temperature': 1.0, 'top_p': 1.0, 'top_k': 0},
        'max_seq_len': 2048,
        'max_out_len': 24,
        'batch_size': 16,
        'random_seed': 42,
        'run_cfg': {'num_gpus': 0},
    }
    direct = lab.run('direct', model, n=48, k=[4, 16], variables={'GPASSK_SAMPLES': str(lab.root / 'other')})
    assert (lab.asked.total(), len(lab.asked)) == (384, 384)
    first = lab.run('first', model, n=16, k=[4, 16])
    assert lab.asked.total() == 128
    topped = lab.run('topped', model, n=48, k=[4, 16])
    assert (lab.asked.total(), len(lab.asked)) == (256, 256)
    assert {int(sample.split()[1]) for sample in lab.asked} == set(range(16, 48))
    assert same(topped) == same(direct)
    assert responses(lab.rows('topped')) == responses(lab.rows('direct'))
    assert first is not None
    since = first['gpassk']['provenance']['created']
    reason = 'same engine, a seed each: they are those that would have been drawn'
    origin = {'run': 'first', 'since': since, 'samples': 128, 'why': reason}
    assert told_of(topped) == {'drawn': 256, 'taken': 128, 'from': [origin]}
    assert (told_of(first), told_of(direct)) == ({}, {})


def test_what_does_not_determine_a_sample_asks_for_none(lab: Lab) -> None:
    """Another k list, another judge, fewer replicas, another size of batches."""
    lab.run('first', seeded())
    assert lab.asked.total() == 32
    for name, model, data in (
        ('ks', seeded(), {'k': [1, 2, 3]}),
        ('judge', seeded(), {'eval_cfg': ODD}),
        ('fewer', seeded(), {'n': 2, 'k': 2}),
        ('batches', seeded(batch_size=3), {}),
    ):
        result = lab.run(name, model, **data)
        assert lab.asked.total() == 0, name
        assert told_of(result)['drawn'] == 0
        assert [one['run'] for one in told_of(result)['from']] == ['first']
    assert len(lab.files) == 1


def test_what_determines_a_sample_asks_for_all_anew(lab: Lab) -> None:
    """Temperature, seed, length, path, and the wording of the prompt."""
    lab.run('first', seeded())
    for name, model, data in (
        ('temperature', seeded(temperature=0.5), {}),
        ('greedy', seeded(temperature=0.0), {}),
        ('seed', seeded(random_seed=43), {}),
        ('path', seeded(path='other'), {}),
        ('wording', seeded(), {'cot': False}),
    ):
        result = lab.run(name, model, **data)
        assert lab.asked.total() == 32, name
        assert told_of(result) == {}
    again = lab.run('again', seeded(temperature=0.0))
    assert (lab.asked.total(), told_of(again)['taken']) == (0, 32)


def test_a_question_more_asks_for_its_samples_alone(lab: Lab) -> None:
    """Put before the others, so that all of them have other places."""
    lab.run('first', seeded())
    write_bench(lab.root / 'data', {'AMC_en': [('1+1=?', '$2$'), *QUESTIONS]})
    result = lab.run('more', seeded())
    assert sorted(sample.split()[1] for sample in lab.asked) == ['0', '1', '2', '3']
    assert (told_of(result)['drawn'], told_of(result)['taken']) == (4, 32)
    assert same(result) == same(lab.run('anew', seeded(), variables={'GPASSK_REUSE': 'none'}))
    assert lab.asked.total() == 36


def test_shards_ask_for_what_is_missing_in_each(lab: Lab) -> None:
    """Three of them: rows are kept and missing in all orders, and each is asked for once."""
    lab.run('first', seeded(), n=6, k=2)
    gone = [line for file in lab.files for line in file.read_text().splitlines()[::3]]
    for file in lab.files:
        lines = file.read_text().splitlines(keepends=True)
        file.write_text(''.join(line for line in lines if line.rstrip('\n') not in gone))
    result = lab.run('more', seeded(), '--max-num-workers', '3', n=8, k=2)
    assert lab.asked.total() == len(lab.asked) == 16 + len(gone)
    assert told_of(result)['taken'] == 48 - len(gone)
    direct = lab.run('direct', seeded(), n=8, k=2, variables={'GPASSK_REUSE': 'none'})
    assert same(result) == same(direct)
    # OpenCompass numbers the rows of each shard anew.
    assert responses(lab.rows('more')) == responses(lab.rows('direct'))


def test_what_was_not_drawn_is_asked_for_again(lab: Lab) -> None:
    """No reply came to one replica of each question; the rest is kept."""
    lab.run('first', seeded(), variables={FAILS: '2'}, n=4, k=1)
    assert lab.asked.total() == 32
    result = lab.run('second', seeded())
    assert {sample.split()[1] for sample in lab.asked} == {'2'}
    assert lab.asked.total() == 8
    assert told_of(result)['taken'] == 24


def test_a_server_promises_nothing(lab: Lab) -> None:
    """All of one run are taken; some of it only by word of the user, and then the result warns."""
    lab.run('first', HOSTED)
    whole = lab.run('ks', HOSTED, k=[1, 3])
    assert (lab.asked.total(), told_of(whole)['from'][0]['why']) == (0, 'all of one run, as it drew them')
    assert whole is not None
    assert not whole['gpassk']['provenance']['warnings']
    assert 'bench: they are all of first (20' in lab.said
    assert 'If another checkpoint has this name now, draw anew with --reuse none' in lab.said

    assert lab.run('refused', HOSTED, n=6, k=2) is None
    assert lab.asked.total() == 0
    [line] = re.findall(r'IncompleteError: (.*)', lab.said)[-1:]
    assert 'other runs have drawn 32 of its 48 samples: 32 of first (20' in line
    assert 'is behind a server' in line
    assert '--reuse mix' in line
    assert '--reuse none' in line

    mixed = lab.run('refused', HOSTED, '-r', n=6, k=2, variables={'GPASSK_REUSE': 'mix'})
    assert (lab.asked.total(), told_of(mixed)['drawn'], told_of(mixed)['taken']) == (16, 16, 32)
    assert mixed is not None
    [warning] = mixed['gpassk']['provenance']['warnings']
    assert 'samples of several runs are mixed' in warning
    assert '16 drawn by this run, 32 of first' in warning

    anew = lab.run('anew', HOSTED, n=6, k=2, variables={'GPASSK_REUSE': 'none'})
    assert (lab.asked.total(), told_of(anew)) == (48, {})


def test_weights_that_nothing_identifies_promise_nothing(lab: Lab) -> None:
    """A name that is neither a folder nor in the cache of the hub may be other weights tomorrow."""
    lab.run('first', UNKNOWN)
    lab.run('ks', UNKNOWN, k=3)
    assert lab.asked.total() == 0
    assert lab.run('more', UNKNOWN, n=6, k=2) is None
    assert 'nothing tells which weights it has' in lab.said


def test_two_models_that_servers_call_the_same_share_no_samples(lab: Lab) -> None:
    """Two checkpoints, each served as 'default' in its turn; or two adapters of a server that is started."""
    lab.run('first', seeded(type='kept_model.HostedModel', path='default', abbr='step-1000'))
    lab.run('second', seeded(type='kept_model.HostedModel', path='default', abbr='step-2000'))
    assert lab.asked.total() == 32
    lab.run('again', seeded(type='kept_model.HostedModel', path='default', abbr='step-2000'), k=3)
    assert lab.asked.total() == 0
    lab.run('adapter', seeded(served_name='one'))
    lab.run('other', seeded(served_name='two'))
    assert lab.asked.total() == 32


def test_the_chat_template_that_is_applied_here_counts(lab: Lab) -> None:
    """Of a server that is sent whole prompts: it is in the folder of the tokenizer."""
    template = lab.root / 'tokenizer' / 'chat_template.jinja'
    template.parent.mkdir()
    hosted = {**HOSTED, 'tokenizer_path': str(template.parent)}
    for text, asked_for in (('before', 32), ('before', 0), ('after', 32)):
        template.write_text(text)
        lab.run(f'{text}-{asked_for}', hosted)
        assert lab.asked.total() == asked_for


def test_an_adapter_that_nothing_identifies_promises_nothing(lab: Lab) -> None:
    """Although the weights below it are known."""
    lab.run('first', seeded(peft_path='org/adapter'))
    assert lab.run('more', seeded(peft_path='org/adapter'), n=6, k=2) is None
    assert 'its peft_path is neither here nor in the cache of the hub' in lab.said


def test_shards_of_a_hosted_model_are_not_mixed_one_by_one(lab: Lab) -> None:
    """A shard whose rows are all kept does not take them while others would have to be drawn."""
    lab.run('first', HOSTED, n=4)
    assert lab.run('sharded', HOSTED, '--max-num-workers', '2', n=8, k=2) is None
    assert lab.asked.total() == 0


def test_what_shards_take_of_a_hosted_model_is_decided_for_all(lab: Lab) -> None:
    """Each of two shards finds all of its questions with another earlier run: refused, as without shards."""
    questions = [(f'{i}*{i + 30}=?', '$7$') for i in range(32)]
    for name, part in (('low', questions[:16]), ('high', questions[16:])):
        write_bench(lab.root / 'data', {'AMC_en': part})
        assert lab.run(name, HOSTED, n=1, k=1) is not None
        assert lab.asked.total() == 16
    write_bench(lab.root / 'data', {'AMC_en': questions})
    sharded = ('--max-num-workers', '2')
    for name, options in (('sharded', sharded), ('whole', ())):
        assert lab.run(name, HOSTED, *options, n=1, k=1) is None
        assert lab.asked.total() == 0
        refused = re.findall(r'IncompleteError: (.*)', lab.said)
        assert refused
        for line in refused:
            assert line.startswith('bench: other runs have drawn 32 of its 32 samples: 16 of low (')
            assert '; 16 of high (' in line
    mixed = lab.run('sharded', HOSTED, *sharded, '-r', n=1, k=1, variables={'GPASSK_REUSE': 'mix'})
    assert mixed is not None
    assert lab.asked.total() == 0
    assert [one['run'] for one in told_of(mixed)['from']] == ['low', 'high']
    assert 'samples of several runs are mixed' in mixed['gpassk']['provenance']['warnings'][0]


def test_shards_take_all_of_one_run_of_a_hosted_model(lab: Lab) -> None:
    """Of two that have all the one that began first, in each shard."""
    write_bench(lab.root / 'data', {'AMC_en': [(f'{i}*{i + 30}=?', '$7$') for i in range(32)]})
    for name in ('first', 'second'):
        assert lab.run(name, HOSTED, n=1, k=1, variables={'GPASSK_REUSE': 'none'}) is not None
    taken = lab.run('taken', HOSTED, '--max-num-workers', '2', n=1, k=1)
    assert lab.asked.total() == 0
    assert taken is not None
    assert [one['run'] for one in told_of(taken)['from']] == ['first']
    assert told_of(taken)['taken'] == 32
    assert not taken['gpassk']['provenance']['warnings']


def test_another_version_of_the_engine_is_said_or_refused(lab: Lab) -> None:
    """Nothing of it is mixed in; all of it is taken, with a warning; what was drawn since goes first."""
    lab.run('first', seeded(), variables={ENGINE: '1.0'})
    new = {ENGINE: '2.0'}
    whole = lab.run('ks', seeded(), variables=new, k=3)
    assert lab.asked.total() == 0
    assert whole is not None
    assert told_of(whole)['from'][0]['versions'] == {'engine': '1.0'}
    assert '32 samples of first were drawn with engine 1.0' in whole['gpassk']['provenance']['warnings']
    assert lab.run('more', seeded(), variables=new, n=6, k=2) is None
    assert 'they were drawn with another version of the engine' in lab.said
    assert lab.asked.total() == 0
    lab.run('more', seeded(), variables={**new, 'GPASSK_REUSE': 'none'}, n=6, k=2)
    assert lab.asked.total() == 48
    later = lab.run('later', seeded(), variables=new, n=8, k=2)
    assert lab.asked.total() == 16
    assert [one['run'] for one in told_of(later)['from']] == ['more']


def test_a_damaged_line_costs_one_sample(lab: Lab) -> None:
    """A changed byte in the response of one, the end of the file torn off: both are asked for again."""
    lab.run('first', seeded())
    [file] = lab.files
    lines = file.read_text().splitlines(keepends=True)
    lines[3] = lines[3].replace('boxed', 'bowed')
    file.write_text(''.join(lines)[:-20])
    result = lab.run('second', seeded(), k=3)
    assert lab.asked.total() == 2
    assert '2 damaged lines were skipped' in lab.said
    assert told_of(result)['taken'] == 30


def test_the_store_may_lie_elsewhere_and_only_then_must_be_writable(lab: Lab) -> None:
    """A file in its place is an error that names it where somebody chose it, else a warning."""
    place = lab.root / 'file'
    place.write_text('')
    assert lab.run('named', seeded(), variables={'GPASSK_SAMPLES': str(place)}) is None
    assert f'{place} is a file; a store of samples is a folder' in lab.said
    assert lab.run('below', seeded(), variables={'GPASSK_SAMPLES': str(place / 'store')}) is None
    assert f'cannot write samples to {place}/store' in lab.said
    assert lab.asked.total() == 0
    (lab.root / 'out').mkdir(exist_ok=True)
    (lab.root / 'out/.gpassk').write_text('')
    assert lab.run('beside', seeded()) is not None
    assert lab.asked.total() == 32
    assert 'Samples are not kept now' in lab.said


def test_a_word_that_is_none_is_refused(lab: Lab) -> None:
    """Before anything is drawn."""
    assert lab.run('first', seeded(), variables={'GPASSK_REUSE': 'all'}) is None
    assert "GPASSK_REUSE = 'all': expected one of same, mix, none" in lab.said
    assert lab.asked.total() == 0


def test_other_inferencers_keep_nothing(lab: Lab) -> None:
    """OpenCompass's own knows no samples."""
    data = dataset_config(lab.root / 'data')
    infer = data['infer_cfg']
    infer['inferencer'] = {'type': 'opencompass.openicl.icl_inferencer.GenInferencer'}
    for name in ('first', 'second'):
        model = {**seeded(), 'type': 'scripted.ScriptedModel', 'texts': ['7']}
        assert lab.run(name, model, infer_cfg=infer) is not None
    assert lab.files == []


def test_gpassk_run_says_what_is_taken(lab: Lab) -> None:
    """The table names why nothing was drawn; with --reuse the same line goes on, and the store is no run."""
    lab.run('first', HOSTED)
    config = write_config(
        lab.root / 'more.py', HOSTED, dataset_config(lab.root / 'data', k=2, n=6, abbr='six')
    )
    trace = lab.root / 'more.trace'
    told = {TRACE: str(trace), 'GPASSK_REUSE': ''}

    def gpassk(*line: str | Path) -> tuple[int, str]:
        said = lab.root / 'said'
        before = len(said.read_text())
        copy = lab.forks.start('gpassk', *line, folder=lab.root, variables=told)
        return copy.wait(), said.read_text()[before:]

    code, said = gpassk('run', config, '-w', 'out')
    assert code == 1
    assert 'other runs have drawn 32 of its 48 samples' in said
    assert asked(trace).total() == 0
    assert gpassk('run', config, '-w', 'out', '--reuse', 'mix')[0] == 0
    assert asked(trace).total() == 16
    code, said = gpassk('check', 'out')
    assert '2 runs: 2 complete' in said
    assert '.gpassk' not in said

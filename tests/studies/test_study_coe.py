"""`gpassk study coe`: from a stored run to values, contrasts and a figure; resume; bad input."""

from __future__ import annotations

import csv
import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stored_run import ABBR, DATASET, Run, write_run

from gpassk_opencompass.cli import main
from gpassk_opencompass.demo import MODEL
from gpassk_opencompass.studies.embedding_chain import Chain, chain_of
from gpassk_opencompass.studies.layer_means import LayerMeans

torch = pytest.importorskip('torch', reason='torch is not installed in this environment')
transformers = pytest.importorskip('transformers', reason='transformers is not installed in this environment')

pytestmark = pytest.mark.slow

NAME = f'{ABBR}@{DATASET}'


@pytest.fixture(scope='module')
def tokenizer() -> Any:
    """That of the demo model."""
    return transformers.AutoTokenizer.from_pretrained(MODEL)


def studied(run: Run, *options: str, code: int = 0) -> Path:
    """Study a run on the CPU; return the folder of what was written."""
    out = run.work_dir / 'coe'
    assert main(['study', 'coe', str(run.work_dir), '-o', str(out), '--device', 'cpu', *options]) == code
    return out


def refused(run: Run, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """What the command says when it ends with 2."""
    studied(run, *options, code=2)
    return capsys.readouterr().err


def rows_of(out: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((out / f'{NAME}.csv').read_text('utf-8').splitlines()))


def chain_by_hand(messages: list[dict[str, str]], response: str) -> Chain:
    """The chain of a response from transformers' own hidden states of prompt and response, one by one."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(MODEL)
    model = transformers.AutoModelForCausalLM.from_pretrained(MODEL)
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    start = tokenizer(prompt, add_special_tokens=False)['input_ids']
    ids = start + tokenizer(response, add_special_tokens=False)['input_ids']
    with torch.no_grad():
        states = model(torch.tensor([ids]), output_hidden_states=True).hidden_states
    return chain_of([one[0, len(start) :].numpy().astype(np.float64).mean(0) for one in states])


def test_each_response_has_its_chain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One row a response, as computed one by one without batches, and the files that belong to it."""
    run = write_run(tmp_path, questions=24)
    out = studied(run, '--batch-size', '7')
    rows, predictions = rows_of(out), json.loads(run.predictions.read_text('utf-8'))
    assert [(row['uid'], row['replica']) for row in rows[:3]] == [('q0', '0'), ('q0', '1'), ('q1', '0')]
    assert len(rows) == 48
    for place in (0, 3, 30):
        entry = predictions[str((place % 2) * 24 + place // 2)]
        messages = [{'role': 'user', 'content': entry['origin_prompt'][0]['prompt']}]
        expected = chain_by_hand(messages, entry['prediction'])
        found = [float(rows[place][name]) for name in Chain._fields]
        assert found == pytest.approx(expected, rel=2e-5)
    written = {path.name for path in out.iterdir()}
    assert written == {f'{NAME}{ending}' for ending in ('.csv', '.json', '.png', '.svg', '.values.jsonl')}
    shown = capsys.readouterr().out
    assert '24 correct samples against 24 incorrect samples' in shown
    assert '6 stable questions (2 of 2 correct or more) against 12 unstable questions' in shown


def test_length_alone_tells_nothing_at_equal_length(tmp_path: Path) -> None:
    """Wrong responses of this run are longer: the length tells all, and its residuals nothing."""
    out = studied(write_run(tmp_path))
    found = json.loads((out / f'{NAME}.json').read_text('utf-8'))['contrasts'][0]['numbers']['log tokens']
    assert found['auroc']['estimate'] == 0
    assert found['auroc_of_residuals']['estimate'] == 0.5


def test_a_killed_study_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was computed is not computed again, a torn line is, and the values are those of one go."""
    run = write_run(tmp_path)
    whole = rows_of(studied(run))
    journal = run.work_dir / 'coe' / f'{NAME}.values.jsonl'
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b''.join(lines[:12]) + lines[12][:40])
    (run.work_dir / 'coe' / f'{NAME}.csv').unlink()
    computed, of = [], LayerMeans.of

    def counted(self: LayerMeans, batch: Any) -> Any:
        computed.extend(batch)
        return of(self, batch)

    monkeypatch.setattr(LayerMeans, 'of', counted)
    again = rows_of(studied(run))
    assert len(computed) == len(lines) - 12
    for row, other in zip(whole, again, strict=True):
        for name in Chain._fields:
            assert float(row[name]) == pytest.approx(float(other[name]), rel=1e-6)


def test_equal_responses_are_computed_once(tmp_path: Path) -> None:
    """The copies of a greedy run cost nothing."""
    run = write_run(tmp_path, verdicts=('11', '00'))
    out = studied(run, code=1)  # no question is unstable
    assert len((out / f'{NAME}.values.jsonl').read_text().splitlines()) == 1 + 6 + 12
    assert len(rows_of(out)) == 24


def test_a_journal_of_another_model_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Values of two models are never mixed."""
    run = write_run(tmp_path)
    studied(run)
    told = refused(run, capsys, '--dtype', 'bfloat16')
    assert 'the values there were computed with another dtype' in told


def test_only_some_samples_of_each_question(tmp_path: Path) -> None:
    """The first ones; whether a question is stable, all of them say."""
    rows = rows_of(studied(write_run(tmp_path), '--replicas', '1'))
    assert [row['replica'] for row in rows] == ['0'] * 12


def test_only_the_questions_of_some_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By a pattern; one that fits none is refused with those that are there."""
    run = write_run(tmp_path)
    assert {row['group'] for row in rows_of(studied(run, '--group', '*_en'))} == {'ADD_en'}
    capsys.readouterr()
    assert "no group is called '*_cn'; there are ADD_en" in refused(run, capsys, '--group', '*_cn')


def test_prompts_that_the_engine_counted_are_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tokenizer: Any
) -> None:
    """The chat template is that of the run, or the study ends; `--accept-other` goes on."""

    def counted(prompt: str) -> int:
        messages = [{'role': 'user', 'content': prompt}]
        text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        return len(tokenizer(text, add_special_tokens=False)['input_ids'])

    studied(write_run(tmp_path / 'same', prompt_tokens=counted))
    capsys.readouterr()
    other = write_run(tmp_path / 'other', prompt_tokens=lambda prompt: counted(prompt) + 9)
    told = refused(other, capsys)
    assert '24 of 24 prompts have another number of tokens than the engine counted' in told
    assert len(rows_of(studied(other, '--accept-other'))) == 24


def test_missing_text_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A server that keeps its thoughts counts their tokens all the same."""
    studied(write_run(tmp_path, output_tokens=500))
    assert 'by the record: text is missing' in capsys.readouterr().err


def test_other_weights_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those on record are known by their content."""
    run, folder = write_run(tmp_path), tmp_path / 'weights'
    shutil.copytree(MODEL, folder)
    studied(run, '--model', str(folder))
    capsys.readouterr()
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        model.model.norm.weight += 0.5
    model.save_pretrained(folder)
    shutil.rmtree(run.work_dir / 'coe')
    told = refused(run, capsys, '--model', str(folder))
    assert 'model.safetensors is not the file that the responses were sampled with' in told
    assert len(rows_of(studied(run, '--model', str(folder), '--accept-other'))) == 24


def test_a_model_behind_a_server_must_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The record knows its name alone."""
    run = write_run(tmp_path, model={'path': 'Served-7B'})
    assert 'its model is Served-7B behind a server; give the folder' in refused(run, capsys)
    assert len(rows_of(studied(run, '--model', MODEL))) == 24


@pytest.mark.parametrize(
    ('verdicts', 'missing'),
    [
        (('00',), ['no correct samples', 'no stable questions']),
        (('11',), ['no incorrect samples', 'no unstable questions']),
        (('01',), ['no stable questions']),
    ],
    ids=['none correct', 'all correct', 'none stable'],
)
def test_one_kind_alone_has_values_and_no_contrast(
    verdicts: tuple[str, ...], missing: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 1, and why is said."""
    out = studied(write_run(tmp_path, verdicts=verdicts), code=1)
    told = capsys.readouterr().err
    assert all(f'no contrast, there are {one}' in told for one in missing)
    assert len(rows_of(out)) == 24


def test_one_correct_response_has_no_interval(tmp_path: Path) -> None:
    """An estimate stands there with the reason."""
    run = write_run(tmp_path, questions=24, verdicts=('10', *['00'] * 23))
    out = studied(run, code=1)
    found = json.loads((out / f'{NAME}.json').read_text('utf-8'))['contrasts'][0]
    assert found['sizes'] == [1, 47]
    auroc = found['numbers']['coe_r']['auroc']
    assert auroc['refused'] == 'one kind from 1.0 problems in effect, fewer than 6'
    assert auroc['low'] is None


def damaged(change: Callable[[dict[str, Any]], object]) -> Callable[[Run], None]:
    return lambda run: run.edit(change)


BAD: dict[str, tuple[Callable[[Run], object], str]] = {
    'no sample file': (
        lambda run: run.result.with_name(f'{DATASET}.samples.parquet').unlink(),
        'does not say where its responses are',
    ),
    'no predictions': (lambda run: run.predictions.unlink(), 'the responses of this run, cannot be read'),
    'no JSON': (lambda run: run.predictions.write_text('{'), 'the responses of this run, cannot be read'),
    'another response': (
        damaged(lambda rows: rows['3'].update(prediction='new')),
        'row 3: the response has 3 characters',
    ),
    'no text': (damaged(lambda rows: rows['3'].update(prediction=['a'])), "row 3: prediction is ['a']"),
    'no prompt': (damaged(lambda rows: rows['3'].pop('origin_prompt')), 'row 3: origin_prompt is None'),
    'odd prompt': (damaged(lambda rows: rows['3'].update(origin_prompt=[7])), 'row 3: origin_prompt is [7]'),
    'no result': (lambda run: run.result.unlink(), 'no result of G-Pass@k'),
}


@pytest.mark.parametrize('name', BAD)
@pytest.mark.filterwarnings('ignore')
def test_what_cannot_be_studied_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a line that names the file and the row."""
    run, (change, expected) = write_run(tmp_path), BAD[name]
    change(run)
    told = refused(run, capsys)
    assert expected in told
    assert not (run.work_dir / 'coe').exists()


def test_a_model_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody asks the hub for a folder."""
    told = refused(write_run(tmp_path), capsys, '--model', str(tmp_path / 'none'))
    assert f'there is no folder {tmp_path / "none"}' in told


def test_a_tokenizer_without_a_chat_template_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tokenizer: Any
) -> None:
    """What the model was asked is then not known."""
    folder = tmp_path / 'plain'
    shutil.copytree(MODEL, folder)
    settings = json.loads((folder / 'tokenizer_config.json').read_text('utf-8'))
    del settings['chat_template']
    (folder / 'tokenizer_config.json').write_text(json.dumps(settings), encoding='utf-8')
    told = refused(write_run(tmp_path / 'run'), capsys, '--tokenizer', str(folder))
    assert 'the tokenizer has no chat template' in told


@pytest.mark.parametrize('options', [['--stable', '1.5'], ['--level', '1']], ids=['stable', 'level'])
def test_numbers_out_of_range_are_refused(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before the model is loaded."""
    assert refused(write_run(tmp_path), capsys, *options)


def test_samples_that_were_not_drawn_are_left_out(tmp_path: Path) -> None:
    """There is no response of the model; of a run without any there is nothing to study."""
    run = write_run(tmp_path, state='failed')
    assert main(['study', 'coe', str(run.work_dir), '-o', str(run.work_dir / 'coe')]) == 2


def test_logarithms_are_natural() -> None:
    """`log tokens` is ln of `output_tokens`."""
    from gpassk_opencompass.studies.coe import Value
    from gpassk_opencompass.studies.layer_means import Tokens
    from gpassk_opencompass.studies.stored import Asked, Stored

    stored = Stored('q', 0, 'p', 'g', 'correct', [], 'text', None, None)
    value = Value(Asked(stored, Tokens([1], [2, 3, 4])), Chain(1, 2, 3, 4))
    assert value.numbers[-1] == math.log(3)

"""A run whose prompts have examples from another file goes on with those that it began with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hosts import import_plugin

from gpassk_opencompass import IncompleteError

plugin = import_plugin()


class Stops(Exception):
    """The end of a task in the middle of its work."""


def few_shot_run(folder: Path, shots: Sequence[str], batches: int) -> None:
    """Sample four rows behind two examples, a row a batch; stop after so many batches."""
    from datasets import Dataset, DatasetDict
    from opencompass.openicl import DatasetReader, PromptTemplate
    from opencompass.openicl.icl_retriever import FixKRetriever
    from scripted import ScriptedModel

    class Model(ScriptedModel):
        def sample(self, *given: Any, **more: Any) -> None:
            if self._asked == batches:
                raise Stops
            super().sample(*given, **more)

    test = {'question': ['What is 1?', 'What is 2?'] * 2, 'answer': ['1', '2'] * 2}
    test |= {'uid': ['a', 'b'] * 2, 'replica': [0, 0, 1, 1]}  # type: ignore[dict-item]
    rows = {
        'train': Dataset.from_dict({'question': shots, 'answer': ['7'] * 2}),
        'test': Dataset.from_dict(test),
    }
    reader = DatasetReader(DatasetDict(rows), input_columns=['question'], output_column='answer')
    data = type(
        'Data', (), {'reader': reader, 'train': reader.dataset['train'], 'test': reader.dataset['test']}
    )
    inferencer = plugin.SeededGenInferencer(Model(), max_out_len=8, batch_size=1)
    inferencer.inference(
        FixKRetriever(data, fix_id_list=[0, 1]),
        ice_template=PromptTemplate('{question} {answer}'),
        prompt_template=PromptTemplate('</E>{question}', ice_token='</E>'),
        output_json_filepath=str(folder),
        output_json_filename='bench.json',
    )


def test_other_examples_half_way_are_refused(tmp_path: Path) -> None:
    """Else one half of the samples would be drawn behind these, and the other behind those."""
    with pytest.raises(Stops):
        few_shot_run(tmp_path, ['What is 7?', '7 is what?'], batches=2)
    with pytest.raises(IncompleteError, match='another prompt'):
        few_shot_run(tmp_path, ['What is 7?', 'Or 7?'], batches=2)
    few_shot_run(tmp_path, ['What is 7?', '7 is what?'], batches=2)
    rows = json.loads((tmp_path / 'bench.json').read_text()).values()
    assert ['7 is what?' in row['origin_prompt'] for row in rows] == [True] * 4

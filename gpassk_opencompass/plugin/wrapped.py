"""Any evaluator of OpenCompass as the judge: one verdict a row from its details."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from datasets import Dataset
from opencompass.registry import ICL_EVALUATORS

from ..errors import InputError
from ..marks import plain
from ..record import digest_of

LABELS = ('cascade_correct', 'correct', 'is_correct')
"""Where details carry a verdict."""

REFUSED = {
    'LiveMathBenchEvaluator': 'it keeps verdicts by row number and takes them up again for another judge; '
    "write judge=dict(type='llm', …) or model_name and url"
}


class WrappedEvaluator:
    """Asks another evaluator for one replica after another and reads verdicts from its `details`.

    Each replica is scored by an evaluator of its own with an output folder of its own, named after the
    evaluator's config and the replica's responses: nothing that one keeps (class attributes, resume files)
    reaches another. A row's verdict is its detail's `cascade_correct`, `correct` or `is_correct`; where that
    is None, the row is unjudged.

    Args:
        config: `dict(type=…, …)` as in `eval_cfg`.

    Raises:
        InputError: no such evaluator, or arguments that it does not take.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        if not isinstance(config, Mapping) or not config.get('type'):
            raise InputError(f"evaluator = {config!r}: expected dict(type='…', …) as in eval_cfg")
        kind = config['type']
        name = kind.__name__ if isinstance(kind, type) else str(kind).rpartition('.')[2]
        if name in REFUSED:
            raise InputError(f'evaluator {name}: {REFUSED[name]}')
        self._config = config
        evaluator = self._build()
        self.score = evaluator.score
        """OpenCompass hands over what this method's signature names."""
        self._name = type(evaluator).__name__
        self._digest = digest_of([type(evaluator).__module__, plain(config)])[:12]
        self._results: defaultdict[str, list[float]] = defaultdict(list)

    def verdicts(
        self, replica: Sequence[int], folder: Path | None, score_kwargs: Mapping[str, Any]
    ) -> dict[str, list[str]]:
        """Return verdict and answer of each row, and who judged, as columns of `samples.Samples`.

        Args:
            replica: of each row.
            folder: where an evaluator that writes files may do so.
            score_kwargs: the arguments of its `score`, an entry a row.

        Raises:
            InputError: it reports an error, or its details carry no verdict for each row.
        """
        verdicts, answers = ['unjudged'] * len(replica), [''] * len(replica)
        for number in sorted(set(replica)):
            rows = [row for row, its in enumerate(replica) if its == number]
            for row, detail in zip(rows, self._details(number, rows, folder, score_kwargs), strict=True):
                label = self._label_of(detail)
                if label is not None:
                    verdicts[row] = 'correct' if label else 'incorrect'
                # What the evaluator took for the answer, to be shown.
                inner = detail.get('rule_evaluation', detail)
                shown = map(inner.get, ('parsed', 'pred', 'prediction')) if isinstance(inner, Mapping) else ()
                answers[row] = next((text for text in shown if isinstance(text, str)), '')
        return {'verdict': verdicts, 'answer': answers, 'judged_by': [self._name] * len(replica)}

    def identity(self) -> dict[str, Any]:
        """Return the evaluator's name and a hash of its config, without any key."""
        return {'name': self._name, 'config': self._digest}

    def statistics(self) -> dict[str, float]:
        """Return what the evaluator reported itself, the mean over the replicas."""
        return {name: sum(values) / len(values) for name, values in self._results.items()}

    def _build(self) -> Any:
        try:
            return ICL_EVALUATORS.build(deepcopy(dict(self._config)))
        except (KeyError, TypeError, ImportError) as error:
            told = f'evaluator {plain(self._config)!r} cannot be built: {type(error).__name__}: {error}'
            raise InputError(told) from error

    def _details(
        self, number: int, rows: Sequence[int], folder: Path | None, score_kwargs: Mapping[str, Any]
    ) -> Sequence[Any]:
        """Have a replica scored; return a detail a row."""
        evaluator = self._build()
        evaluator._dataset_replica_idx = number
        arguments: dict[str, Any] = {}
        for name, value in score_kwargs.items():
            own = value.select(rows) if isinstance(value, Dataset) else value
            arguments[name] = [value[row] for row in rows] if isinstance(value, Sequence) else own
        if folder is not None:
            # Of a data set its columns, since reading row by row takes minutes.
            told = {
                name: value.to_dict() if isinstance(value, Dataset) else list(value)
                for name, value in arguments.items()
                if isinstance(value, Iterable)
            }
            evaluator._out_dir = str(folder / f'replica_{number}-{digest_of([self._digest, told])[:12]}')
        if 'predictions' in arguments:
            arguments['predictions'] = evaluator.pred_postprocess(arguments['predictions'])
        result = evaluator.score(**arguments)
        given = result if isinstance(result, Mapping) else {'error': f'its score gave {result!r}'}
        for name, value in given.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                self._results[name].append(float(value))
        details, why = given.get('details'), given.get('error')
        if details is None and 'error' not in given:
            why = (
                'it gives no details, so nobody knows which samples are correct; take one that does, e.g. '
                'AccwithDetailsEvaluator in the place of AccEvaluator'
            )
        if isinstance(details, Mapping):  # numbered '0', '1', …
            numbers = list(map(str, range(len(rows))))
            details = [details[one] for one in numbers] if set(details) == set(numbers) else None
        if why or not isinstance(details, Sequence) or len(details) != len(rows):
            what = f'expected details with an entry for each of the {len(rows)} rows of a replica, got others'
            raise InputError(f'evaluator {self._name}: {why or what}')
        return details

    def _label_of(self, detail: Any) -> Any:
        """Return the verdict of one detail; InputError if it carries none."""
        fields = detail if isinstance(detail, Mapping) else {}
        # CascadeEvaluator leaves the label out where the rules accepted every row of a replica.
        inner = fields.get('rule_evaluation')
        for one in (fields, inner if isinstance(inner, Mapping) else {}):
            for name in LABELS:
                if name in one and one[name] in (None, 0, 1):
                    return one[name]
                if name in one:
                    told = f'a detail says {one[name]!r}; G-Pass@k needs True or False'
                    raise InputError(f'evaluator {self._name}: {told}')
        raise InputError(
            f'the details carry none of {", ".join(LABELS)}, only {sorted(fields) or type(detail).__name__}; '
            'such an evaluator cannot judge for G-Pass@k (GenericLLMEvaluator needs a dict_postprocessor '
            'that adds `correct`)'
        )

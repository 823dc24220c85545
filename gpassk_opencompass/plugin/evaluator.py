"""The G-Pass@k evaluator for OpenCompass."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from copy import deepcopy
from importlib.metadata import version
from pathlib import Path
from typing import Any

from datasets import Dataset
from opencompass.openicl.icl_evaluator import BaseEvaluator
from opencompass.registry import ICL_EVALUATORS
from opencompass.utils import build_dataset_from_cfg, get_infer_output_path, get_logger

from ..errors import IncompleteError, InputError
from ..files import mapping
from ..health import generation_columns
from ..judges import build_judge, judge_config, refuse_extraction, served_judge, with_verdicts
from ..marks import (
    evaluation_settings,
    files_of,
    first_difference,
    plain,
    read_keep,
    read_notes,
    servers_told,
    settings_of,
)
from ..metrics import DEFAULT_THRESHOLDS, metrics_of
from ..predictions import load_predictions, reopen
from ..record import Names, digest_of, write
from ..samples import Samples
from ..scoring import score
from ..serving import choosing, read_judge_server, server
from ..text import whole_characters
from .dataset import LIMITS
from .rows import check_by_place, samples_asked, samples_of, uids_of
from .seeds import current_task

HOST_PACKAGES = ('opencompass', 'numpy', 'datasets', 'transformers', 'torch')
LABELS = ('cascade_correct', 'correct', 'is_correct')
"""Where the details of another evaluator carry a verdict."""

REFUSED = {
    'LiveMathBenchEvaluator': 'it keeps verdicts by row number and takes them up again for another judge; '
    "write judge=dict(type='llm', …) or model_name and url"
}


@ICL_EVALUATORS.register_module()
class GPassKEvaluator(BaseEvaluator):  # type: ignore[misc]
    """Judges all n × Q responses together and reports G-Pass@k, mG-Pass@k, pass@k and accuracy.

    The result holds percentages under the published keys, the same for each `{split}_{language}/`,
    `details` (a column each, a question an entry) and `gpassk`, see `gpassk_opencompass.record.Result`. With
    n = 1 it is the accuracy.

    Args:
        model_name, url: of an LLM judge, as for OpenCompass's own evaluator; short for
            `judge=dict(type='llm', model=model_name, urls=url)`. Its verdicts are kept in
            `<work_dir>/<time>/verdicts`, so that a stopped evaluation asks, with -r, for the rest only.
        thresholds: the τ of G-Pass@k_τ.
        judge: `dict(type='rule' | 'llm' | 'cascade', …)`, or the dotted path of any class with the methods
            of `judges.Judge`; default: the rule judge.
        judge_serve: how a server is started for the LLM judge, see `serving.read_judge_server`; the judge
            then says neither model nor urls.
        evaluator: `dict(type=…)` of another evaluator of OpenCompass, see `WrappedEvaluator`, for any data
            set that it can score; instead of a judge.
        unjudged_tolerance: the largest share of samples that may stay unjudged.
        pred_postprocessor: see OpenCompass; applied to each response before anything else.
        use_extract_model, extract_url, extract_model_name: of OpenCompass's own evaluator; no model extracts
            answers here, so True is refused.
        keep: of 'questions', 'references', 'settings': what may have changed since the samples were drawn, as
            ['references'] to judge them by corrected reference answers; with those that $GPASSK_KEEP names.

    Raises:
        InputError: what cannot judge, or be judged.
        IncompleteError: predictions are missing, were changed, or are of other questions, references or
            settings than data set and config have now; or too many samples stayed unjudged. No result file
            is written then, and the same command with -r tries again.
    """

    def __init__(
        self,
        model_name: str = '',
        url: str | Sequence[str] = (),
        thresholds: Sequence[float] = DEFAULT_THRESHOLDS,
        judge: Mapping[str, Any] | None = None,
        evaluator: Mapping[str, Any] | None = None,
        unjudged_tolerance: float = 0.01,
        pred_postprocessor: Any = None,
        keep: Sequence[str] = (),
        use_extract_model: bool = False,
        extract_url: str | Sequence[str] = (),
        extract_model_name: str = '',
        judge_serve: Mapping[str, Any] | None = None,
    ) -> None:
        refuse_extraction(use_extract_model)
        super().__init__(pred_postprocessor=pred_postprocessor)
        self._keep = read_keep(keep)
        if not isinstance(thresholds, (list, tuple)):
            raise InputError(f'thresholds = {thresholds!r}: expected a list of numbers from 0 to 1')
        metrics_of(1, thresholds)  # refuses
        if type(unjudged_tolerance) not in (int, float) or not 0 <= unjudged_tolerance <= 1:
            raise InputError(f'unjudged_tolerance = {unjudged_tolerance!r}: expected a share from 0 to 1')
        self._settings = {'thresholds': tuple(thresholds), 'unjudged_tolerance': unjudged_tolerance}
        given: dict[str, Any] = {'evaluator': evaluator, 'judge_serve': judge_serve, 'judge': judge}
        given |= {'model_name': model_name or None, 'url': url or None}
        first, *rivals = [name for name, value in given.items() if value is not None] or ['']
        if first == 'judge_serve' and 'judge' in rivals:  # which says how the served model judges
            rivals.remove('judge')
        if rivals and first in ('evaluator', 'judge_serve'):
            raise InputError(f'both {first} and a judge ({", ".join(rivals)}) are given: give one of them')
        self._wrapped = None if evaluator is None else WrappedEvaluator(evaluator)
        self._server = None if judge_serve is None else read_judge_server(judge_serve)
        if self._wrapped is not None:
            self.score = self._wrapped.score  # type: ignore[method-assign] # OpenCompass asks for its parameters
        elif self._server is not None:
            served_judge(judge, self._server.name, 'http://127.0.0.1', self._server.settings())  # refuses
            self._judge = dict(judge or {})
        else:
            self._judge = judge_config(model_name, url, judge)

    def score(self, predictions: Any, references: Any, test_set: Any) -> dict[str, Any]:
        """Score for a caller that knows no n: there are as many samples a question as rows."""
        n = max(Counter(uids_of(test_set)).values(), default=1)
        return self.evaluate(n, n, test_set, predictions=predictions, references=references)

    def evaluate(
        self, k: int | Sequence[int], n: int, original_dataset: Any, **score_kwargs: Any
    ) -> dict[str, Any]:
        """Score the predictions; `score_kwargs` is all that `score` names.

        Returned is the content of a result file, which OpenCompass writes once more: where it has said where
        results go, that file and the one of its samples are written here, as a pair.
        """
        # `<work_dir>/<time>/results/<model>/<dataset>`; None for another caller than OpenCompass.
        out = Path(self._out_dir) if hasattr(self, '_out_dir') else None
        columns, provenance = dict[str, Any](), dict[str, Any]()
        if out is not None and (task := current_task()) is not None:
            # Responses are taken from the files, each row wherever it lies; OpenCompass pairs them by number.
            texts, columns, provenance = self._drawn(task, out, original_dataset)
            score_kwargs['predictions'] = task._process_predictions(texts)
            del texts  # judging may take hours
        samples = self._samples(original_dataset, score_kwargs, columns)
        names = Names(host='opencompass', created=str(provenance.get('created', '')))
        if out is not None:  # called as the folders are in which OpenCompass has the result
            model = out.parent.relative_to(_results(out)).as_posix()
            names = names.model_copy(update={'model': model, 'dataset': out.name})
        settings: dict[str, Any] = {**self._settings, 'n': n, 'k': k, 'names': names}
        settings['versions'] = {package: version(package) for package in HOST_PACKAGES}
        if self._wrapped is not None:
            verdicts = self._wrapped.verdicts(samples['replica'], out, score_kwargs)
            result = score(samples.replace(**verdicts), self._wrapped.identity, answers=None, **settings)
        else:
            with self._judge_settings(out) as config, closing(build_judge(config)) as judge:
                result = score(samples, judge, **settings)
        result.provenance = provenance
        if {'source', 'uid'} <= set(original_dataset.column_names):
            result.data.sources = list(dict.fromkeys(original_dataset['source']))
        if LIMITS in original_dataset.column_names and len(original_dataset):
            result.limited = json.loads(original_dataset[0][LIMITS])
        if out is not None:
            write(out.with_name(f'{out.name}.json'), result)
        return result.as_json()

    def _samples(self, rows: Any, given: dict[str, Any], columns: Mapping[str, Any]) -> Samples:
        """Return the samples to score, and put their texts into `given`; refuse what is no text a row."""
        texts = given['predictions'] or []
        for process in (list, self.pred_postprocess):
            texts = process(texts)
            if bad := [row for row, text in enumerate(texts) if not isinstance(text, str)]:
                raise InputError(
                    f'{len(bad)} of {len(texts)} responses are no text, the first in row {bad[0]} '
                    f'({type(texts[bad[0]]).__name__}): check num_return_sequences and the postprocessors, '
                    'and generate the missing rows again'
                )
        foreign = self._wrapped is not None  # it may write them to files that hold no half of a character
        given['predictions'] = whole_characters(texts) if foreign else texts
        for value in given.values():
            if isinstance(value, Sequence) and len(value) != len(rows):
                short = f'{len(value)} predictions for {len(rows)} rows, so no result was written'
                raise IncompleteError(f'{short}: run the same command with -r, which draws what is missing')
        return samples_of(rows, given['predictions'], given.get('references'), columns, any_rows=foreign)

    @contextmanager
    def _judge_settings(self, out: Path | None) -> Iterator[Mapping[str, Any]]:
        """Give the config of the judge, whose server lives as long as the block if it is started here."""
        work = None if out is None else _results(out).parent
        with ExitStack() as stack:
            config: Mapping[str, Any] = self._judge
            if self._server is not None:
                logs = (work or Path.cwd()) / 'logs' / 'server'
                running = stack.enter_context(server(self._server, logs, get_logger().info))
                # Not before: the server may have brought the weights here.
                weights = files_of({'path': self._server.path}).get('path') or self._server.path
                mark = digest_of([weights, choosing(self._server.serve.config())])[:16]
                settings = {**self._server.settings(), 'server_digest': mark}
                config = served_judge(self._judge or None, self._server.name, running.addresses, settings)
            yield config if work is None else with_verdicts(config, str(work / 'verdicts'))

    def _drawn(self, task: Any, out: Path, rows: Any) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
        """Read the responses of a task, columns of what is told of each, and the provenance of all.

        They are checked to be of its data and its config.
        """
        model, dataset = task.model_cfg, task.dataset_cfg
        settings, reader = settings_of(model, dataset), dataset['reader_cfg']
        if 'dataset_postprocessor' in (dataset.get('eval_cfg') or {}):
            rows = build_dataset_from_cfg(dataset).test  # its references are others than those of the samples
        inputs, output = reader['input_columns'], reader.get('output_column')
        inputs = inputs.split() if isinstance(inputs, str) else inputs
        samples = samples_asked(rows, inputs, output, settings, out.name)
        predictions = Path(get_infer_output_path(model, dataset, str(Path(task.work_dir, 'predictions'))))
        found = load_predictions(predictions, samples, settings, self._keep)
        files = [row.path.name for row in found.rows]
        tasks = [row.marks.get('task') for row in found.rows]
        if files and tasks[0] is None:
            if len(files) != len(rows):
                held = ', '.join(f'{name} has {count}' for name, count in Counter(files).items())
                raise IncompleteError(
                    f'{len(files)} predictions for {len(rows)} rows ({held}), so no result was written: run '
                    'the same command with -r and the --max-num-workers of the start; if there are too many, '
                    'the data set was longer when they were sampled'
                )
            check_by_place(found, rows, [one.reference for one in samples], settings['inference'], self._keep)
        elif self._wrapped is not None and files != sorted(files):
            reopen(predictions)  # others take what OpenCompass hands over, by number
            raise IncompleteError(f'{out.name}: its shards are not those of this command: run it with -r')
        today = files_of(mapping(found.settings.get('model')))
        for source in found.sources if 'settings' not in self._keep else ():
            was = mapping(source.get('files'))
            local = {name: then for name, then in was.items() if name in today and 'commit' not in then}
            if changed := first_difference(local, {name: today[name] for name in local}):
                raise IncompleteError(
                    f'{predictions.name}: samples were drawn with files{changed}. Go back to these, or start '
                    "anew in another work directory; to score them all the same: keep=['settings'] of "
                    'GPassKEvaluator'
                )
        notes = read_notes(predictions.parent)
        servers, several = servers_told(notes)
        warnings = [*found.warnings, *several]
        for warning in warnings:
            get_logger().warning(f'{out.name}: {warning}')
        taken = (row.marks.get('taken_from') for row in found.rows)
        known = {
            'created': notes.created,
            'servers': servers,
            'taken': dict(Counter(filter(None, taken))),
            'hardware': ' and '.join(notes.hardware),
        }
        provenance = {
            **found.settings,
            **(found.sources[0] if found.sources else {}),
            **{name: value for name, value in known.items() if value},
            'evaluation': evaluation_settings(dataset),
            'samples': digest_of(tasks) if all(tasks) else '',
            'warnings': warnings,
        }
        places = {path: os.path.relpath(path, out.parent) for path in {row.path for row in found.rows}}
        seeds = (mapping(row.told.get('sample')).get('seed') for row in found.rows)
        columns = {
            **generation_columns([row.generation for row in found.rows]),
            'seed': [seed if type(seed) is int and 0 <= seed < 2**63 else None for seed in seeds],
            'fingerprint': tasks,
            'file': [places[row.path] for row in found.rows],
            'row': [row.number + 1 for row in found.rows],
        }
        return [row.told.get('prediction') for row in found.rows], columns, provenance


def _results(out: Path) -> Path:
    """Return `<work_dir>/<time>/results`; a model with a `/` in its name has a folder in a folder there."""
    return next((above for above in out.parents[1:] if above.name == 'results'), out.parents[1])


class WrappedEvaluator:
    """Asks another evaluator for one replica after another and reads verdicts from its `details`.

    Each replica is scored by an evaluator of its own with an output folder of its own, named after the
    evaluator's config and the replica's responses: nothing that one keeps (class attributes, resume files)
    reaches another. A row's verdict is its detail's `cascade_correct`, `correct` or `is_correct`; where that
    is None, the row is unjudged.

    Raises:
        InputError: `config`, `dict(type=…, …)` as in `eval_cfg`, names no evaluator, or arguments that it
            does not take.
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
        self._name, module = type(evaluator).__name__, type(evaluator).__module__
        self.identity = {'name': self._name, 'config': digest_of([module, plain(config)])[:12]}
        """Its name and a hash of its config, without any key."""

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
                if (label := self._label_of(detail)) is not None:
                    verdicts[row] = 'correct' if label else 'incorrect'
                # What the evaluator took for the answer, to be shown.
                inner = mapping(detail.get('rule_evaluation', detail))
                shown = map(inner.get, ('parsed', 'pred', 'prediction'))
                answers[row] = next((text for text in shown if isinstance(text, str)), '')
        return {'verdict': verdicts, 'answer': answers, 'judged_by': [self._name] * len(replica)}

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
            mark = digest_of([self.identity, told])[:12]
            evaluator._out_dir = str(folder / f'replica_{number}-{mark}')
        if 'predictions' in arguments:
            arguments['predictions'] = evaluator.pred_postprocess(arguments['predictions'])
        result = evaluator.score(**arguments)
        given = result if isinstance(result, Mapping) else {'error': f'its score gave {result!r}'}
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
        fields = mapping(detail)
        # CascadeEvaluator leaves the label out where the rules accepted every row of a replica.
        for one in (fields, mapping(fields.get('rule_evaluation'))):
            for name in filter(one.__contains__, LABELS):
                if one[name] not in (None, 0, 1):
                    told = f'a detail says {one[name]!r}; G-Pass@k needs True or False'
                    raise InputError(f'evaluator {self._name}: {told}')
                return one[name]
        raise InputError(
            f'the details carry none of {", ".join(LABELS)}, only {sorted(fields) or type(detail).__name__}; '
            'such an evaluator cannot judge for G-Pass@k (GenericLLMEvaluator needs a dict_postprocessor '
            'that adds `correct`)'
        )

"""The G-Pass@k evaluator for OpenCompass."""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from opencompass.openicl.icl_evaluator import BaseEvaluator
from opencompass.registry import ICL_EVALUATORS
from opencompass.utils import build_dataset_from_cfg, get_infer_output_path, get_logger

from ..errors import IncompleteError, InputError
from ..files import mapping, read_json
from ..judges.build import build_judge, judge_config, refuse_extraction, served_judge, with_verdicts
from ..marks import (
    current_task,
    difference,
    evaluation_settings,
    files_of,
    kept,
    read_notes,
    servers_told,
    settings_of,
)
from ..metrics import DEFAULT_THRESHOLDS, metric_names
from ..predictions import Predictions, load_predictions, reopen, results_above
from ..record import Names, Result, digest_of, remove_samples, write_samples
from ..scoring import score
from ..serving import Served, read_judge_server, server
from ..text import whole_characters
from .dataset import LIMITS
from .rows import check_by_place, samples_asked, samples_of, uids_of
from .wrapped import WrappedEvaluator

_FROZEN = gc.get_freeze_count()
"""Some versions of Python begin with a few."""

HOST_PACKAGES = ('opencompass', 'numpy', 'datasets', 'transformers', 'torch')


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
            then says neither model nor urls, and is `dict(type='llm')` by default. Evaluations share it.
        evaluator: `dict(type=…)` of another evaluator of OpenCompass whose details carry `correct`,
            `is_correct` or `cascade_correct`, for any data set that it can score; instead of a judge.
        unjudged_tolerance: the largest share of samples that may stay unjudged.
        pred_postprocessor: see OpenCompass; applied to each response before anything else.
        use_extract_model, extract_url, extract_model_name: of OpenCompass's own evaluator; no model extracts
            answers here, so True is refused.
        keep: of 'questions', 'references', 'settings': what may have changed since the samples were drawn, as
            ['references'] to judge them by corrected reference answers; with those that $GPASSK_KEEP names.

    Raises:
        InputError: a model that should extract answers, responses that are no text, or a data set whose rows
            cannot be told apart.
        IncompleteError: predictions are missing, were changed, or are of other questions, references or
            settings than data set and config have now; or too many samples stayed unjudged. As it is raised,
            no result file is written, and the same command with -r tries again.
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
        self._keep = kept(keep)
        _check_settings(thresholds, unjudged_tolerance)
        self._settings: dict[str, Any] = {
            'thresholds': tuple(thresholds),
            'unjudged_tolerance': unjudged_tolerance,
        }
        self._wrapped = None if evaluator is None else WrappedEvaluator(evaluator)
        self._server = None if judge_serve is None else read_judge_server(judge_serve)
        if self._wrapped is None:
            self._judge = _checked_judge(model_name, url, judge, self._server)
        elif judge is not None or model_name or url or self._server:
            raise InputError(
                'both evaluator and a judge (judge, judge_serve, model_name, url) are given: give one of them'
            )
        else:
            self.score = self._wrapped.score  # type: ignore[method-assign] # OpenCompass asks for its parameters

    def evaluate(
        self, k: int | Sequence[int], n: int, original_dataset: Any, **score_kwargs: Any
    ) -> dict[str, Any]:
        """Score the predictions, as OpenCompass asks for with everything that `score` names.

        Returns:
            The content of a result file, which OpenCompass writes. The file of its samples is written here,
            where OpenCompass has said where results go.
        """
        with _imports_uncollected():
            result = self._evaluate(k, n, original_dataset, score_kwargs)
        if (out := self._out()) is not None:
            _write_samples(out.with_name(f'{out.name}.json').resolve(), result)
        return result.as_json()

    def _evaluate(self, k: int | Sequence[int], n: int, rows: Any, given: dict[str, Any]) -> Result:
        out, told, provenance = self._out(), {}, {}
        if out is not None and (task := current_task()) is not None:
            # Responses are taken from the files, each row wherever it lies; OpenCompass pairs them by number.
            found = self._found(task, out, rows)
            provenance = _provenance(found, task, out)
            given['predictions'] = task._process_predictions(found.responses)
            found.responses = []
            told = found.columns(out)
            del found  # judging may take hours
        given['predictions'] = _texts(self.pred_postprocess(_texts(given['predictions'] or [])))
        for value in given.values():
            if isinstance(value, Sequence) and len(value) != len(rows):
                raise IncompleteError(
                    f'{len(value)} predictions for {len(rows)} rows, so no result was written: run the same '
                    'command with -r, which draws what is missing'
                )
        versions = {package: version(package) for package in HOST_PACKAGES}
        names = _names(out, str(provenance.get('created', '')))
        settings: dict[str, Any] = {**self._settings, 'n': n, 'k': k, 'versions': versions, 'names': names}
        if self._wrapped is not None:
            result = self._score_wrapped(self._wrapped, rows, given, told, settings)
        else:
            result = self._score_judged(rows, given, told, settings)
        result.provenance = provenance
        if {'source', 'uid'} <= set(rows.column_names):
            result.data.sources = list(dict.fromkeys(rows['source']))
        if LIMITS in rows.column_names and len(rows):
            result.limited = json.loads(rows[0][LIMITS])
        return result

    def _found(self, task: Any, out: Path, rows: Any) -> Predictions:
        """Read the predictions of a task, and check that they are of its data and its config."""
        model, dataset = task.model_cfg, task.dataset_cfg
        settings, reader = settings_of(model, dataset), dataset['reader_cfg']
        postprocessed = 'dataset_postprocessor' in (dataset.get('eval_cfg') or {})
        if postprocessed:  # of which the references are others than those of the samples
            rows = build_dataset_from_cfg(dataset).test
        inputs, output = reader['input_columns'], reader.get('output_column')
        inputs = inputs.split() if isinstance(inputs, str) else inputs
        samples = samples_asked(rows, inputs, output, settings, out.name)
        folder = str(Path(task.work_dir, 'predictions'))
        predictions = Path(get_infer_output_path(model, dataset, folder))
        found = load_predictions(predictions, samples, settings, self._keep)
        if found.unmarked:
            if len(found.unmarked) != len(rows):
                held = Counter(path.name for path, _ in found.places)
                raise IncompleteError(
                    f'{len(found.unmarked)} predictions for {len(rows)} rows '
                    f'({", ".join(f"{name} has {count}" for name, count in held.items())}), so no result was '
                    'written. If a shard is missing, run the same command with -r and the --max-num-workers '
                    'of the start. If there are too many, the data set was longer when they were sampled'
                )
            check_by_place(found, rows, [one.reference for one in samples], settings['inference'], self._keep)
            found.unmarked = []
        elif self._wrapped is not None and found.places != sorted(found.places, key=lambda one: one[0].name):
            reopen(predictions)  # others take what OpenCompass hands over, by number
            raise IncompleteError(
                f'{out.name}: its shards are not those of this command: run it again with -r'
            )
        for source in found.sources:
            was = mapping(source.get('files'))
            today = files_of(mapping(found.settings.get('model')))
            local = {name: then for name, then in was.items() if name in today and 'commit' not in then}
            if 'settings' in self._keep:
                continue
            if changed := difference(local, {name: today[name] for name in local}):
                raise IncompleteError(
                    f'{predictions.name}: samples were drawn with files{changed}. Go back to these, or start '
                    "anew in another work directory; to score them all the same: keep=['settings'] of "
                    'GPassKEvaluator'
                )
        return found

    def score(self, predictions: Any, references: Any, test_set: Any) -> dict[str, Any]:
        """Score for a caller that knows no n: there are as many samples a question as rows."""
        n = max(Counter(uids_of(test_set)).values(), default=1)
        return self.evaluate(n, n, test_set, predictions=predictions, references=references)

    def _score_judged(
        self,
        rows: Any,
        score_kwargs: Mapping[str, Any],
        told: Mapping[str, Sequence[Any]],
        settings: Mapping[str, Any],
    ) -> Result:
        samples = samples_of(rows, score_kwargs['predictions'], score_kwargs.get('references'), told)
        with self._served_judge() as config:
            judge = build_judge(self._with_store(config))
            try:
                return score(samples, judge, **settings)
            finally:
                judge.close()

    @contextmanager
    def _served_judge(self) -> Iterator[Mapping[str, Any]]:
        """Give the config of the judge, whose server lives as long as the block if it is started here."""
        if self._server is None:
            yield self._judge
            return
        out = self._out()
        logs = Path.cwd() / 'logs' if out is None else results_above(out).parent / 'logs'
        with server(self._server, logs / 'server', get_logger().info) as running:
            # Not before: the server may have brought the weights here, so that they can be told from others.
            weights = files_of({'path': self._server.path}).get('path') or self._server.path
            digest = digest_of([weights, self._server.choosing()])[:16]
            settings = {**self._server.settings(), 'server_digest': digest}
            yield served_judge(self._judge or None, self._server.name, running.addresses, settings)

    def _score_wrapped(
        self,
        evaluator: WrappedEvaluator,
        rows: Any,
        score_kwargs: Mapping[str, Any],
        told: Mapping[str, Sequence[Any]],
        settings: Mapping[str, Any],
    ) -> Result:
        # An evaluator of somebody else may write them to files that hold no half of a character.
        predictions = whole_characters(score_kwargs['predictions'])
        samples = samples_of(rows, predictions, score_kwargs.get('references'), told, any_rows=True)
        verdicts = evaluator.verdicts(
            samples['replica'], self._out(), {**score_kwargs, 'predictions': predictions}
        )
        result = score(samples.replace(**verdicts), evaluator.identity(), answers=None, **settings)
        if statistics := evaluator.statistics():
            result.judge = {**result.judge, 'statistics': statistics}
        return result

    def _with_store(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return the config with a store for LLM verdicts, in `<work_dir>/<time>/verdicts` by default."""
        if (out := self._out()) is None:
            return dict(config)
        folder = results_above(out).with_name('verdicts')
        return with_verdicts(config, str(folder))

    def _out(self) -> Path | None:
        """Return `<work_dir>/<time>/results/<model>/<dataset>`; None for another caller than OpenCompass."""
        return Path(self._out_dir) if hasattr(self, '_out_dir') else None


@contextmanager
def _imports_uncollected() -> Iterator[None]:
    """Keep what is imported by now, a million objects, from being searched for garbage again and again."""
    if gc.get_freeze_count() > _FROZEN:  # whoever did it, as the process of `gpassk run`, wants it to last
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _checked_judge(
    model_name: str, url: str | Sequence[str], judge: Mapping[str, Any] | None, server: Served | None
) -> dict[str, Any]:
    """Return the config of the judge; {} for the default one of a server that is started for it."""
    if server is None:
        return judge_config(model_name, url, judge)
    if model_name or url:
        raise InputError('both judge_serve and model_name or url are given: give one of them')
    served_judge(judge, server.name, 'http://127.0.0.1', server.settings())
    return dict(judge or {})


def _check_settings(thresholds: Any, tolerance: Any) -> None:
    """Refuse settings before anything is judged, which may take hours."""
    if not isinstance(thresholds, Sequence) or isinstance(thresholds, str):
        raise InputError(f'thresholds = {thresholds!r}: expected a list of numbers from 0 to 1')
    try:
        metric_names(1, thresholds)
    except TypeError as error:
        raise InputError(f'thresholds = {thresholds!r}: {error}') from error
    if isinstance(tolerance, bool) or not isinstance(tolerance, (int, float)) or not 0 <= tolerance <= 1:
        raise InputError(f'unjudged_tolerance = {tolerance!r}: expected a share from 0 to 1')


def _provenance(found: Predictions, task: Any, out: Path) -> dict[str, Any]:
    """Return what the samples were drawn with and when, and what speaks against them."""
    notes = read_notes(found.places[0][0].parent if found.places else out)
    servers, several = servers_told(notes)
    warnings = [*found.warnings, *several]
    for warning in warnings:
        get_logger().warning(f'{out.name}: {warning}')
    told = {**found.settings, **(found.sources[0] if found.sources else {})}
    known = {'created': notes.created, 'servers': servers, 'taken': found.taken}
    return {
        **told,
        **{name: value for name, value in known.items() if value},
        'evaluation': evaluation_settings(task.dataset_cfg),
        'samples': digest_of(found.marks) if all(found.marks) else '',
        'warnings': warnings,
    }


def _names(out: Path | None, created: str) -> Names:
    """Return what a run is called: as the folders are in which OpenCompass has its result."""
    if out is None:
        return Names(host='opencompass')
    model = out.parent.relative_to(results_above(out)).as_posix()
    return Names(model=model, dataset=out.name, host='opencompass', created=created)


def _write_samples(path: Path, result: Result) -> None:
    """Write the samples of a result that OpenCompass will write, and remove those of earlier results.

    Of a result that is there they stay: it is whole until OpenCompass writes the new one.
    """
    try:
        block = mapping(mapping(read_json(path)).get('gpassk'))
    except (OSError, ValueError):
        block = {}
    write_samples(path, result)
    new = result.sample_file.name if result.sample_file else ''
    remove_samples(path, str(mapping(block.get('sample_file')).get('name', '')), new)


def _texts(predictions: Sequence[Any]) -> Sequence[str]:
    """Return predictions if they are texts.

    Raises:
        InputError: one is none.
    """
    bad = [row for row, prediction in enumerate(predictions) if not isinstance(prediction, str)]
    if bad:
        kind = type(predictions[bad[0]]).__name__
        raise InputError(
            f'{len(bad)} of {len(predictions)} responses are no text, the first in row {bad[0]} ({kind}). '
            'Each row needs exactly one string: check num_return_sequences and the postprocessors, and '
            'generate the missing rows again.'
        )
    return predictions

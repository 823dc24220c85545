"""The G-Pass@k evaluator for OpenCompass."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from opencompass.openicl.icl_evaluator import BaseEvaluator
from opencompass.registry import ICL_EVALUATORS
from opencompass.utils import build_dataset_from_cfg, get_infer_output_path, get_logger

from ..errors import IncompleteError, InputError
from ..files import mapping, read_json
from ..health import generation_columns
from ..judges import build_judge, judge_config, refuse_extraction, served_judge, with_verdicts
from ..marks import (
    difference,
    evaluation_settings,
    files_of,
    read_keep,
    read_notes,
    servers_told,
    settings_of,
)
from ..metrics import DEFAULT_THRESHOLDS, metrics_of
from ..predictions import Predictions, load_predictions, reopen
from ..record import Names, Result, digest_of, remove_samples, write_samples
from ..scoring import score
from ..serving import choosing, read_judge_server, server
from ..text import whole_characters
from .dataset import LIMITS
from .rows import check_by_place, samples_asked, samples_of, uids_of
from .seeds import current_task
from .wrapped import WrappedEvaluator

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
            then says neither model nor urls. Evaluations share it.
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
        try:
            metrics_of(1, steps := tuple(thresholds))
        except TypeError as error:
            raise InputError(
                f'thresholds = {thresholds!r}: expected a list of numbers from 0 to 1'
            ) from error
        if type(unjudged_tolerance) not in (int, float) or not 0 <= unjudged_tolerance <= 1:
            raise InputError(f'unjudged_tolerance = {unjudged_tolerance!r}: expected a share from 0 to 1')
        self._settings = {'thresholds': steps, 'unjudged_tolerance': unjudged_tolerance}
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

        Returned is the content of a result file, which OpenCompass writes. The file of its samples is written
        here, where OpenCompass has said where results go.
        """
        # `<work_dir>/<time>/results/<model>/<dataset>`; None for another caller than OpenCompass.
        out = Path(self._out_dir) if hasattr(self, '_out_dir') else None
        result = self._evaluate(k, n, original_dataset, score_kwargs, out)
        if out is not None:
            path, before = out.with_name(f'{out.name}.json').resolve(), ''
            with suppress(OSError, ValueError, LookupError, TypeError):  # until OpenCompass replaces it
                before = read_json(path)['gpassk']['sample_file']['name']
            write_samples(path, result)
            new = result.sample_file.name if result.sample_file else ''
            remove_samples(path, str(before), new)
        return result.as_json()

    def _evaluate(
        self, k: int | Sequence[int], n: int, rows: Any, given: dict[str, Any], out: Path | None
    ) -> Result:
        told, provenance = dict[str, Any](), dict[str, Any]()
        if out is not None and (task := current_task()) is not None:
            # Responses are taken from the files, each row wherever it lies; OpenCompass pairs them by number.
            found = self._predictions(task, out, rows)
            provenance, responses = _provenance(found, task, out), found.responses
            seen = {path: os.path.relpath(path, out.parent) for path in {one.path for one in responses}}
            seeds = (one.seed for one in responses)
            told = {
                **generation_columns([one.generation for one in responses]),
                'seed': [seed if type(seed) is int and 0 <= seed < 2**63 else None for seed in seeds],
                'fingerprint': [one.task for one in responses],
                'file': [seen[one.path] for one in responses],
                'row': [one.row for one in responses],
            }
            given['predictions'] = task._process_predictions([one.text for one in responses])
            del found, responses, seeds  # judging may take hours
        given['predictions'] = _texts(self.pred_postprocess(_texts(given['predictions'] or [])))
        for value in given.values():
            if isinstance(value, Sequence) and len(value) != len(rows):
                short = f'{len(value)} predictions for {len(rows)} rows, so no result was written'
                raise IncompleteError(f'{short}: run the same command with -r, which draws what is missing')
        foreign = self._wrapped is not None
        if foreign:  # it may write them to files that hold no half of a character
            given['predictions'] = whole_characters(given['predictions'])
        samples = samples_of(rows, given['predictions'], given.get('references'), told, any_rows=foreign)
        names = Names(host='opencompass', created=str(provenance.get('created', '')))
        if out is not None:  # called as the folders are in which OpenCompass has the result
            model = out.parent.relative_to(_results(out)).as_posix()
            names = names.model_copy(update={'model': model, 'dataset': out.name})
        settings: dict[str, Any] = {**self._settings, 'n': n, 'k': k, 'names': names}
        settings['versions'] = {package: version(package) for package in HOST_PACKAGES}
        if self._wrapped is not None:
            verdicts = self._wrapped.verdicts(samples['replica'], out, given)
            result = score(samples.replace(**verdicts), self._wrapped.identity(), answers=None, **settings)
            if statistics := self._wrapped.statistics():
                result.judge = {**result.judge, 'statistics': statistics}
        else:
            with self._judge_settings(out) as config, closing(build_judge(config)) as judge:
                result = score(samples, judge, **settings)
        result.provenance = provenance
        if {'source', 'uid'} <= set(rows.column_names):
            result.data.sources = list(dict.fromkeys(rows['source']))
        if LIMITS in rows.column_names and len(rows):
            result.limited = json.loads(rows[0][LIMITS])
        return result

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

    def _predictions(self, task: Any, out: Path, rows: Any) -> Predictions:
        """Read the predictions of a task, and check that they are of its data and its config."""
        model, dataset = task.model_cfg, task.dataset_cfg
        settings, reader = settings_of(model, dataset), dataset['reader_cfg']
        if 'dataset_postprocessor' in (dataset.get('eval_cfg') or {}):
            rows = build_dataset_from_cfg(dataset).test  # its references are others than those of the samples
        inputs, output = reader['input_columns'], reader.get('output_column')
        inputs = inputs.split() if isinstance(inputs, str) else inputs
        samples = samples_asked(rows, inputs, output, settings, out.name)
        predictions = Path(get_infer_output_path(model, dataset, str(Path(task.work_dir, 'predictions'))))
        found = load_predictions(predictions, samples, settings, self._keep)
        files = [one.path.name for one in found.responses]
        if files and found.responses[0].task is None:
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
            if changed := difference(local, {name: today[name] for name in local}):
                raise IncompleteError(
                    f'{predictions.name}: samples were drawn with files{changed}. Go back to these, or start '
                    "anew in another work directory; to score them all the same: keep=['settings'] of "
                    'GPassKEvaluator'
                )
        return found


def _results(out: Path) -> Path:
    """Return `<work_dir>/<time>/results`; a model with a `/` in its name has a folder in a folder there."""
    return next((above for above in out.parents[1:] if above.name == 'results'), out.parents[1])


def _provenance(found: Predictions, task: Any, out: Path) -> dict[str, Any]:
    """Return what the samples were drawn with and when, and what speaks against them."""
    notes = read_notes(found.responses[0].path.parent if found.responses else out)
    servers, several = servers_told(notes)
    warnings, marks = [*found.warnings, *several], [one.task for one in found.responses]
    for warning in warnings:
        get_logger().warning(f'{out.name}: {warning}')
    known = {
        'created': notes.created,
        'servers': servers,
        'taken': dict(Counter(one.taken_from for one in found.responses if one.taken_from)),
        'hardware': ' and '.join(notes.hardware),
    }
    return {
        **found.settings,
        **(found.sources[0] if found.sources else {}),
        **{name: value for name, value in known.items() if value},
        'evaluation': evaluation_settings(task.dataset_cfg),
        'samples': digest_of(marks) if all(marks) else '',
        'warnings': warnings,
    }


def _texts(predictions: Sequence[Any]) -> Sequence[str]:
    """Return predictions if they are texts; InputError names the first that is none."""
    if bad := [row for row, one in enumerate(predictions) if not isinstance(one, str)]:
        raise InputError(
            f'{len(bad)} of {len(predictions)} responses are no text, the first in row {bad[0]} '
            f'({type(predictions[bad[0]]).__name__}): check num_return_sequences and the postprocessors, and '
            'generate the missing rows again'
        )
    return predictions

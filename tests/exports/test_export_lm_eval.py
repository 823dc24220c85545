"""Results as files of lm-evaluation-harness: read back by the source of these, they are the same samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from exported_runs import COUNTS, TRUTH, exact, response, scored_counts, scored_labels

from gpassk_opencompass.cli import main
from gpassk_opencompass.errors import InputError
from gpassk_opencompass.exports.lm_eval import write_lm_eval
from gpassk_opencompass.results.read import read
from gpassk_opencompass.sources.finding import find_runs
from gpassk_opencompass.sources.source import Reading, Responded, Run, Sampled


def exported(result: Path, folder: Path) -> tuple[Path, dict[str, Any]]:
    """The samples that were written, and the summary."""
    samples, summary = write_lm_eval(read(result), folder)
    return samples, json.loads(summary.read_text(encoding='utf-8'))


def read_back(samples: Path) -> Run:
    [(run, name, _)] = find_runs([samples], Reading()).runs
    assert name == 'lm-eval'
    return run


def test_a_run_read_back_has_the_same_samples(theirs: Path, tmp_path: Path) -> None:
    """Question, reference, names, responses, answers and verdicts."""
    samples, _ = exported(theirs, tmp_path / 'out')
    run = read_back(samples)
    questions = [question for question in run.questions if isinstance(question, Responded)]
    assert run.kinds == ('labels', 'responses')
    assert [question.verdicts for question in questions] == TRUTH
    original = read(theirs)
    assert [question.about.uid for question in questions] == original.uids
    assert [question.about.problem for question in questions] == original.problems
    assert [question.about.group for question in questions] == original.groups
    assert [list(question.answers) for question in questions] == [list(one) for one in original.answers]
    assert [question.reference for question in questions] == [str(2 * at) for at in range(len(TRUTH))]
    told = [[response(at, symbol == '1', i) for i, symbol in enumerate(row)] for at, row in enumerate(TRUTH)]
    assert [list(question.responses) for question in questions] == told
    assert run.model == 'theirs'
    assert run.judge['name'] == 'rule'


@pytest.mark.parametrize('options', [[], ['--as', 'responses']], ids=['their verdicts', 'judged anew'])
def test_a_run_scored_once_more_has_the_same_counts_and_scores(
    theirs: Path, tmp_path: Path, options: list[str]
) -> None:
    samples, _ = exported(theirs, tmp_path / 'out')
    out = tmp_path / 'again.json'
    assert main(['score', str(samples), '--k', '1', '2', '3', '-o', str(out), *options]) == 0
    again = json.loads(out.read_text(encoding='utf-8'))
    assert again['gpassk']['counts']['c'] == COUNTS
    for name in ('accuracy', 'G-Pass@2_0.5', 'G-Pass@3_1.0', 'mG-Pass@3'):
        assert again[name] == pytest.approx(100 * exact(name, 4, COUNTS), rel=1e-12), name


def test_the_summary_has_the_scores_as_fractions(theirs: Path, tmp_path: Path) -> None:
    """Under the harness's names: metric and filter."""
    _, summary = exported(theirs, tmp_path / 'out')
    [scores] = summary['results'].values()
    assert scores['G-Pass@2_0.5,gpassk'] == pytest.approx(exact('G-Pass@2_0.5', 4, COUNTS), rel=1e-12)
    assert scores['correct,gpassk'] == sum(COUNTS)
    assert scores['sample_len'] == len(TRUTH)


def test_the_same_run_replaces_its_own_files(theirs: Path, tmp_path: Path) -> None:
    first = write_lm_eval(read(theirs), tmp_path / 'out')
    contents = [path.read_bytes() for path in first]
    assert write_lm_eval(read(theirs), tmp_path / 'out') == first
    assert [path.read_bytes() for path in first] == contents
    assert sorted(path for path in (tmp_path / 'out').rglob('*') if path.is_file()) == sorted(first)


def test_where_responses_are_gone_verdicts_and_answers_are_left(theirs: Path, tmp_path: Path) -> None:
    """Nobody can take what is not there for empty responses."""
    (tmp_path / 'theirs.jsonl').unlink()
    samples, _ = exported(theirs, tmp_path / 'out')
    run = read_back(samples)
    assert run.kinds == ('labels',)
    questions = [question for question in run.questions if isinstance(question, Sampled)]
    assert [question.verdicts for question in questions] == TRUTH
    assert [list(question.answers or ()) for question in questions] == [
        list(one) for one in read(theirs).answers
    ]
    assert not any('copies' in remark for remark in run.remarks)


def test_samples_that_nobody_judged_stay_unjudged(tmp_path: Path) -> None:
    verdicts = ['1?01', '1111', '0?00'] + ['1100'] * 297
    result = scored_labels(tmp_path, 'labelled', verdicts)
    samples, summary = exported(result, tmp_path / 'out')
    run = read_back(samples)
    assert [question.verdicts for question in run.questions if isinstance(question, Sampled)] == verdicts
    [scores] = summary['results'].values()
    assert scores['unjudged,gpassk'] == 2


def test_counts_alone_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='no verdicts of single samples'):
        write_lm_eval(read(scored_counts(tmp_path)), tmp_path / 'out')


def test_a_folder_that_cannot_be_made_is_one_error(theirs: Path, tmp_path: Path) -> None:
    (tmp_path / 'out').write_text('a file')
    with pytest.raises(InputError, match='cannot write'):
        write_lm_eval(read(theirs), tmp_path / 'out')

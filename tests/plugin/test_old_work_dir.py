"""`gpassk score OLD_WORK_DIR --judge …`: OpenCompass's own LiveMathBench runs, judged anew."""

from __future__ import annotations

import json

import old_work_dir as old
from judge_server import PROMPTS, JudgeServer

from gpassk_opencompass.cli import main


def test_every_sample_is_judged_for_itself_beside_a_broken_run_and_nothing_is_written_there(tmp_path, capsys):
    """The counts are those that the responses were made with; the broken run is named."""
    work_dir = old.judged_run(tmp_path)
    old.write(work_dir, old.rows()[:31], old.dataset(abbr='LiveMathBench_short'))
    before = old.contents(work_dir)
    _, out = old.score(work_dir)
    said = capsys.readouterr()
    assert '31 rows are not n = 4' in said.out + said.err
    assert old.contents(work_dir) == before
    record = old.record_in(out)
    assert record['gpassk']['counts']['c'] == old.COUNTS
    assert (record['gpassk']['n'], record['gpassk']['k']) == (4, [2, 4])


def test_the_llm_judge_is_asked_each_different_answer_once(tmp_path, monkeypatch):
    """In the language of the question; a second time nobody is asked, for the verdicts are kept."""
    monkeypatch.chdir(tmp_path)
    root, out = old.write(tmp_path / 'old', old.rows()), tmp_path / 'new'
    with JudgeServer(lambda asked: '\\boxed{no}') as server:
        judge = {'type': 'llm', 'model': 'judge', 'urls': [server.url], 'prompts': PROMPTS, 'progress': False}
        command = ['score', str(root), '-o', str(out), '--judge', json.dumps(judge)]
        assert main(command) == main(command) == 0
        prompts = [asked.prompt for asked in server.asked]
    # An answer that is the reference needs no call; '0' is the one other answer to seven questions.
    assert len(prompts) == 7
    assert {prompt.split('=')[0] for prompt in prompts} == {'question', '问题'}
    assert old.record_in(out)['gpassk']['counts']['c'] == old.COUNTS

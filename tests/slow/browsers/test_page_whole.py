"""The page as a whole: how large it is, and that nothing grows with what is not looked at."""

import numpy as np
import pytest
from made_pages import content_of, made_results, write_made_page
from stored_run import write_run

from gpassk_opencompass.cli import main

pytestmark = pytest.mark.e2e

LETTERS = np.array(list('abcdefghij klmnopqrstuvwxyz $x^2$ \n'))


def test_two_hundred_runs_with_responses_open_at_once(page, tmp_path):
    """100 questions × 16 samples a run: a small page, and what is asked for loads."""
    draws = np.random.default_rng(1)
    texts = [''.join(draws.choice(LETTERS, 2_000)) for _ in range(7)]
    results = made_results(200, {'LiveMathBench-v202412': (100, 16)})
    for result in results:
        samples = result.samples()
        said = [texts[row % 7] for row in range(len(samples))] if result is results[0] else None
        result.with_samples(samples.replace(response=said))
    [board], path = write_made_page(tmp_path, results, responses=True)
    assert len(board.entries) == 200
    assert path.stat().st_size < 4 * 2**20
    page.show(path)
    page.wait_for('#board tbody th a')
    run = next(entry.name for entry in board.entries if entry.result is results[0])
    page.show(path, run=run, question=board.uids[1], sample='0')
    page.until('return document.querySelector(".response")?.textContent.length > 1000')
    page.driver.execute_cdp_cmd('HeapProfiler.collectGarbage', {})
    heap = page.driver.execute_cdp_cmd('Runtime.getHeapUsage', {})['usedSize'] / 2**20
    # Not how fast: a machine may be busy. That nothing grows with what is not looked at.
    assert heap < 150
    assert page.complaints() == []


@pytest.mark.slow
def test_a_response_is_read_on_the_page_of_the_command(page, tmp_path):
    """From the file of samples to what stands there, with no complaint of the browser."""
    said = '<think>I add.</think>Look at </script><b>me</b> & 二 \U0001d465.'
    write_run(tmp_path / 'outputs', response=said)
    report = tmp_path / 'report'
    assert main(['report', str(tmp_path / 'outputs'), '-o', str(report), '--responses']) == 0
    page.complaints()
    [board] = content_of(report / 'index.html')['boards']
    page.show(report / 'index.html', run=board['entries'][0]['name'], question='q3', sample='0')
    response = page.wait_for('.response')
    assert 'Look at </script><b>me</b> & 二 \U0001d465.' in response.text
    assert 'Thought, 21 characters' in response.text
    assert page.complaints() == []

"""A report of the command, in a browser."""

import pytest
from made_pages import content_of
from stored_run import write_run

from gpassk_opencompass.cli import main

pytestmark = pytest.mark.e2e


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

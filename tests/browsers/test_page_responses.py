"""The responses beside a page, in a browser that has opened it from disk."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
from stored_results import with_columns
from stored_run import ABBR, write_run

from gpassk_opencompass.cli import main

if TYPE_CHECKING:
    from browser import Page


def until(holds: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.2)


_READER = """
let loaded = [], failed = [];
async function inflated(packed) {
  const bytes = Uint8Array.from(atob(packed), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return JSON.parse(await new Response(stream).text());
}
globalThis.gpasskShard = async (name, packed) => loaded.push([name, await inflated(packed)]);
globalThis.load = (name, from = 'responses/') => {
  const script = document.createElement('script');
  script.src = `${from}${name}.js`;
  script.onerror = () => failed.push(name);
  document.head.append(script);
};
globalThis.ends = () => [loaded.map(([name]) => name), failed];
// As numbers, since halves of characters do not reach the tester.
globalThis.units = () => loaded[0][1].samples.map(
  ({response}) => response.split('').map((one) => one.charCodeAt(0)));
"""


@pytest.mark.slow
def test_a_page_loads_shards_by_script_tags(page: Page, tmp_path: Path) -> None:
    """To the letter."""
    run = write_run(tmp_path / 'outputs')
    hostile = '</script>\u2028\ud800\x00\U0001d465'
    run.edit(lambda rows: rows['0'].update(prediction=hostile))
    with_columns(run.result, response_characters=None)
    report = tmp_path / 'report'
    assert (
        main(['report', str(tmp_path / 'outputs'), '-o', str(report), '--responses', '--only', 'page']) == 0
    )
    hashed = base64.b64encode(hashlib.sha256(_READER.encode()).digest()).decode()
    own = f"default-src 'none'; img-src data:; script-src 'sha256-{hashed}' file:"
    meta = f'<meta http-equiv="Content-Security-Policy" content="{own}">'
    made_by = '<meta name="generator" content="gpassk_opencompass 0">'  # by which a report is known
    (report / 'index.html').write_text(
        f'<!doctype html>{meta}{made_by}<link rel="icon" href="data:,"><script>{_READER}</script>'
    )
    [folder] = (path.name for path in (report / 'responses').iterdir())
    page.driver.get_log('browser')
    page.driver.get((report / 'index.html').as_uri())
    page.script('load(arguments[0]); load(arguments[1])', f'{folder}/0', f'{folder}/99')
    until(lambda: all(page.script('return ends()')))
    assert page.script('return ends()') == [[f'{folder}/0'], [f'{folder}/99']]
    shown = [struct.pack(f'<{len(units)}H', *units) for units in page.script('return units()')]
    complaints = page.complaints()
    other = json.loads(run.predictions.read_text())['12']['prediction']
    assert shown == [text.encode('utf-16-le', 'surrogatepass') for text in (hostile, other)]
    assert not [one for one in complaints if '99.js' not in one]


@pytest.mark.slow
def test_a_response_is_read_on_the_page(page: Page, tmp_path: Path) -> None:
    """From the predictions of OpenCompass to what stands there, with no complaint of the browser."""
    run = write_run(tmp_path / 'outputs')
    said = '<think>I add.</think>Look at </script><b>me</b> & 二 \U0001d465.'
    run.edit(lambda rows: rows['15'].update(prediction=said))
    with_columns(run.result, response_characters=None)
    where = '#' + urlencode({'run': ABBR, 'question': 'q3'})
    report = tmp_path / 'report'
    arguments = [str(tmp_path / 'outputs'), '-o', str(report), '--responses', '--only', 'page']
    assert main(['report', *arguments]) == 0
    page.driver.get_log('browser')
    page.driver.get('about:blank')
    page.driver.get((report / 'index.html').as_uri() + where)
    page.wait_for('.question h2')
    opening = 'for (const one of document.querySelectorAll("main details")) one.open = true'
    shown = 'Look at </script><b>me</b> & 二 \U0001d465.'
    until(lambda: page.script(opening) or shown in page.find('main').text)
    assert 'Thought, 21 characters' in page.find('main').text
    assert page.complaints() == []

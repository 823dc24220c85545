"""`results.json` in a page that reads it as that of the published leaderboard does."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from browser import Page
from question_pages import static_host
from result_files import write_result

from gpassk_opencompass.cli import main
from gpassk_opencompass.sweep.folder import Entry, ModelFacts, manifest_text

FOUR = {
    'LiveMathBench-Hard-2412': ('LiveMathBench-v202412-hard-cn_en', 45),
    'MATH500-L5': ('MATH500-L5', 134),
    'AIME2024-45': ('AIME2024-45', 45),
    'AIME2025': ('AIME2025-I', 15),
}
"""The benchmarks of the page: its name for each, ours, and how many questions it has."""

FIVE = ['Greedy', 'G-Pass@16-0.5', 'G-Pass@16-0.75', 'G-Pass@16-1.0', 'mG-Pass@16']

LEADERBOARD = (
    Path(__file__).resolve().parents[2] / 'shared' / 'data' / 'leaderboard' / 'published_results.json'
)

# What the page asks of a model: all five metrics, each an object by benchmark; numbers, or null for none;
# the flags compared with the texts TRUE and FALSE; the size from the name; the mean of the four where all
# are there.
PAGE = f"""<!doctype html><meta charset="utf-8"><title>Leaderboard</title><link rel="icon" href="data:,">
<table id="all"><tbody></tbody></table><table id="means"><tbody></tbody></table>
<script>
const FIVE = {json.dumps(FIVE)}, FOUR = {json.dumps(list(FOUR))};
fetch('results.json').then((reply) => reply.json()).then((models) => {{
  const rows = Object.entries(models).map(([name, told]) => ({{...told, name}}));
  for (const row of rows) {{
    row.size = (row.name.match(/[0-9]+(?:[.][0-9]+)?(?=B)/) ?? ['none'])[0];
    for (const metric of FIVE) {{
      const each = FOUR.map((benchmark) => row[metric][benchmark]);
      if (each.every((score) => score != null)) {{
        row[metric].Mean = Math.round(each.reduce((sum, score) => sum + score) * 10 / 4) / 10;
      }}
    }}
  }}
  const show = (table, benchmark, cells) => {{
    const ranked = rows.filter((row) => row['mG-Pass@16'][benchmark] != null)
      .sort((one, other) => other['mG-Pass@16'][benchmark] - one['mG-Pass@16'][benchmark]);
    for (const row of ranked) {{
      const line = document.querySelector(table + ' tbody').insertRow();
      const link = line.insertCell().appendChild(document.createElement('a'));
      link.href = row.link;
      link.textContent = row.name;
      line.insertCell().textContent = [
        row.opensourced == 'FALSE' ? 'closed' : 'open',
        ...row.mathLM == 'TRUE' ? ['math'] : [],
        ...row['o1-like'] == 'TRUE' ? ['long'] : [],
      ].join(' ');
      for (const text of [row.size, ...cells(row)]) line.insertCell().textContent = text;
    }}
  }};
  show('#all', 'MATH500-L5', (row) => FIVE.map((metric) => row[metric]['MATH500-L5']));
  show('#means', 'Mean', (row) => [...FOUR, 'Mean'].map((benchmark) => row['mG-Pass@16'][benchmark]));
  document.body.id = 'shown';
}});
</script>"""


def facts_of(model: str, path: str, **facts: Any) -> Entry:
    settings = {'temperature': 1.0, 'max_out_len': 100}
    told = (f'{model}.py', 't.py', model, path, f'{model}_t1.0_l100', 'd', settings, 'b', (16,), 48, None)
    return Entry(*told, 's', 'h', facts=ModelFacts(**facts))


@pytest.fixture(scope='module')
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models with all four benchmarks, of which one is known in full, and one with MATH500-L5 alone."""
    folder = tmp_path_factory.mktemp('leaderboard')
    for number, model in enumerate(('Qwen2.5-7B', 'mine', 'o9-mini')):
        for label, questions in FOUR.values():
            if model != 'o9-mini' or label == 'MATH500-L5':
                counts = [(7 * place + 5 * number) % 49 for place in range(questions)]
                write_result(folder / 'o', f'{model}_t1.0_l100', counts, n=48, k=[4, 16], dataset=label)
    greedy = [place % 2 for place in range(134)]
    write_result(folder / 'o', 'Qwen2.5-7B_t0_l100', greedy, n=1, dataset='MATH500-L5')
    known = {'open_source': True, 'mathematical': True, 'o1_like': False, 'parameters': '7B'}
    entries = [
        facts_of('Qwen2.5-7B', 'Qwen/Qwen2.5-7B', **known),
        facts_of('o9-mini', 'o9-mini', open_source=False, o1_like=True, link='https://example.org/o9'),
    ]
    (folder / 'manifest.jsonl').write_text(manifest_text(entries))
    arguments = ['--configs', str(folder), '-o', str(folder / 'report'), '--only', 'tables']
    assert main(['report', str(folder / 'o'), *arguments]) == 0
    return folder / 'report'


@pytest.fixture(scope='module')
def content(report: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads((report / 'results.json').read_text())
    return found


def test_every_model_has_every_column_of_the_page(content: dict[str, dict[str, Any]]) -> None:
    """Where one were missing, the page would stop; a score is a number or null."""
    for facts in content.values():
        for metric in FIVE:
            assert set(facts[metric]) == set(FOUR)
            assert all(score is None or isinstance(score, float) for score in facts[metric].values())
    assert content['o9-mini']['mG-Pass@16']['AIME2025'] is None
    assert content['mine']['Greedy'] == dict.fromkeys(FOUR)


def test_facts_are_texts_and_what_is_not_known_is_null(content: dict[str, dict[str, Any]]) -> None:
    """As in the published file; the number of parameters stands beside its layout."""
    names = ('link', 'opensourced', 'mathLM', 'o1-like', 'parameters')
    assert {model: tuple(facts.get(name) for name in names) for model, facts in content.items()} == {
        'Qwen2.5-7B': ('https://huggingface.co/Qwen/Qwen2.5-7B', 'TRUE', 'TRUE', 'FALSE', '7B'),
        'mine': ('', None, None, None, None),
        'o9-mini': ('https://example.org/o9', 'FALSE', None, 'TRUE', None),
    }
    assert 'parameters' not in content['mine']


def shown(page: Page, results: Path, folder: Path) -> dict[str, list[list[str]]]:
    """The cells of both tables, link first, of the page with this file beside it."""
    (folder / 'index.html').write_text(PAGE, encoding='utf-8')
    (folder / 'results.json').write_bytes(results.read_bytes())
    with static_host(folder) as address:
        page.driver.get(f'{address}/index.html')
        page.wait_for('#shown')
        code = """return [...document.querySelectorAll(arguments[0] + ' tr')].map((row) => [
            row.querySelector('a').getAttribute('href'),
            ...[...row.cells].map((cell) => cell.textContent),
        ])"""
        found = {table: page.script(code, table) for table in ('#all', '#means')}
        assert page.complaints() == []
    return found


@pytest.mark.e2e
def test_the_page_shows_every_score_of_the_report(page: Page, report: Path, tmp_path: Path) -> None:
    """To two digits, best first; what is not known is shown as open and general, without a link."""
    tables = shown(page, report / 'results.json', tmp_path)
    with (report / 'scores.csv').open() as file:
        rows = [row for row in csv.DictReader(file) if not row['group']]
    scores = {
        (row['model'], row['benchmark'], row['metric'].replace('_', '-')): float(row['value']) for row in rows
    }

    def of(model: str, name: str) -> list[float]:
        return [scores[model, FOUR[name][0], metric] for metric in FIVE[1:]]

    assert [row[:4] for row in tables['#all']] == sorted(
        [
            ['https://huggingface.co/Qwen/Qwen2.5-7B', 'Qwen2.5-7B', 'open math', '7'],
            ['', 'mine', 'open', 'none'],
            ['https://example.org/o9', 'o9-mini', 'closed long', 'none'],
        ],
        key=lambda row: -of(row[1], 'MATH500-L5')[-1],
    )
    for row in tables['#all']:
        assert row[4] == ('50' if row[1] == 'Qwen2.5-7B' else '')
        assert [float(text) for text in row[5:]] == [round(score, 2) for score in of(row[1], 'MATH500-L5')]
    assert {row[1] for row in tables['#means']} == {'Qwen2.5-7B', 'mine'}
    for row in tables['#means']:
        means = [of(row[1], name)[-1] for name in FOUR]
        assert [float(text) for text in row[4:8]] == [round(mean, 2) for mean in means]
        assert float(row[8]) == pytest.approx(fmean(means), abs=0.06)


@pytest.mark.e2e
@pytest.mark.skipif(not LEADERBOARD.is_file(), reason='the published leaderboard is not here')
def test_the_page_reads_the_published_file_as_it_does_ours(page: Page, tmp_path: Path) -> None:
    """29 models; the two that one benchmark lacks have no mean."""
    tables = shown(page, LEADERBOARD, tmp_path)
    content = json.loads(LEADERBOARD.read_text())
    whole = [m for m, told in content.items() if None not in (told['mG-Pass@16'][name] for name in FOUR)]
    assert {row[1] for row in tables['#means']} == set(whole)
    assert {row[1] for row in tables['#all']} == {
        model for model, told in content.items() if told['mG-Pass@16']['MATH500-L5'] is not None
    }
    assert tables['#all'][0][0].startswith('https://')

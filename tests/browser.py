"""A real browser, offline, and made-up results for pages to show."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_results import result_of

from gpassk_opencompass.judges import Pair, Verdict
from gpassk_opencompass.judges.protocol import FunctionJudge
from gpassk_opencompass.record import Names, Result
from gpassk_opencompass.report.frame import Board, boards
from gpassk_opencompass.samples import Samples
from gpassk_opencompass.scoring import score

HOSTILE = '</script><script>window.harmed = 1</script><img src="x" onerror="window.harmed = 2">'
BROKEN = r'\frac{1}{'
QUESTIONS = [
    ('已知函数 $f(x)=\\frac{1}{x}$，求 $f(2)$ 的值。', r'\frac{1}{2}'),
    (HOSTILE, HOSTILE),
    (f'Broken: ${BROKEN}$ end', BROKEN),
    *((f'Question {number}', '42') for number in range(3, 60)),
]
SKILLS = {'strong-2B': 0.9, 'steady-10B': 0.6, 'weak-1B': 0.2}
ANSWERS = ('42', '43', r'\frac{1}{2}')


def made_up_result(model: str, skill: float, questions: Sequence[tuple[str, str]], n: int = 8) -> Result:
    """A model that gives the reference with chance `skill`, and else an answer of `ANSWERS`."""
    draws = np.random.default_rng(len(model) + int(1e6 * skill))
    rows: list[dict[str, Any]] = []
    for number, (question, reference) in enumerate(questions):
        ease = draws.beta(0.8, 0.8)
        for replica in range(n):
            right = draws.random() < min(1.0, skill * 2 * ease)
            answer = reference if right else ANSWERS[int(draws.integers(len(ANSWERS)))]
            language = 'en' if number % 2 else 'cn'
            response = f'So \\boxed{{{answer}}}' if answer else ''
            rows.append(
                {
                    'uid': f'q{number}', 'replica': replica, 'question': question, 'reference': reference,
                    'response': response, 'language': language, 'group': f'AMC_{language}',
                    'problem': f'p{number // 2}',
                }
            )  # fmt: skip
    samples = Samples({name: [row[name] for row in rows] for name in rows[0]})
    names = Names(model=model, dataset='made-up-k4-r2', host='opencompass')
    k = sorted({min(2, n), min(4, n)})
    result = score(samples, FunctionJudge(_equal, name='equal'), n=n, k=k, names=names)
    result._path = Path(f'{model}.json')
    return result


def one_board(results: Sequence[Result]) -> Board:
    """The table of results that belong together."""
    [board], left_out = boards(results)
    assert not left_out
    return board


def many_results(models: int, questions: int, n: int, seed: int = 7) -> list[Result]:
    """Counts and answers of many models, made without judging."""
    draws = np.random.default_rng(seed)
    ease = draws.beta(0.7, 0.7, size=questions)
    counts = draws.binomial(n, ease ** draws.gamma(2.0, 0.7, size=(models, 1)))
    return [_counted(f'model-{number:03}', row.tolist(), n) for number, row in enumerate(counts)]


def _counted(model: str, c: list[int], n: int) -> Result:
    size = len(c)
    uid = [f'AMC_en/{position}' for position in range(size)]
    counts = {
        'uid': uid,
        'problem': [f'p{position // 2}' for position in range(size)],
        'group': [('AMC_cn', 'AMC_en')[position % 2] for position in range(size)],
        'c': c,
    }
    answers = [['42'] * count + [f'\\frac{{{i % 7}}}{{3}}' for i in range(n - count)] for count in c]
    columns = {
        'uid': [one for one in uid for _ in range(n)],
        'replica': list(range(n)) * size,
        'question': [f'What is $x^{position}$?' for position in range(size) for _ in range(n)],
        'reference': ['42'] * (n * size),
        'answer': [answer for each in answers for answer in each],
        'verdict': [word for count in c for word in ['correct'] * count + ['incorrect'] * (n - count)],
    }
    return result_of(model, f'Many-k4_16-n{n}', counts, n, (4, 16), 'rule', columns)


def _equal(pair: Pair) -> Verdict:
    return Verdict.CORRECT if pair.answer == pair.reference else Verdict.INCORRECT


class Page:
    """A page in the browser, with what a reader does to it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, path: Path) -> None:
        """From disk; what the browser said before is forgotten."""
        self.driver.get_log('browser')
        self.driver.get_log('performance')
        self.driver.get(path.resolve().as_uri())

    def script(self, code: str, *values: Any) -> Any:
        """What the code returns; a page cannot forbid this to its tester."""
        return self.driver.execute_script(code, *values)

    def find(self, selector: str) -> Any:
        """The first element."""
        return self.driver.find_element('css selector', selector)

    def all(self, selector: str) -> list[Any]:
        """All elements."""
        return list(self.driver.find_elements('css selector', selector))

    def button(self, text: str, within: str = 'body') -> Any:
        """The button or link-like button with this text."""
        return self.driver.find_element(
            'xpath', f'//{within}//button[starts-with(normalize-space(), "{text}")]'
        )

    def set(self, selector: str, value: str) -> None:
        """Replace what stands in a field, as a keyboard does."""
        from selenium.webdriver.common.keys import Keys

        field = self.find(selector)
        field.send_keys(Keys.CONTROL, 'a')
        field.send_keys(value, Keys.TAB)

    def choose(self, selector: str, text: str) -> None:
        """Choose an option by its text."""
        from selenium.webdriver.support.select import Select

        Select(self.find(selector)).select_by_visible_text(text)

    def wait_for(self, selector: str, seconds: float = 20) -> Any:
        """An element that is about to come."""
        from selenium.webdriver.support.wait import WebDriverWait

        return WebDriverWait(self.driver, seconds, 0.05).until(lambda _: self.find(selector))

    def complaints(self) -> list[str]:
        """What the console holds."""
        return [entry['message'] for entry in self.driver.get_log('browser')]

    def requests(self) -> list[str]:
        """The addresses that the page asked for, without the page itself and its empty icon."""
        messages = [json.loads(entry['message'])['message'] for entry in self.driver.get_log('performance')]
        asked = [m['params'] for m in messages if m['method'] == 'Network.requestWillBeSent']
        own = [params['request']['url'] for params in asked if params['type'] != 'Document']
        return [url for url in own if url != 'data:,']


@contextmanager
def browser() -> Iterator[Page]:
    """Chromium without a window and without a network, driven by its own driver."""
    selenium = pytest.importorskip('selenium.webdriver', reason='selenium is not installed')
    programs = [shutil.which(name) for name in ('chromium', 'chromedriver')]
    if None in programs:
        pytest.skip('no chromium with chromedriver here: apt install chromium chromium-driver')
    options = selenium.ChromeOptions()
    options.binary_location = programs[0]
    switches = ('headless=new', 'no-sandbox', 'disable-gpu', 'disable-dev-shm-usage', 'window-size=1280,1200')
    for switch in (*switches, 'host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost'):
        options.add_argument(f'--{switch}')
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
    driver = selenium.Chrome(options=options, service=selenium.ChromeService(programs[1]))
    try:
        yield Page(driver)
    finally:
        driver.quit()


def nasty_board() -> Board:
    """Three sampled models and a greedy run, on questions with Chinese, LaTeX and hostile text."""
    sampled = [made_up_result(f'{name}_t0.7_l99', skill, QUESTIONS) for name, skill in SKILLS.items()]
    return one_board([*sampled, made_up_result('weak-1B_t0_l99', 0.2, QUESTIONS, n=1)])

"""The page for people with a keyboard, a screen reader, a phone, or a dark room."""

from __future__ import annotations

from typing import Any

import pytest
from browser import Page

from gpassk_opencompass.report.leaderboard import Board

pytestmark = pytest.mark.e2e


def test_everything_can_be_done_from_the_keyboard(shown: Page, board: Board) -> None:
    """Skip link, sort, open a model, open a question: Tab and Enter are enough."""
    from selenium.webdriver.common.keys import Keys

    def press(*keys: str) -> Any:
        shown.driver.switch_to.active_element.send_keys(*keys)
        return shown.driver.switch_to.active_element

    def tab_to(text: str) -> None:
        for _ in range(60):
            if press(Keys.TAB).text.startswith(text):
                return
        raise AssertionError(f'{text} cannot be reached')

    assert press(Keys.TAB).text == 'Skip to the table'
    assert shown.driver.switch_to.active_element.is_displayed()
    press(Keys.ENTER)
    tab_to('Model')
    outline = shown.script('return getComputedStyle(document.activeElement).outlineStyle')
    assert outline == 'solid'
    press(Keys.ENTER)
    assert shown.find('[data-column=name]').get_attribute('aria-sort') == 'ascending'
    tab_to('weak')
    assert press(Keys.ENTER).text == 'weak-1B_t0.7_l99'
    tab_to('q0')
    press(Keys.ENTER)
    assert shown.wait_for('#question h3').text == 'Question q0'
    assert shown.driver.switch_to.active_element.text == 'Question q0'
    shown.button('Close').send_keys(Keys.ENTER)
    assert not shown.find('#model').is_displayed()
    assert shown.driver.switch_to.active_element.text == 'weak-1B_t0.7_l99'


def test_every_control_has_a_name_and_every_table_its_heads(shown: Page) -> None:
    """As a screen reader finds them."""
    shown.open_question('strong', 'q5')
    nameless = shown.script("""
        const named = (e) => e.labels?.length || e.ariaLabel || e.textContent.trim()
            || e.getAttribute('aria-labelledby');
        const controls = document.querySelectorAll('input, select, button, [role=region], meter');
        return [...controls].filter((e) => !named(e)).map((e) => e.outerHTML)""")
    assert nameless == []
    assert shown.script('return [...document.querySelectorAll("th:not([scope])")].length') == 0
    assert shown.script('return [...document.querySelectorAll("table")].every((t) => t.caption?.textContent)')
    identifiers = shown.script('return [...document.querySelectorAll("[id]")].map((e) => e.id)')
    assert len(identifiers) == len(set(identifiers))


@pytest.mark.parametrize('width', [320, 390, 1280])
def test_nothing_sticks_out_at_any_width(shown: Page, width: int) -> None:
    """Wide tables scroll within themselves, the page does not scroll sideways."""
    size = {'width': width, 'height': 800, 'deviceScaleFactor': 1, 'mobile': False}
    shown.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', size)
    shown.open_question('strong', 'q1')
    over = shown.script('return document.documentElement.scrollWidth - document.documentElement.clientWidth')
    shown.driver.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})
    assert over <= 0


COLOURS = ['ground', 'raised', 'text', 'quiet', 'accent', 'bad', 's0', 's1', 's2', 's3', 's4', 's5']


@pytest.mark.parametrize('scheme', ['light', 'dark'])
def test_text_stands_out_from_its_ground(shown: Page, scheme: str) -> None:
    """At least 4.5 : 1 (WCAG AA) for text, links, notes and curves, in both schemes."""
    features = [{'name': 'prefers-color-scheme', 'value': scheme}]
    shown.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {'features': features})
    code = """const style = getComputedStyle(document.documentElement);
        return arguments[0].map((name) => style.getPropertyValue(`--${name}`).trim());"""
    colours = shown.script(code, COLOURS)
    shown.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {'features': []})
    lights = dict(zip(COLOURS, map(luminance, colours), strict=True))
    for name in set(lights) - {'ground', 'raised'}:
        for ground in ('ground', 'raised'):
            low, high = sorted((lights[name], lights[ground]))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (scheme, name, ground)


def luminance(colour: str) -> float:
    digits = colour.removeprefix('#')
    digits = digits if len(digits) == 6 else ''.join(2 * digit for digit in digits)
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

"""What a gate says: a table, sentences, Markdown for a pull request, and JUnit XML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from ..tables import Cell, Column, Table, markdown_line
from ..uncertainty import Decision, Outcome
from ..unseen import escaped
from ..version import __version__
from .gate_runs import Gate, Matched
from .leaderboard import judge_line

_TOGETHER = (
    'part of the one statement that no row is worse by the margin or more; not decided of this row alone'
)

_NOT_IN_XML = re.compile('[\ufffe\uffff\U0001fffe\U0001ffff]')
"""What XML 1.0 has no place for, and can be seen."""


def verdict(gate: Gate) -> str:
    """Return the outcome of the whole in a word or two: 'passes', 'worse' or 'not decided'."""
    return 'passes' if gate.outcome.passes else gate.outcome.value


def basis(gate: Gate) -> str:
    """Return of what all statements are."""
    new, old = gate.runs
    kind = (
        'for new questions of the same kind'
        if gate.of_new_questions
        else 'for these very questions alone, sampled again; it says nothing of others'
    )
    several = f', all {len(gate.rows)} statements together' if len(gate.rows) > 1 else ''
    return (
        f'{new} (new) against {old} (old): of these two, chosen beforehand, at {_percent(gate.level)} %'
        f'{several}, {kind}; margin {_points(gate.margin)}.'
    )


def decisions_table(gate: Gate) -> Table:
    """Return a row a benchmark and metric, in percent and points."""
    ends = '[{:+.1f}, {:+.1f}]'
    shown = [
        *(Column(name, 'left') for name in ('benchmark', 'metric', 'outcome')),
        *(Column(name, 'right') for name in ('new', 'old')),
        Column('new − old', 'right', '{:+.2f}'),
        Column('interval', 'left', limits=ends),
        *(Column(name, 'right', '{:.1f}') for name in ('least margin', 'rerun error')),
    ]
    of_row = ('inner interval', 'level', 'questions', 'problems', 'samples new', 'samples old', 'error')
    hidden = [Column(name, hidden=True) for name in (*of_row, 'refused', 'together')]
    table = Table('gate', [*shown, *hidden])
    for row, found in gate.decided:
        _add(table, row, found)
    return table


def _add(table: Table, row: Matched, found: Decision) -> None:
    new, old = row.means
    limits = None if found.refused else (100 * found.low, 100 * found.high)
    inner = None if found.refused else (100 * found.inner_low, 100 * found.inner_high)
    table.add(
        *(row.benchmark, str(row.metric), found.outcome.value),
        *(100 * new, 100 * old, 100 * found.difference),
        Cell('', limits, found.refused, note=_TOGETHER if found.together else ''),
        None if found.refused else 100 * found.least_margin,
        100 * found.rerun_error,
        Cell('', inner),
        *(found.level, len(row.new.result.table), found.problems, row.new.result.n, row.old.result.n),
        *(100 * found.error, found.refused or None, 'yes' if found.together else 'no'),
    )


def whole_table(gate: Gate) -> Table:
    """Return one row for programs: the outcome of the whole and what it is of."""
    new, old = gate.runs
    cells: dict[str, str | float | list[Any]] = {
        'outcome': verdict(gate),
        'exit code': exit_code(gate),
        'new': new,
        'old': old,
        'margin': 100 * gate.margin,
        'level': gate.level,
        'questions': 'new' if gate.of_new_questions else 'same',
        'statements': len(gate.rows),
        'basis': basis(gate),
        'remarks': list(gate.remarks),
    }
    return Table('whole', [Column(name, hidden=True) for name in cells], [list(cells.values())])


def exit_code(gate: Gate) -> int:
    """Return 0 where the new run passes, 1 where it is worse, 2 where nothing is decided."""
    if gate.outcome.passes:
        return 0
    return 1 if gate.outcome is Outcome.WORSE else 2


def how_to_read(gate: Gate) -> list[str]:
    """Return what the columns are."""
    [level] = {one.level for one in gate.decisions.each}
    floor = 'no interval is narrower' if gate.of_new_questions else 'all intervals are made of it alone'
    return [
        f'Scores in percent, differences in points; interval: of new − old, at {_percent(level)} %.',
        'better, worse: the interval lies beyond 0. equivalent, not worse: the one at '
        f'{_percent(2 * level - 1)} % (two one-sided tests) lies within the margin, or above minus it.',
        'least margin: with a smaller one these data could not say equivalent, whatever the difference.',
        f'rerun error: the standard error of new − old if both were sampled again; {floor}.',
    ]


def sentences(gate: Gate) -> list[str]:
    """Return one a row, and one of the whole where there are several."""
    found = [
        f'{row.benchmark}, {row.metric}: {_said(one, of_new_questions=gate.of_new_questions)}.'
        for row, one in gate.decided
    ]
    return [*found, *([f'On the whole: {_whole(gate)}.'] if len(gate.rows) > 1 else [])]


def _said(found: Decision, *, of_new_questions: bool) -> str:
    if found.refused:
        other = '; --questions same decides, of these very questions alone' if of_new_questions else ''
        return f'not decided: {found.refused}{other}'
    margin, outer = _points(found.margin), _lies(found.level, found.low, found.high)
    if found.together:
        return f'not worse by {margin} or more, as part of the statement that no row is'
    inner = _lies(2 * found.level - 1, found.inner_low, found.inner_high)
    less = '; it is worse, but by less than the margin' if found.high < 0 else ''
    return {
        Outcome.BETTER: f'the new run is better: {outer}',
        Outcome.EQUIVALENT: f'equivalent: {inner}, within ±{margin}{less}',
        Outcome.NOT_WORSE: f'not worse by {margin} or more: {inner}, and it may be better by more than that',
        Outcome.WORSE: f'the new run is worse: {outer}',
        Outcome.NOT_DECIDED: f'not decided: {inner}, which reaches to -{margin} or below{_too_few(found)}',
    }[found.outcome]


def _lies(level: float, low: float, high: float) -> str:
    return f'the {_percent(level)} % interval of new − old is {_interval(low, high)}'


def _too_few(found: Decision) -> str:
    """Return that nothing could have come out within the margin, where that is so."""
    if found.least_margin < found.margin:
        return ''
    least = f'{100 * found.least_margin:{".1f" if found.least_margin > 0.0005 else ".1g"}} points'
    return f'; of equal runs these data could decide no margin below {least}: take more questions or samples'


def _whole(gate: Gate) -> str:
    margin = _points(gate.margin)
    if gate.outcome is Outcome.WORSE:
        worse = [row.benchmark for row, one in gate.decided if one.outcome is Outcome.WORSE]
        return f'worse, on {", ".join(dict.fromkeys(worse))}'
    if gate.outcome.passes:
        return f'passes; in none of the {len(gate.rows)} rows is the new run worse by {margin} or more'
    return f'not decided; no row is known to be worse, and not all are known not to be, by {margin} or more'


def to_markdown(gate: Gate) -> str:
    """Return a comment for a pull request: what was compared, a table, a sentence a row, and remarks."""
    parts = [
        f'### gpassk gate: {verdict(gate)}',
        markdown_line(basis(gate)),
        decisions_table(gate).to_markdown(),
        _bullets(sentences(gate)),
        _bullets(how_to_read(gate)),
    ]
    if gate.remarks:
        parts += ['What else is to be known:', _bullets(gate.remarks)]
    one_each = {row.benchmark: row for row in gate.rows}.values()
    parts.append(markdown_line(f'{"; ".join(map(_asked, one_each))}. gpassk_opencompass {__version__}.'))
    return '\n\n'.join(part.rstrip('\n') for part in parts) + '\n'


def _asked(row: Matched) -> str:
    new, old = row.new.result, row.old.result
    asked = f'{len(new.table)} questions, {new.n} (new) and {old.n} (old) samples of each'
    return f'{row.benchmark}: {asked}, judged by {judge_line(new)}'


def _percent(level: float) -> str:
    """Return a level in percent to four digits, or as many as tell it from 100."""
    short = f'{100 * level:.4g}'
    return f'{100 * level:.15g}' if short == '100' else short


def _bullets(lines: Sequence[str]) -> str:
    return '\n'.join(f'- {markdown_line(line)}' for line in lines)


def to_junit(gate: Gate) -> str:
    """Return JUnit XML, a test case a row: *worse* is a failure, *not decided* is skipped.

    Skipped and not an error: nothing broke, and nothing was found.
    """
    failed = sum(one.outcome is Outcome.WORSE for one in gate.decisions.each)
    skipped = sum(one.outcome is Outcome.NOT_DECIDED for one in gate.decisions.each)
    counts = {'tests': str(len(gate.rows)), 'failures': str(failed), 'errors': '0'}
    root = ElementTree.Element('testsuites', {'name': 'gpassk gate', **counts})
    of_suite = {'name': _xml(basis(gate)), **counts, 'skipped': str(skipped)}
    suite = ElementTree.SubElement(root, 'testsuite', of_suite)
    for (row, found), sentence in zip(gate.decided, sentences(gate), strict=False):
        of_case = {
            'classname': _xml(f'gpassk.gate.{row.benchmark}'),
            'name': _xml(str(row.metric)),
            'time': '0',
        }
        case = ElementTree.SubElement(suite, 'testcase', of_case)
        if found.outcome is Outcome.WORSE:
            of = {'message': _xml(sentence), 'type': found.outcome.value}
            ElementTree.SubElement(case, 'failure', of).text = _xml(basis(gate))
        elif found.outcome is Outcome.NOT_DECIDED:
            ElementTree.SubElement(case, 'skipped', {'message': _xml(sentence)})
        said = [sentence, *_remarks_on(row.benchmark, gate)]
        ElementTree.SubElement(case, 'system-out').text = _xml('\n'.join(said))
    ElementTree.indent(root)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{ElementTree.tostring(root, encoding='unicode')}\n"


def _remarks_on(benchmark: str, gate: Gate) -> list[str]:
    """Return the remarks that are not of another benchmark."""
    others = {f'{row.benchmark}: ' for row in gate.rows if row.benchmark != benchmark}
    return [remark for remark in gate.remarks if not remark.startswith(tuple(others))]


def _xml(text: str) -> str:
    r"""Return a text that XML 1.0 can hold.

    >>> _xml('a\x00\ud800\uffff')
    'a\\x00\\ud800\\uffff'
    """
    lines = escaped(text, keep='\n')
    return _NOT_IN_XML.sub(lambda found: found[0].encode('unicode_escape').decode('ascii'), lines)


def _points(share: float) -> str:
    return f'{100 * share:g} point{"" if share == 0.01 else "s"}'


def _interval(low: float, high: float) -> str:
    return f'[{100 * low:+.1f}, {100 * high:+.1f}]'

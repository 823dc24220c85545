"""`gpassk judge`: are its servers fit, does it agree with labels, and what of a run's score is its error?"""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..files import write_file
from ..text import Table, json_text, say, show
from .options import add_json, add_judge_options, chosen_judge, examples, path, positive

if TYPE_CHECKING:
    from ..agreement import Agreement, Audit, Share

_AGREEMENT = """\
A line of PAIRS has a reference, an answer and a label (true, false) and, where
known, question, language and source. Shares are in percent, κ is at most 1; in
[brackets] stands the 95 % interval.
"""
_AUDIT = """\
Questions are drawn, and each different answer to them is labelled: by a person
in FILE, or by --judge.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add ping, agreement and audit with their arguments."""
    parser.epilog = examples(
        'gpassk judge ping --model Qwen2.5-72B-Instruct --url http://node1:23333',
        'gpassk judge agreement pairs.jsonl --judge rule',
        'gpassk judge audit outputs/…/results/m/d.json --labels labels.jsonl',
    )
    actions = parser.add_subparsers(dest='action', required=True, metavar='ACTION')

    def action(name: str, line: str, epilog: str = '') -> Any:
        sub = actions.add_parser(name, help=line, description=f'{line[0].upper()}{line[1:]}', epilog=epilog)
        add_json(sub)
        return sub.add_argument, sub

    _, sub = action('ping', 'are the servers of a judge fit to judge?')
    add_judge_options(sub, 'llm (the default), or its config as JSON', verdicts=False)

    add, sub = action('agreement', 'how well does a judge agree with labels?', _AGREEMENT)
    add('pairs', type=path, metavar='PAIRS', help='labelled pairs, a JSON object a line')
    add_judge_options(sub, 'rule (the default), llm, cascade, a dotted path, or a config as JSON')
    add('--disagreements', type=path, metavar='FILE', help='write them there, a JSON object a line')

    add, sub = action('audit', 'how many verdicts of a run are wrong, and what is its score without?', _AUDIT)
    add('result', type=path, metavar='RUN', help='a result file, or a folder with one result')
    add('--questions', type=positive, default=40, metavar='N', help='how many to draw (default: 40)')
    add('--seed', type=int, default=0, metavar='S', help='of the draw (default: 0)')
    add('--labels', type=path, metavar='FILE', help='of the drawn answers; a new one is written')
    add_judge_options(sub, 'labels what is missing: llm, a dotted path, or a config as JSON')


def run(*, action: str, **options: Any) -> int:
    """Run one of the three; 0, or 1 where a server is not fit or nothing could be compared."""
    for file in (options.get('disagreements'), options.get('labels')):  # before anybody is asked
        if file and not file.parent.is_dir():
            raise InputError(f'there is no folder {file.parent} to write {file.name} to')
    actions: dict[str, Callable[..., int]] = {'ping': _ping, 'agreement': _agreement, 'audit': _audit}
    return actions[action](**options)


def _ping(judge: str | None, model: str | None, url: Sequence[str]) -> int:
    from ..judges import check_judge
    from ..judges.llm import ping

    config = check_judge(chosen_judge(judge or 'llm', model, url, None, 'verdicts'))
    if config.pop('type') != 'llm':
        raise InputError(f'--judge {judge}: only an LLM has servers; give --model and --url, or its config')
    healths = ping(**config)
    for health in healths:
        right = sum(one.verdict is one.canary.verdict for one in health.outcomes)
        say(f'{health.url}: {f"{right} of {len(health.outcomes)} right" if health.outcomes else "no reply"}')
        table = Table(health.url, ['language', 'answer', 'expected', 'verdict', 'seconds', 'judged'])
        for canary, verdict, seconds, _ in health.outcomes:
            pair, kind = canary.pair, f', {canary.name}' if canary.injected else ''
            wrong = 'no verdict' if verdict.value == 'unjudged' else 'WRONG'
            judged = 'right' if verdict is canary.verdict else wrong
            answer = f'{pair.answer[:2]} for {pair.reference}{kind}'
            table.rows.append([pair.language, answer, canary.verdict.value, verdict.value, seconds, judged])
        if health.outcomes:
            show(table)
        if told := ', '.join(f'{name} {what!r}' for name, what in health.served.as_json().items()):
            say(f'  it says that it serves {told}')
        problems = [health.failure, *(one.problem for one in health.outcomes)]
        say(*(f'  {problem}' for problem in dict.fromkeys(problems) if problem), '')
    fit = sum(health.fit for health in healths)
    say(f'{fit} of {len(healths)} servers {"is" if fit == 1 else "are"} fit to judge as {config["model"]!r}')
    return 0 if fit == len(healths) else 1


def _digits(found: Agreement) -> dict[str, Any]:
    """Return all numbers of an agreement by name."""
    ends = ('', '_low', '_high')
    return {
        name + end: number
        for name, value in found._asdict().items()
        for end, number in zip(ends, value if isinstance(value, tuple) else (value,), strict=False)
    }


def _shown(share: Share) -> str | None:
    if share.value is None:
        return None
    value, *ends = (None if one is None else f'{100 * one:.1f}' for one in share)
    return f'{value} [{", ".join(map(str, ends))}]' if ends[0] else value


def _agreement(pairs: Path, disagreements: Path | None, **judge_options: Any) -> int:
    from ..agreement import compare_with_labels, read_labelled
    from ..judges import build_judge

    config = chosen_judge(**judge_options, default_verdicts=f'{pairs.stem}.verdicts')
    labelled = read_labelled(pairs)
    with closing(build_judge(config)) as judge:
        groups, differing = compare_with_labels(labelled, judge)
    columns = ['source', 'language', 'pairs', 'questions', 'unjudged']
    table = Table('agreement', [*columns, 'agreement', 'false pos.', 'false neg.', 'κ'])
    data: list[Mapping[str, Any]] = []
    for (source, language), one in groups.items():
        shares = map(_shown, (one.agreement, one.false_positive_rate, one.false_negative_rate))
        kappa = None if one.kappa is None else f'{one.kappa:.3f}'
        table.rows.append([source, language, *one[:3], *shares, kappa])
        data.append({'source': source, 'language': language, **_digits(one)})
    table.data = data
    unjudged = [one['reason'] or one['origin'] for one in differing if one['verdict'] == 'unjudged']
    if unjudged:
        table.notes.append(f'unjudged, by reason: {dict(Counter(unjudged))}; the shares are of the others')
    show(table)
    if disagreements:
        write_file(disagreements, ''.join(f'{json_text(one)}\n' for one in differing).encode())
        say(f'wrote {disagreements}')
    return 0 if any(one.agreement.value is not None for one in groups.values()) else 1


def _audit(
    result: Path, questions: int, seed: int, labels: Path | None, judge: str | None, **more: Any
) -> int:
    from ..agreement import Audit
    from ..collect import collect_one
    from ..judges import build_judge
    from ..record import digest_of

    if not (labels or judge):
        raise InputError('nobody labels: give --labels FILE, a new file or one that is filled in, or --judge')
    if judge in {'rule', 'cascade'}:
        raise InputError(f'--judge {judge}: a rule would accept its own errors; give llm, or a judge as JSON')
    config = chosen_judge(judge, **more, default_verdicts=f'{result.stem}.verdicts')
    audit = Audit(collect_one(result))
    known = bool(labels and labels.exists())
    drawn, told = audit.read(labels) if labels and known else (audit.draw(questions, seed), {})
    if judge:
        missing = [one for one in audit.answers_of(drawn) if one.name not in told]
        if config['type'] == 'llm':
            config = {'accept_equal': False, **config}  # equal spellings are asked about, too
        with closing(build_judge(config)) as asked:
            if digest_of({**asked.identity()}) == audit.result.judge_digest:
                raise InputError(
                    'the judge that is asked is the one that judged the run, and would agree with itself'
                )
            said = asked.judge([one.pair for one in missing])
        verdicts = zip(missing, (one.verdict.value for one in said), strict=True)
        told |= {one.name: verdict == 'correct' for one, verdict in verdicts if verdict != 'unjudged'}
    if labels and (judge or not known):
        write_file(labels, audit.text(drawn, told).encode())
        say(f'{labels} holds the drawn answers: give each a "label" and run the same command again')
    _show_audit(audit, drawn, told)
    return 0


def _show_audit(audit: Audit, drawn: Sequence[int], labels: dict[str, bool]) -> None:
    """Show both error rates, and each score beside the corrected one."""
    from ..metrics import ACCURACY, metrics_of

    result, answers = audit.result, audit.answers_of(drawn)
    rows = [row for row in drawn if all(one.name in labels for one in audit.answers[row])]
    say(
        f'{result.model} on {result.benchmark}: {len(result.counts.uid)} questions, n = {result.n}, '
        f'judged by {result.judge.get("name", "an unnamed judge")}',
        f'{len(drawn)} questions are drawn, with {len(answers)} different answers; {len(labels)} labels\n',
    )
    scores = Table('scores', ['score', 'reported', 'corrected'])
    if not rows:  # what would labels tell that contradict no verdict?
        scores.notes.append('no question is labelled: so labels that contradict no verdict would have it')
        rows, labels = list(drawn), {one.name: one.accepted > 0 for one in answers}
    elif len(rows) < len(drawn):
        scores.notes.append(f'{len(drawn) - len(rows)} drawn questions are left out: an answer has no label')
    found = audit.agreement(rows, labels)
    false, missed = found.false_positives, found.false_negatives
    verdicts = Table('verdicts', ['answers', 'number', 'judged wrongly', 'in percent'], data=[_digits(found)])
    for kind, wrong, right, share in (
        ('incorrect', false, found.both_incorrect, found.false_positive_rate),
        ('correct', missed, found.both_correct, found.false_negative_rate),
    ):
        verdicts.rows.append([f'{kind}, by their labels', wrong + right, wrong, _shown(share)])
    data: list[Mapping[str, Any]] = []
    for metric in [ACCURACY, *metrics_of(result.ks, result.thresholds, pass_at=True)]:
        if metric.k <= result.table.n.min():
            one = audit.corrected(rows, labels, metric)
            interval = f'{one.corrected:.1f} [{one.low:.1f}, {one.high:.1f}]'
            scores.rows.append([str(metric), f'{one.reported:.1f}', interval])
            data.append({**one._asdict(), 'metric': str(metric)})
    scores.data = data
    show(verdicts)
    say('')
    show(scores)

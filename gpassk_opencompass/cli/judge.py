"""`gpassk judge`: are its servers fit, does it agree with labels, and what of a run's score is its error?"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..files import parse_json, write_file
from ..text import Table, json_text, say, show
from .options import Several, add_json, add_judge_options, chosen_judge, examples, path, positive

if TYPE_CHECKING:
    from ..agreement import Agreement, Audit, Share
    from ..judges.ping import Health

_AGREEMENT = """\
A line of PAIRS has a reference, an answer and a label (true, false) and, where
known, question, language and source; of a result the verdicts are the labels.
Shares are in percent, κ is at most 1; in [brackets] the 95 % interval.
"""
_AUDIT = """\
Questions are drawn, and each different answer to them is labelled: by a person
(in FILE, or here with --ask) or by --judge. Without either you see how much so
many questions would tell.
"""
_KEYS = 'y correct, n incorrect, s skip, b back, q quit'


def add_arguments(parser: ArgumentParser) -> None:
    """Add ping, agreement and audit with their arguments."""
    parser.epilog = examples(
        'gpassk judge ping --model Qwen2.5-72B-Instruct --url http://node1:23333',
        'gpassk judge agreement pairs.jsonl --judge rule',
        'gpassk judge audit outputs/…/results/m/d.json --labels labels.jsonl --ask',
    )
    actions = parser.add_subparsers(dest='action', required=True, metavar='ACTION')

    def action(name: str, line: str, epilog: str = '') -> Any:
        sub = actions.add_parser(name, help=line, description=f'{line[0].upper()}{line[1:]}', epilog=epilog)
        add_json(sub)
        return sub.add_argument, sub

    add, sub = action('ping', 'are the servers of a judge fit to judge?')
    add('--model', required=True, metavar='NAME', help='the name that the servers know it by')
    add('--url', action=Several, required=True, metavar='URL', help='http://host:port of each server')
    add('--api-key-env', default='', metavar='NAME', help='environment variable with the key')
    add('--prompts', default='auto', metavar='NAME', help='auto, protocol, own, xverify, compassverifier')
    add('--max-tokens', type=int, default=8192, metavar='N', help='of a reply; default: 8192')
    as_served = 'default: 0; none: as the server has it'
    add('--temperature', type=_temperature, default=0.0, metavar='T', help=as_served)
    add('--proxy', default='', metavar='URL', help='default: of the environment (HTTPS_PROXY)')
    add('--extra-body', type=_json_object, metavar='JSON', help='more fields of the request')
    whole = "besides stop, the finish_reason of its whole replies; '' for none"
    add('--finish-reason', action=Several, default=[], metavar='WORD', help=whole)
    add('--timeout', type=float, default=120.0, metavar='SECONDS', help='of one request; default: 120')

    add, sub = action('agreement', 'how well does a judge agree with labels?', _AGREEMENT)
    add('pairs', type=path, metavar='PAIRS', help='labelled pairs, a JSON object a line, or a result')
    add_judge_options(sub, 'rule (the default), llm, cascade, a dotted path, or a config as JSON')
    add('--responses', action='store_true', help='the answers are whole responses: judge their final answers')
    add('--disagreements', type=path, metavar='FILE', help='write them there, a JSON object a line')

    add, sub = action('audit', 'how many verdicts of a run are wrong, and what is its score without?', _AUDIT)
    add('result', type=path, metavar='RUN', help='a result file, or a folder with one result')
    add('--questions', type=positive, default=40, metavar='N', help='how many to draw (default: 40)')
    add('--seed', type=int, default=0, metavar='S', help='of the draw (default: 0)')
    add('--labels', type=path, metavar='FILE', help='of the drawn answers; a new one is written')
    add('--ask', action='store_true', help='ask here for labels that are missing')
    add_judge_options(sub, 'labels what is missing: llm, a dotted path, or a config as JSON')


def run(*, action: str, **options: Any) -> int:
    """Run one of the three; 0, or 1 where a server is not fit or nothing could be compared."""
    actions: dict[str, Callable[..., int]] = {'ping': _ping, 'agreement': _agreement, 'audit': _audit}
    return actions[action](**options)


def _temperature(text: str) -> float | None:
    return None if text == 'none' else float(text)


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = parse_json(text)
    except ValueError as error:
        raise ArgumentTypeError(f'{text!r} is no JSON: {error}') from error
    if not isinstance(value, dict):
        raise ArgumentTypeError(f'{text!r}: expected an object like {{"seed": 1}}')
    return value


# gpassk judge ping


def _ping(model: str, url: Sequence[str], finish_reason: Sequence[str], **options: Any) -> int:
    from ..judges.ping import ping

    healths = ping(model, url, finish_reasons=finish_reason, **options)
    mixed = False
    for health in healths:
        _show_health(health)
        if difference := healths[0].served.differs(health.served):
            mixed = True
            say(
                f'{health.url} serves {difference}, which {healths[0].url} says',
                '  → a judge is one model: start the same in the same way everywhere, or name one server\n',
            )
    fit = sum(health.fit for health in healths)
    say(f'{fit} of {len(healths)} servers {"is" if fit == 1 else "are"} fit to judge as {model!r}')
    return 0 if fit == len(healths) and not mixed else 1


def _show_health(health: Health) -> None:
    right = sum(outcome.right for outcome in health.outcomes)
    say(f'{health.url}: {f"{right} of {health.asked} right" if health.reachable else "NOT REACHABLE"}')
    table = Table(health.url, ['language', 'answer', 'expected', 'verdict', 'seconds', 'judged'])
    for canary, verdict, seconds, *_ in health.outcomes:
        kind = f', {canary.name}' if canary.injected else ''
        wrong = 'no verdict' if verdict.value == 'unjudged' else 'WRONG'
        table.rows.append(
            [
                canary.pair.language,
                f'{canary.pair.answer[:2]} for {canary.pair.reference}{kind}',
                canary.verdict.value,
                verdict.value,
                seconds,
                'right' if verdict is canary.verdict else wrong,
            ]
        )
    show(table)
    if told := ', '.join(f'{name} {what!r}' for name, what in health.served.told().items()):
        say(f'  it says that it serves {told}')
    for problem in dict.fromkeys(outcome.problem for outcome in health.outcomes if outcome.problem):
        say(f'  {problem}')
    say(*(f'  → {advice}' for advice in health.advice), '')


# gpassk judge agreement


def _agreement(pairs: Path, responses: bool, disagreements: Path | None, **judge_options: Any) -> int:
    from ..agreement import compare_with_labels, read_labelled
    from ..judges.build import build_judge

    config = chosen_judge(**judge_options, default_verdicts=f'{pairs.stem}.verdicts')
    if disagreements and not disagreements.parent.is_dir():
        raise InputError(f'there is no folder {disagreements.parent} to write {disagreements.name} to')
    labelled = read_labelled(pairs, responses=responses)
    with closing(build_judge(config)) as judge:
        compared = compare_with_labels(labelled, judge)
    heads = ['source', 'language', 'pairs', 'questions', 'unjudged']
    table = Table(
        'agreement',
        [*heads, 'agreement', 'precision', 'recall', 'false pos.', 'κ'],
        data=[
            {'source': source, 'language': language, **_with_all_digits(found)}
            for (source, language), found in compared.groups.items()
        ],
    )
    for (source, language), one in compared.groups.items():
        rates = (one.agreement, one.precision, one.recall, one.false_positive_rate)
        table.rows.append(
            [
                source,
                language,
                one.pairs,
                one.questions,
                one.unjudged,
                *map(_percent, rates),
                _plain(one.kappa),
            ]
        )
    if reasons := Counter(
        one['reason'] or one['origin'] for one in compared.differing if one['verdict'] == 'unjudged'
    ):
        table.notes.append(f'unjudged, by reason: {dict(reasons)}; the shares are of the others')
    if unanswered := sum(bool(one.pair.tail) for one in labelled):
        table.notes.append(f'{unanswered} responses hold no final answer: a rule has nothing to judge there')
    show(table)
    if disagreements:
        write_file(disagreements, ''.join(f'{json_text(one)}\n' for one in compared.differing).encode())
        say(f'wrote {disagreements}')
    return 0 if any(one.agreement.value is not None for one in compared.groups.values()) else 1


def _with_all_digits(found: Agreement) -> dict[str, Any]:
    return {
        f'{name}{end}': number
        for name, value in found._asdict().items()
        for end, number in (
            zip(('', '_low', '_high'), value, strict=True) if isinstance(value, tuple) else [('', value)]
        )
    }


def _percent(share: Share) -> str | None:
    if share.value is None:
        return None
    low, high = share.low, share.high
    ends = '' if low is None or high is None else f' [{100 * low:.1f}, {100 * high:.1f}]'
    return f'{100 * share.value:.1f}{ends}'


def _plain(share: Share) -> str | None:
    if share.value is None:
        return None
    ends = '' if share.low is None else f' [{share.low:.3f}, {share.high:.3f}]'
    return f'{share.value:.3f}{ends}'


# gpassk judge audit


def _audit(
    result: Path,
    questions: int,
    seed: int,
    labels: Path | None,
    ask: bool,
    judge: str | None,
    **judge_options: Any,
) -> int:
    from ..agreement import Audit
    from ..collect import collect_one

    if ask and not labels:
        raise InputError('--ask keeps each reply at once: give --labels FILE, a new file or one of before')
    if ask and judge:
        raise InputError('--ask has a person label, --judge a judge: give one of them')
    if judge in {'rule', 'cascade'}:
        raise InputError(f'--judge {judge}: a rule would accept its own errors; give llm, or a judge as JSON')
    if labels and not labels.parent.is_dir():
        raise InputError(f'there is no folder {labels.parent} to write {labels.name} to')
    config = chosen_judge(judge, **judge_options, default_verdicts=f'{result.stem}.verdicts')
    audit = Audit(collect_one(result))
    known = bool(labels and labels.exists())
    drawn, told = audit.read(labels) if labels and known else (audit.draw(questions, seed), {})
    if judge:
        told = {**told, **_labels_of(config, audit, drawn, told)}
    if labels and (judge or not known):
        _keep(labels, audit, drawn, told)
        say(f'{labels} holds the drawn answers: give each a "label" and run the same command again')
    if labels and ask:
        told = _ask(labels, audit, drawn, told)
    _show_audit(audit, drawn, told)
    return 0


def _keep(file: Path, audit: Audit, drawn: Sequence[int], told: Mapping[str, bool]) -> None:
    write_file(file, audit.text(drawn, told).encode())


def _labels_of(
    config: Mapping[str, Any], audit: Audit, drawn: Sequence[int], told: Mapping[str, bool]
) -> dict[str, bool]:
    """Return a judge's labels of what has none; equal spellings are asked about, too."""
    from ..judges.build import build_judge
    from ..record import digest_of

    more = {'accept_equal': False} if config['type'] == 'llm' else {}
    answers = audit.unlabelled(drawn, told)
    with closing(build_judge({**more, **config})) as judge:
        if digest_of({**judge.identity()}) == audit.result.judge_digest:
            raise InputError(
                'the judge that is asked is the one that judged the run, and would agree with itself'
            )
        said = judge.judge([one.pair for one in answers])
    verdicts = zip(answers, (one.verdict.value for one in said), strict=True)
    return {one.name: verdict == 'correct' for one, verdict in verdicts if verdict != 'unjudged'}


def _ask(file: Path, audit: Audit, drawn: Sequence[int], told: Mapping[str, bool]) -> dict[str, bool]:
    """Ask for the labels that are missing, up to `q` or the end of the input; each reply is kept at once."""
    labels, answers, place = dict(told), audit.unlabelled(drawn, told), 0
    say(f'{len(answers)} answers have no label. Do answer and reference say the same? {_KEYS}')
    while place < len(answers):
        pair = answers[place].pair
        say(f'\n[{place + 1} of {len(answers)}]')
        say(f'question:  {pair.question}', f'reference: {pair.reference}', f'answer:    {pair.answer}')
        try:
            reply = input('y/n/s/b/q? ').strip().lower()
        except EOFError:
            break
        if reply == 'q':
            break
        if reply in ('y', 'n'):
            labels[answers[place].name] = reply == 'y'
            _keep(file, audit, drawn, labels)
        elif reply not in ('s', 'b'):
            say(_KEYS)
            continue
        place = max(place - 1, 0) if reply == 'b' else place + 1
    say(f'\n{file} holds {len(labels)} labels\n')
    return labels


def _show_audit(audit: Audit, drawn: Sequence[int], told: Mapping[str, bool]) -> None:
    """Show both error rates, and each score beside the corrected one."""
    from ..metrics import ACCURACY, metrics_of

    result, labels = audit.result, told
    rows = audit.labelled(drawn, labels)
    say(
        f'{result.model} on {result.benchmark}: {len(result.counts.uid)} questions, n = {result.n}, '
        f'judged by {result.judge.get("name", "an unnamed judge")}'
    )
    answers = sum(len(audit.answers[row]) for row in drawn)
    say(f'{len(drawn)} questions are drawn, with {answers} different answers; {len(labels)} labels\n')
    if not rows:  # what would labels tell that contradict no verdict?
        labels = {one.name: one.accepted > 0 for row in drawn for one in audit.answers[row]}
        rows = list(drawn)
    found = audit.agreement(rows, labels)
    verdicts = Table(
        'verdicts', ['answers', 'number', 'judged wrongly', 'in percent'], data=[_with_all_digits(found)]
    )
    verdicts.rows.append(
        ['incorrect, by their labels', found.false_positives + found.both_incorrect, found.false_positives,
         _percent(found.false_positive_rate)]
    )  # fmt: skip
    verdicts.rows.append(
        ['correct, by their labels', found.false_negatives + found.both_correct, found.false_negatives,
         _percent(found.false_negative_rate)]
    )  # fmt: skip
    scores = Table('scores', ['score', 'reported', 'corrected'], data=[])
    for metric in [ACCURACY, *metrics_of(result.ks, result.thresholds, pass_at=True)]:
        if metric.k <= result.table.n.min():
            one = audit.corrected(rows, labels, metric)
            interval = f'{one.corrected:.1f} [{one.low:.1f}, {one.high:.1f}]'
            scores.rows.append([str(metric), f'{one.reported:.1f}', interval])
            scores.data.append({**one._asdict(), 'metric': str(metric)})  # type: ignore[union-attr]
    if not told:
        scores.notes.append('nobody was asked yet: so labels that contradict no verdict would have it')
    elif len(rows) < len(drawn):
        scores.notes.append(f'{len(drawn) - len(rows)} drawn questions are left out: an answer has no label')
    show(verdicts)
    say('')
    show(scores)

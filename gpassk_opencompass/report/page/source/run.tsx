// One run on a benchmark: its scores, health and settings, and its questions as a map and a table, maybe beside those of another run.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { boards, entryNamed, rankText, type Board, type Entry } from './content';
import { Stacked } from './leaderboard';
import { Link, usePlace } from './place';
import { visible } from './text';
import { Badges, Choose, Marks, percent, sorted, Table, type Column } from './widgets';

// A run beside another, maybe of a board of another judge.
export interface Other {
  board: Board;
  entry: Entry;
}

// A question of a run.
interface Question {
  uid: string;
  group: string;
  c: number;
  n: number;
  cut: number;
  unjudged: number;
  // The same problem in another group (the other language) has c/n that is away by half of all samples or more.
  disagrees: boolean;
  // Of the other run.
  beside: number | null;
}

export function RunView({ board, entry, other }: { board: Board; entry: Entry; other: Other | null }) {
  const { go } = usePlace();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current!.focus(), []);
  const partners = boards.filter(({ data }) => data === board.data)
    .flatMap((one) => one.entries.map((each) => ({ board: one, entry: each })))
    .filter((one) => one.entry !== entry);
  const keyOf = (one: Other | null) => (one ? String(partners.findIndex(({ entry: each }) => each === one.entry)) : '');
  const beside = (key: string) => {
    const next = key ? partners[Number(key)] : null;
    go({ with: next?.entry.name ?? '', withBoard: next && next.board !== board ? next.board.title : '', sort: '' });
  };
  return (
    <section aria-labelledby="run-title">
      <h2 id="run-title" tabIndex={-1} ref={heading}>{entry.name}</h2>
      {entry.badges.length > 0 && <p><Badges badges={entry.badges} /></p>}
      {entry.remarks.map((remark) => <p class="warning">{remark}</p>)}
      <dl>
        <dt>Rank</dt><dd>{rankText(entry)} of {board.entries.length}</dd>
        {entry.facts.map(([name, text]) => [<dt>{name}</dt>, <dd>{text}</dd>])}
        <dt>Responses</dt><dd>{entry.shards ? 'beside this page: open a question' : entry.lost}</dd>
      </dl>
      <Scores board={board} entry={entry} />
      <h3>Questions</h3>
      {partners.length > 0 && (
        <div class="controls">
          <Choose label="Beside" id="beside" value={keyOf(other)} onChange={beside} values={[['', 'no other run'],
            ...partners.map((one, i): [string, string] =>
              [String(i), one.board === board ? one.entry.name : `${one.entry.name} · judge: ${one.board.judge}`])]} />
        </div>
      )}
      <Questions board={board} entry={entry} other={other} />
    </section>
  );
}

function Scores({ board, entry }: { board: Board; entry: Entry }) {
  const doubt = entry.scores[0].some((score) => score?.[4] != null && score[4] !== score[0]);
  const rows: [string, (place: number) => preact.ComponentChildren][] = board.parts.map((part, i) =>
    [part || 'all questions', (place) => <Stacked score={entry.scores[i][place]} />]);
  const of = (field: 3 | 4, sign: string) => (place: number) => {
    const value = entry.scores[0][place]?.[field];
    return value == null ? '–' : sign + percent(value);
  };
  if (doubt) rows.splice(1, 0, ['if all unjudged were right', of(4, '')]);
  rows.splice(1, 0, ['sampled again: error', of(3, '± ')]);
  const columns: Column<typeof rows[number]>[] = [
    { key: 'part', head: 'Of', heads: true, cell: ([name]) => name },
    ...board.metrics.map((name, place): Column<typeof rows[number]> =>
      ({ key: name, head: name, numeric: true, cell: ([, cell]) => cell(place) })),
  ];
  return <Table id="scores" caption={`Scores in percent with ${board.level} intervals for new questions of this kind`} columns={columns}
    rows={rows} keyOf={([name]) => name} />;
}

// What can be marked in the map. Shares exclude each other.
const NEVER = ({ c }: Question) => c === 0;
const ALWAYS = ({ c, n }: Question) => c === n;
const UNSTABLE = ({ c, n }: Question) => 5 * c >= n && 5 * c <= 4 * n;
const MARKS: [string, string, (one: Question) => boolean][] = [
  ['never', 'never right', NEVER],
  ['unstable', 'unstable (20 – 80 %)', UNSTABLE],
  ['always', 'always right', ALWAYS],
  ['cut', 'with samples cut off', ({ cut }) => cut > 0],
  ['unjudged', 'with unjudged samples', ({ unjudged }) => unjudged > 0],
  ['languages', 'whose languages disagree', ({ disagrees }) => disagrees],
  ['differ', 'that differ from the other run', ({ c, n, beside }) => beside !== null && beside !== c / n],
];

// Free of rounding, and the same seen from either end: never and always stand alone.
export const stepOf = (c: number, n: number): number =>
  (c === 0 ? 0 : c === n ? 6 : 5 * c < n ? 1 : 5 * c < 2 * n ? 2 : 5 * c <= 3 * n ? 3 : 5 * c <= 4 * n ? 4 : 5);

export function questionsOf(board: Board, entry: Entry, other: Other | null): Question[] {
  const { c, n } = entry;
  const places = new Map(other?.board.uids.map((uid, i) => [uid, i]));
  const sameProblem = new Map<number, number[]>();
  board.problem.forEach((problem, i) => sameProblem.set(problem, [...sameProblem.get(problem) ?? [], i]));
  return board.uids.map((uid, i): Question => {
    const there = places.get(uid);
    return {
      uid, group: board.groups[board.group[i]], c: c[i], n, cut: entry.cut[i] ?? 0, unjudged: entry.unjudged[i] ?? 0,
      disagrees: sameProblem.get(board.problem[i])!.some((j) => board.group[j] !== board.group[i] && 2 * Math.abs(c[i] - c[j]) >= n),
      beside: there === undefined ? null : other!.entry.c[there] / other!.entry.n,
    };
  });
}

function Questions({ board, entry, other }: { board: Board; entry: Entry; other: Other | null }) {
  const { address, go } = usePlace();
  const [line, look] = useState('');
  const questions = useMemo(() => questionsOf(board, entry, other), [board, entry, other?.entry]);
  const marked = MARKS.filter(([key]) => address.marks.split(',').includes(key));
  const shown = (one: Question) => marked.every(([, , of]) => of(one)) && one.uid.toLowerCase().includes(address.named.toLowerCase());
  const listed = useMemo(() => questions.filter(shown), [questions, address.marks, address.named]);
  const columns = useMemo(() => columnsOf(other), [other?.entry]);
  const toggle = (key: string) => {
    const before = marked.map(([one]) => one);
    const shares = ['never', 'unstable', 'always'];
    const others = before.filter((one) => one !== key && !(shares.includes(one) && shares.includes(key)));
    go({ marks: (before.includes(key) ? others : [...others, key]).join() }, true);
  };
  const blocks = address.order === 'share' ? [['From always right to never', sorted(questions, ({ c }) => c, true)] as const]
    : board.groups.map((group) => [group, questions.filter((one) => one.group === group)] as const);
  const share = questions.length ? (100 * listed.length) / questions.length : 0;
  return (
    <>
      <div class="controls">
        <Choose label="Arranged by" id="order" value={address.order} values={[['', 'contest and language'], ['share', 'how often right']]}
          onChange={(order) => go({ order }, true)} />
        <label>Questions named<input id="question-filter" type="search" value={address.named}
          onInput={({ currentTarget }) => go({ named: currentTarget.value }, true)} /></label>
      </div>
      <div class="brushes" role="group" aria-label="Mark questions">
        {MARKS.map(([key, name, of]) => {
          const count = questions.filter(of).length;
          const held = marked.some(([one]) => one === key);
          return (count > 0 || held)
            && <button type="button" aria-pressed={held} onClick={() => toggle(key)}>{name} <span class="count">{count}</span></button>;
        })}
      </div>
      <p id="marked" aria-live="polite">
        {listed.length === questions.length ? `${questions.length} questions. Several marks ask for all of them.`
          : `${listed.length} of ${questions.length} questions (${percent(share, 1)} %)`}
      </p>
      {blocks.map(([label, members]) => (
        <>
          <h4>{visible(label)} ({members.length})</h4>
          <Marks class="map" label={`Questions of ${entry.name}, ${label}`} onLook={look}
            onChoose={(question) => go({ question, sort: '' })} marks={members.map((one) => ({
            key: one.uid, letter: NEVER(one) ? '×' : ALWAYS(one) ? '✓' : UNSTABLE(one) ? '~' : '', label: inWords(one), class: [
              `step-${stepOf(one.c, one.n)}`, one.cut && 'has-cut', one.unjudged && 'has-unjudged', one.disagrees && 'disagrees',
              !shown(one) && 'dim',
            ].filter(Boolean).join(' '),
          }))} />
        </>
      ))}
      <p class="line" aria-hidden="true">
        {visible(line) || 'Point at a mark, or move with the arrow keys; a click or Enter opens its question.'}
      </p>
      <p class="legend" aria-hidden="true">
        {['0 %', 'under 20 %', '20 – 40 %', '40 – 60 %', '60 – 80 %', 'over 80 %', '100 %'].map((name, step) =>
          <span><span class={`mark small step-${step}`}><span>{['×', '', '~', '~', '~', '', '✓'][step]}</span></span> {name}</span>)}
        {[['has-cut', 'cut off'], ['has-unjudged', 'unjudged'], ['disagrees', 'languages disagree']].map(([kind, name]) =>
          <span><span class={`mark small step-1 ${kind}`}><span /></span> {name}</span>)}
      </p>
      <Table id="questions" caption={`${listed.length} questions; each opens to its samples`} columns={columns} rows={listed}
        keyOf={({ uid }) => uid} empty="No question is like that: mark less, or take words back." />
    </>
  );
}

// "3 of 48 right, 2 cut off": a question in words, for the line below the map and for who listens.
const inWords = ({ uid, c, n, cut, unjudged, disagrees }: Question): string => [
  `${uid}: ${c} of ${n} right`, cut && `${cut} cut off`, unjudged && `${unjudged} unjudged`, disagrees && 'far from its other language',
].filter(Boolean).join(', ');

function columnsOf(other: Other | null): Column<Question>[] {
  const columns: (Column<Question> | false)[] = [
    { key: 'uid', head: 'Question', heads: true, by: ({ uid }) => uid, cell: ({ uid }) => <Link change={{ question: uid, sort: '' }}
      title={visible(uid)}>{visible(uid)}</Link> },
    { key: 'group', head: 'Group', by: ({ group }) => group, cell: ({ group }) => group },
    { key: 'c', head: 'Right', numeric: true, by: ({ c }) => c, cell: ({ c, n }) => `${c} of ${n}` },
    { key: 'share', head: '%', numeric: true, by: ({ c }) => c, cell: ({ c, n }) => percent((100 * c) / n, 1) },
    other !== null && { key: 'beside', head: 'Beside, %', title: other.entry.name, numeric: true, by: ({ beside }) => beside,
      cell: ({ beside }) => (beside === null ? '–' : percent(100 * beside, 1)) },
    other !== null && { key: 'difference', head: 'Difference', title: `This run − ${other.entry.name}, in points`, numeric: true,
      by: ({ c, n, beside }) => (beside === null ? null : c / n - beside),
      cell: ({ c, n, beside }) => (beside === null ? '–' : percent(100 * (c / n - beside), 1).replace('-', '−')) },
    { key: 'cut', head: 'Cut off', numeric: true, by: ({ cut }) => cut, cell: ({ cut }) => cut },
    { key: 'unjudged', head: 'Unjudged', numeric: true, by: ({ unjudged }) => unjudged, cell: ({ unjudged }) => unjudged },
  ];
  return columns.filter((column) => column !== false);
}

export const otherOf = (board: Board, name: string, title: string): Other | null => {
  const theirs = title ? boards.find((one) => one.title === title) : board;
  const entry = theirs && name ? entryNamed(theirs, name) : undefined;
  return entry ? { board: theirs!, entry } : null;
};


// One benchmark: all its runs with every figure, which of them are drawn as curves, and which two are compared.

import './board.css';
import { useMemo, useState } from 'preact/hooks';
import { Filters, modelWidth, parted, SameSettings, settingColumns, useOrder } from './choosing';
import { content, type Board, type Entry, type Run } from './content';
import { Curves } from './curves';
import { Downloads, type Sheet, type Value } from './downloads';
import { lengthOf } from './drawing';
import { Badges, Choose, Footnotes, Letter, noInterval, Notes, rankText, Score } from './elements';
import { Link, usePlace } from './navigation';
import { refusalKind, tokensText } from './overview';
import { featureOf, isKept, settingsOf, shortNames } from './runs';
import {
  allMetrics, greedyInterval, intervalOf, levelName, metricName, scoreMetric, shownMetrics, sumOf, type Choice,
} from './scores';
import type { Interval, Metric } from './statistics';
import { Key, Scale, standingIn, Track } from './track';
import { VirtualTable, type Column } from './virtual';

const runOf = (entry: Entry): Run => content.runs[entry.run];

// The runs whose curves are drawn; until somebody ticks, the first three.
export function ticked(board: Board, names: string[] | null): Entry[] {
  if (names === null) return board.entries.slice(0, 3);
  return names.flatMap((name) => board.entries.find((entry) => entry.name === name) ?? []);
}

export function BoardView({ choice }: { choice: Choice }) {
  const { board } = choice;
  const { address } = usePlace();
  const runs = useMemo(() => board.entries.map(runOf), [board]);
  const notes = useMemo(() => footnotesOf(choice), [choice]);
  const columns = useMemo(() => columnsOf(choice, runs, notes), [choice, runs, notes]);
  const kept = useMemo(() => board.entries.filter((entry) => isKept(runOf(entry), address)), [board, address.words, address.filters]);
  const order = useOrder(kept, columns, metricName(scoreMetric(choice.k)), ['rank']);
  const drawn = ticked(board, address.curves);
  return (
    <section aria-labelledby="board-title">
      <h2 id="board-title">{board.title}</h2>
      <About choice={choice} />
      <SameSettings runs={runs} />
      <Filters runs={runs} />
      <Key k={choice.k} level={levelName(board)} />
      <VirtualTable id="board" caption={captionOf(choice)} columns={columns} rows={order.rows} keyOf={({ name }) => name} sort={order.sort}
        onSort={order.onSort} empty="No run is left by these filters." />
      <Notes notes={notes} />
      <div id="board-downloads"><Downloads sheet={() => sheetOf(choice, order.rows)} /></div>
      {board.entries.length > 1 && <Compare board={board} entries={drawn} />}
      <Curves choice={choice} entries={drawn} />
    </section>
  );
}

const captionOf = ({ board, group }: Choice): string =>
  `${board.title}${group && `, ${group}`}: scores in percent, with ${levelName(board)} intervals for new questions of this kind`;

// Of what the numbers are, and what a reader has to know of them.
function About({ choice }: { choice: Choice }) {
  const { board, k, group, questions, problems } = choice;
  const ranked = metricName(scoreMetric(board.k));
  const told = [
    `${questions.length} questions from ${new Set(problems).size} source problems${board.judge && `; judged by: ${board.judge}`}.`,
    board.reason && `${board.reason.replace(/\.$/, '')}.`,
    k !== board.k || group ? `Ranks are those by ${ranked} on all questions.` : `Ranks are by ${ranked}, right for all runs at once at ${levelName(board)}.`,
    k % 2 && k > 1 ? `For odd k the published mG-Pass@${k} cannot reach 100.` : '',
  ];
  return <p class="note" id="about">{told.filter(Boolean).join(' ')}</p>;
}

const shownIntervals = (choice: Choice, entry: Entry): (Interval | null)[] =>
  [greedyInterval(choice, entry), ...shownMetrics(choice).map((metric) => intervalOf(choice, entry, metric))];

// Letters are given before anything is drawn: rows out of sight have theirs, too.
function footnotesOf(choice: Choice): Footnotes {
  const notes = new Footnotes();
  for (const entry of choice.board.entries) {
    for (const interval of shownIntervals(choice, entry)) {
      if (interval?.refused) notes.letter(noInterval(refusalKind(interval.refused)));
    }
    if (entry.greedyNote) notes.letter(entry.greedyNote);
  }
  return notes;
}

function columnsOf(choice: Choice, runs: readonly Run[], notes: Footnotes): Column<Entry>[] {
  const { board } = choice;
  const some = (count: (entry: Entry) => number | null) => board.entries.some((entry) => count(entry));
  const columns: (Column<Entry> | false)[] = [
    { key: 'curve', head: <span class="unseen">Curve</span>, title: 'Draw its curve', width: 2.2,
      cell: (entry) => <Tick board={board} entry={entry} /> },
    { key: 'rank', head: 'Rank', title: `By ${metricName(scoreMetric(board.k))} on all questions, of all runs at once`,
      cell: rankText, by: ({ ranks: [best, worst] }) => best + worst / 1e6, numeric: true, width: 4.8 },
    { key: 'model', head: 'Model', cell: (entry) => <Name entry={entry} />, by: (entry) => runOf(entry).model, heads: true,
      width: modelWidth(runs, 15) },
    ...settingColumns(runs, runOf),
    { key: 'Greedy', head: 'Greedy', title: 'Accuracy of the greedy run of the same model', numeric: true,
      width: board.entries.some(({ greedyNote }) => greedyNote) ? 7 : 6,
      by: (entry) => greedyInterval(choice, entry)?.estimate ?? null, cell: (entry) => <Greedy choice={choice} entry={entry} notes={notes} /> },
    ...shownMetrics(choice).map((metric) => metricColumn(choice, metric, notes)),
    { key: 'track', head: <span class="unseen">All on one scale</span>, scale: <Scale />, width: 8.4,
      cell: (entry) => <Track choice={choice} standing={standingIn(choice, entry)} /> },
    { key: 'n', head: 'n', title: 'Samples a question', cell: ({ n }) => n, by: ({ n }) => n, numeric: true, width: 3 },
    some(({ tokens }) => tokens) && { key: 'tokens', head: 'Tokens', title: 'Output tokens of all samples', numeric: true, width: 4.5,
      cell: ({ tokens }) => tokensText(tokens), by: ({ tokens }) => tokens },
    some(({ unjudged }) => sumOf(choice, unjudged)) && { key: 'unjudged', head: 'Unjudged', title: 'Samples without a verdict: they count as wrong',
      cell: ({ unjudged }) => sumOf(choice, unjudged), by: ({ unjudged }) => sumOf(choice, unjudged), numeric: true, width: 5 },
    some(({ badges }) => badges.length) && marksColumn(board),
  ];
  return columns.filter((column) => column !== false);
}

function metricColumn(choice: Choice, metric: Metric, notes: Footnotes): Column<Entry> {
  const name = metricName(metric);
  return {
    key: name, head: parted(name), numeric: true, width: Math.max(5.6, 2 + 0.5 * name.split('_')[0].length),
    cell: (entry) => <Stacked interval={intervalOf(choice, entry, metric)} notes={notes} />,
    by: (entry) => intervalOf(choice, entry, metric)?.estimate ?? null,
  };
}

function marksColumn(board: Board): Column<Entry> {
  const longest = Math.max(...board.entries.map(({ badges }) => lengthOf(badges.map(({ text }) => text).join('   '))));
  return {
    key: 'marks', head: 'Marks', title: 'What a reader has to see beside the score', cell: ({ badges }) => <Badges badges={badges} />,
    by: ({ badges }) => badges.length, numeric: false, width: 2 + 0.42 * longest,
  };
}

function Tick({ board, entry }: { board: Board; entry: Entry }) {
  const { address, go } = usePlace();
  const names = ticked(board, address.curves).map(({ name }) => name);
  const toggle = (on: boolean) => go({ curves: on ? [...names, entry.name] : names.filter((name) => name !== entry.name) }, true);
  return (
    <input type="checkbox" aria-label={`Curve of ${entry.name}`} checked={names.includes(entry.name)}
      onChange={({ currentTarget }) => toggle(currentTarget.checked)} />
  );
}

const Name = ({ entry }: { entry: Entry }) => <Link change={{ run: entry.name }} title={entry.name}>{runOf(entry).model}</Link>;

// The interval below the score: a row stays a line, and more fit beside each other.
function Stacked({ interval, notes, more }: { interval: Interval | null; notes: Footnotes; more?: string }) {
  const kind = interval?.refused ? { ...interval, refused: refusalKind(interval.refused), low: undefined, high: undefined } : interval;
  return <span class="stacked"><Score interval={kind} notes={notes} />{more && <sup><Letter text={more} notes={notes} /></sup>}</span>;
}

const Greedy = ({ choice, entry, notes }: { choice: Choice; entry: Entry; notes: Footnotes }) =>
  <Stacked interval={greedyInterval(choice, entry)} notes={notes} more={entry.greedyNote} />;

// Any two of those that are ticked.
function Compare({ board, entries }: { board: Board; entries: Entry[] }) {
  const [chosen, choose] = useState<[string, string]>(['', '']);
  const names = entries.map(({ name }) => name);
  if (names.length < 2) return <p class="note" id="compare">Tick two runs or more in the table to compare two of them.</p>;
  const first = names.includes(chosen[0]) ? chosen[0] : names[0];
  const short = shortNames(board.entries.map(runOf));
  const options = entries.map((entry): [string, string] => [entry.name, short.get(runOf(entry))!]);
  const second = names.includes(chosen[1]) && chosen[1] !== first ? chosen[1] : names.find((name) => name !== first)!;
  return (
    <div class="controls" id="compare" role="group" aria-label="Compare two of the ticked runs">
      <Choose label="Compare" id="first" value={first} values={options} onChange={(name) => choose([name, second])} />
      <Choose label="with" id="second" value={second} values={options.filter(([name]) => name !== first)}
        onChange={(name) => choose([first, name])} />
      <p><Link change={{ board: board.title, run: first, with: second }}>Compare them question by question</Link></p>
    </div>
  );
}

// Every figure in full, of the runs that are shown.
function sheetOf(choice: Choice, entries: readonly Entry[]): Sheet {
  const { board, k, group } = choice;
  const { differ, same } = settingsOf(entries.map(runOf));
  const settings = [...differ, ...same.map(([name]) => name)];
  const metrics = allMetrics(choice);
  const scores = ['Greedy', ...metrics.map(metricName)].flatMap((name) => [name, `${name} low`, `${name} high`, `${name} no interval`]);
  return {
    title: [board.title, group, k === board.k ? '' : `k ${k}`].filter(Boolean).join(' '),
    columns: ['best rank', 'worst rank', 'run', 'model', ...settings, ...scores, 'greedy note', 'n', 'questions', 'tokens', 'unjudged',
      'marks', 'signature'],
    rows: entries.map((entry) => [
      ...entry.ranks, entry.name, runOf(entry).model, ...settings.map((name) => featureOf(runOf(entry), name)),
      ...[greedyInterval(choice, entry), ...metrics.map((metric) => intervalOf(choice, entry, metric))].flatMap(inFull),
      entry.greedyNote, entry.n, choice.questions.length, entry.tokens, sumOf(choice, entry.unjudged),
      entry.badges.map(({ text }) => text).join('; '), entry.signature,
    ]),
    notes: [`Scores in percent, ${levelName(board)} intervals for new questions of this kind.`,
      `Ranks by ${metricName(scoreMetric(board.k))} on all questions.`],
  };
}

export const inFull = (interval: Interval | null): Value[] => (interval
  ? [100 * interval.estimate, interval.refused ? null : 100 * interval.low!, interval.refused ? null : 100 * interval.high!, interval.refused]
  : [null, null, null, '']);

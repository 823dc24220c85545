// One run on a benchmark: what is known of its score, the map of its questions, and the questions that are marked in it.

import { useEffect, useMemo, useRef } from 'preact/hooks';
import { content, type Entry } from './content';
import { Downloads, hundredfold, type Sheet } from './downloads';
import { between, Badges, Choose, Facts, Footnotes, Labelled, Notes, rankText, Score, Table } from './elements';
import { Brushes, brushedInWords, Histogram, ORDERS, QuestionMap, ShareBar } from './map';
import { visible } from './mathematics';
import { brushesOf, markedQuestions, type Marked } from './marks';
import { Link, usePlace } from './navigation';
import { Partner } from './pair';
import {
  ACCURACY, allMetrics, chosenValues, greedyInterval, intervalOf, levelName, metricKey, metricName, percent, shownMetrics, sumOf, type Choice,
} from './scores';
import { total, valueTable, type Interval, type Metric } from './statistics';
import { sorted, VirtualTable, type Column } from './virtual';

interface Shown {
  choice: Choice;
  entry: Entry;
}

export function ModelView({ choice, entry }: Shown) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current!.focus(), []);
  return (
    <section aria-labelledby="model-title">
      <h2 id="model-title" tabIndex={-1} ref={heading}>{entry.name}</h2>
      {entry.badges.length > 0 && <p><Badges badges={entry.badges} /></p>}
      <RunFacts choice={choice} entry={entry} />
      <div class="controls pair-controls"><Partner choice={choice} entry={entry} label="Show it beside" /></div>
      <Metrics choice={choice} entry={entry} />
      <Questions choice={choice} entry={entry} />
    </section>
  );
}

function RunFacts({ choice, entry }: Shown) {
  const { settings } = content.runs[entry.run];
  const reasons = Object.entries(entry.reasons).map(([reason, count]) => `${reason}: ${count}`).join(', ');
  const given = Object.entries(settings).map(([name, value]) => `${name} ${value}`).join(', ');
  return (
    <Facts pairs={[
      ['Rank', `${rankText(entry)} of ${choice.board.entries.length}`],
      ['Settings', given],
      ['Samples a question', String(entry.n)],
      ['Judge', choice.board.judge],
      ['Responses', [entry.ended, entry.health].filter(Boolean).join('; ')],
      ['Unjudged samples', sumOf(choice, entry.unjudged) + (reasons ? ` (all questions: ${reasons})` : '')],
      ['Engine', entry.engine],
      ['Tokens put out', entry.tokens === null ? '' : entry.tokens.toLocaleString('en')],
      ['Greedy', entry.greedyNote],
      ['Warnings', entry.warnings.join('; ')],
      ['Signature', entry.signature && <code>{entry.signature}</code>],
      ['Where the responses are', entry.shards ? <>beside this page, in <code>responses/{entry.shards}</code>: open a question</> : entry.shardsLost],
    ]} />
  );
}

// A line of the table of metrics, in numbers.
interface Line {
  name: string;
  interval: Interval;
  // For new samples of the same questions; Python knows it for all questions, and the k and τ of the board.
  again: [number, number] | null | undefined;
  // If all samples in doubt were right; null where none is.
  bound: number | null;
}

const GREEDY = 'Greedy accuracy';

function linesOf(choice: Choice, entry: Entry): Line[] {
  const lines = allMetrics(choice).filter((metric) => metric.k <= entry.n).map((metric): Line => ({
    name: metricName(metric),
    interval: intervalOf(choice, entry, metric)!,
    again: choice.group ? undefined : entry.rerun[metricKey(metric)],
    bound: boundOf(choice, entry, metric),
  }));
  const greedy = greedyInterval(choice, entry);
  return greedy ? [{ name: GREEDY, interval: greedy, again: undefined, bound: null }, ...lines] : lines;
}

function boundOf(choice: Choice, entry: Entry, metric: Metric): number | null {
  if (!choice.questions.some((position) => entry.inDoubt[position])) return null;
  const most = entry.c.map((c, position) => Math.min(c + entry.inDoubt[position], entry.n));
  return total(chosenValues(choice, metric, most, entry.n)) / choice.questions.length;
}

function Metrics({ choice, entry }: Shown) {
  const lines = linesOf(choice, entry);
  const notes = new Footnotes();
  const level = levelName(choice.board);
  const rows = lines.map(({ name, interval, again, bound }) => [
    name, <Score interval={interval} notes={notes} />,
    again ? between({ low: again[0], high: again[1] }) : '–',
    bound === null ? '–' : percent(bound),
  ]);
  const caption = `Scores of ${entry.name} on ${choice.group || 'all questions'}, in percent, with ${level} intervals: behind the score `
    + 'for new questions, then for the same questions asked again';
  return (
    <>
      <Table caption={caption} heads={['Metric', 'Score', 'Same questions again', 'If all in doubt were right']} rows={rows} numeric={[1, 2, 3]} />
      {notes.all.length > 0 && <Notes notes={notes} />}
      {lines.some(({ again, name }) => !again && name !== GREEDY) && (
        <p class="note">
          How far the same questions may give another score is known for all questions, k = {choice.board.k} and the thresholds of the report.
        </p>
      )}
      <Downloads sheet={() => scoreSheet(choice, entry, lines)} />
    </>
  );
}

const scoreSheet = (choice: Choice, entry: Entry, lines: Line[]): Sheet => ({
  title: `${entry.name} on ${choice.board.title}, scores`,
  columns: ['metric', 'score %', 'low %', 'high %', 'no interval', 'low again %', 'high again %', 'if all in doubt were right %'],
  rows: lines.map(({ name, interval, again, bound }) => [
    name, ...[interval.estimate, interval.low, interval.high].map(hundredfold), interval.refused,
    hundredfold(again?.[0]), hundredfold(again?.[1]), hundredfold(bound),
  ]),
  notes: notesOf(choice, entry),
});

const notesOf = (choice: Choice, entry: Entry): string[] => [
  `${choice.group || 'all questions'}; ${entry.n} samples a question; intervals: ${levelName(choice.board)}`,
  `judge: ${choice.board.judge}`, ...(entry.signature ? [entry.signature] : []),
];

function Questions({ choice, entry }: Shown) {
  const { address, go } = usePlace();
  const picture = useRef<SVGSVGElement>(null);
  const questions = useMemo(() => markedQuestions(choice, entry), [choice, entry]);
  const held = brushesOf(address.brush);
  const words = address.named.toLowerCase();
  const marked = questions.filter((one) => held.every((brush) => brush.of(one)));
  const matching = marked.filter(({ uid }) => uid.toLowerCase().includes(words));
  const columns = useMemo(() => columnsOf(choice, entry), [choice, entry]);
  const [key, descending] = [address.sorted.replace(/^-/, ''), address.sorted.startsWith('-')];
  const rows = sorted(matching, columns.find((column) => column.key === key), descending);
  const sortBy = (column: Column<Marked>) => go({ sorted: column.key === key && !descending ? `-${key}` : column.key }, true);
  return (
    <>
      <h3>Questions</h3>
      <div class="controls">
        <Choose label="Arranged by" id="map-order" value={address.order} values={ORDERS} onChange={(order) => go({ order }, true)} />
      </div>
      <Brushes questions={questions} />
      <div class="map-and-bars">
        <QuestionMap name={entry.name} questions={questions} picture={picture} />
        <Histogram questions={questions} />
      </div>
      <div class="controls">
        <Labelled label="Questions named">
          <input id="question-filter" type="search" value={address.named} onInput={(event) => go({ named: event.currentTarget.value }, true)} />
        </Labelled>
      </div>
      <Downloads drawing={() => picture.current}
        sheet={() => questionSheet(choice, entry, rows, brushedInWords(held, marked.length, questions.length))} />
      <VirtualTable id="questions" caption={`${rows.length} questions; each opens to its samples`} columns={columns} rows={rows}
        keyOf={({ uid }) => uid} sort={{ key, descending }} onSort={sortBy} empty="No question is like that: mark less, or take words back." />
    </>
  );
}

const QUESTION: Column<Marked> = {
  key: 'uid', head: 'Question', width: 10, heads: true,
  cell: ({ uid }) => <Link change={{ question: uid }} title={visible(uid)}>{visible(uid)}</Link>, by: ({ uid }) => uid,
};

function columnsOf(choice: Choice, entry: Entry): Column<Marked>[] {
  return [
    QUESTION,
    { key: 'group', head: 'Group', width: 8, cell: ({ group }) => group, by: ({ group }) => group },
    { key: 'c', head: 'Right', width: 6.5, cell: ({ c, n }) => `${c} of ${n}`, by: ({ c }) => c, numeric: true },
    { key: 'bar', head: 'Share', width: 7.5, cell: ({ c, n }) => <ShareBar c={c} n={n} /> },
    { key: 'cut', head: 'Cut off', width: 5.5, cell: ({ cut }) => cut ?? '–', by: ({ cut }) => cut, numeric: true },
    { key: 'unjudged', head: 'Unjudged', width: 6.5, cell: ({ unjudged }) => unjudged, by: ({ unjudged }) => unjudged, numeric: true },
    ...metricsOf(choice, entry).map((metric): Column<Marked> => {
      const table = valueTable(metric, entry.n);
      const name = metricName(metric);
      return { key: name, head: name, width: 8, cell: ({ c }) => percent(table[c]), by: ({ c }) => table[c], numeric: true };
    }),
  ];
}

const metricsOf = (choice: Choice, entry: Entry): Metric[] => shownMetrics(choice).filter(({ k }) => k <= entry.n);

function questionSheet(choice: Choice, entry: Entry, rows: Marked[], said: string): Sheet {
  const metrics = [ACCURACY, ...metricsOf(choice, entry)];
  return {
    title: `${entry.name} on ${choice.board.title}, questions`,
    columns: ['question', 'group', 'correct', 'samples', 'cut off', 'unjudged', ...metrics.map((metric) => `${metricName(metric)} %`)],
    rows: rows.map(({ uid, group, c, n, cut, unjudged }) => [
      uid, group, c, n, cut, unjudged, ...metrics.map((metric) => 100 * valueTable(metric, n)[c]),
    ]),
    notes: [said, ...notesOf(choice, entry)],
  };
}

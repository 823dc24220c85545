// The first view: what may be said of each benchmark, and every run on all of them.

import './overview.css';
import { useMemo } from 'preact/hooks';
import { TAUS } from './address';
import { Filters, modelWidth, SameSettings, settingColumns, useOrder } from './choosing';
import { boards, content, type Badge, type Board, type Entry, type Run } from './content';
import { Downloads, hundredfold, type Sheet, type Value } from './downloads';
import { lengthOf } from './drawing';
import { badgeClass, Footnotes, Letter, Mark, noInterval, Notes, rankText } from './elements';
import { Link, usePlace } from './navigation';
import { featureOf, isKept, settingsOf, shortNames } from './runs';
import { choose, levelName, metricName, percent, scoreMetric, stable, type Choice } from './scores';
import { sentenceOf, standingOf } from './standing';
import { Key, Scale, standingIn, Track, type Standing } from './track';
import { VirtualTable, type Column } from './virtual';

// A run on a benchmark.
interface Cell {
  entry: Entry;
  standing: Standing;
}

// A run with what it has on each board, in their order.
interface Row {
  run: Run;
  cells: (Cell | null)[];
  average: number | null;
  tokens: number | null;
}

// The first view has each board at its own k, with all of its questions: that is what ranks are of.
const asRanked = (board: Board): Choice => choose(board, { k: null, taus: TAUS, group: '' });

export function Overview() {
  return (
    <section aria-label="Overview">
      {boards.length === 1
        ? <p class="lead"><Sentence board={boards[0]} /></p>
        : <ul class="lead">{boards.map((board) => <li><Sentence board={board} /></li>)}</ul>}
      {boards.length > 1 && <Matrix />}
    </section>
  );
}

function Sentence({ board }: { board: Board }) {
  const parts = useMemo(() => partsOf(board), [board]);
  const few = new Set(board.problem).size < content.limits.problems;
  return (
    <>
      {parts.map(({ text, entry }) => (entry === undefined
        ? text
        : <Link change={{ board: board.title, run: board.entries[entry].name }}>{text}</Link>))}
      {few && board.entries.length > 1 && ` It has fewer than ${content.limits.problems} problems, too few to tell runs apart.`}
    </>
  );
}

function partsOf(board: Board) {
  const choice = asRanked(board);
  const runs = board.entries.map(({ run }) => content.runs[run]);
  const scores = board.entries.map((entry) => standingIn(choice, entry).score?.estimate ?? 0);
  const short = shortNames(runs);
  const names = runs.map((run) => ({ model: run.model, name: short.get(run)! }));
  return sentenceOf(standingOf(board, scores), board.title, names);
}

function rowsOf(): Row[] {
  const choices = boards.map(asRanked);
  const found = content.runs.map((run): Row => ({ run, cells: boards.map(() => null), average: null, tokens: null }));
  boards.forEach((board, place) => {
    for (const entry of board.entries) found[entry.run].cells[place] = { entry, standing: standingIn(choices[place], entry) };
  });
  for (const row of found) Object.assign(row, { average: averageOf(row), tokens: tokensOf(row) });
  return found;
}

// Unweighted, of runs that have all benchmarks; null for others and where there is none.
function averageOf({ cells }: Row): number | null {
  if (content.noAverage) return null;
  const scores = cells.map((cell) => cell?.standing.score?.estimate);
  return scores.includes(undefined) ? null : (scores as number[]).reduce((sum, score) => sum + score, 0) / scores.length;
}

// Of what the average is, where a run was made smaller on a benchmark; '' where none was.
function averageNote({ cells, average }: Row): string {
  if (average === null) return '';
  const smaller = boards.flatMap(({ title }, place) =>
    cells[place]!.entry.badges.filter(({ kind }) => kind === 'limited').map(({ text }) => `${title} (${text})`)).join(', ');
  return smaller && `average of runs that were made smaller on ${smaller}`;
}

function tokensOf({ cells }: Row): number | null {
  const counts = cells.flatMap((cell) => (cell ? [cell.entry.tokens] : []));
  return counts.includes(null) ? null : (counts as number[]).reduce((sum, count) => sum + count, 0);
}

const { format: short } = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

export const tokensText = (tokens: number | null) => (tokens === null ? '–' : <span title={`${tokens} output tokens`}>{short(tokens)}</span>);

// Why an interval is refused, without the figures of one run: so that runs share a footnote.
export const refusalKind = (why: string): string => why.replace(/: [\d.]+ in (effect|all), fewer than ([\d.]+)/, ': fewer than $2 in $1');

function Matrix() {
  const { address } = usePlace();
  const all = useMemo(rowsOf, []);
  const notes = useMemo(() => footnotesOf(all), [all]);
  const columns = useMemo(() => columnsOf(all, notes), [all, notes]);
  const kept = useMemo(() => all.filter(({ run }) => isKept(run, address)), [all, address.words, address.filters]);
  const order = useOrder(kept, columns, content.noAverage ? keyOf(boards[0]) : 'average');
  const levels = [...new Set(boards.map(levelName))];
  const ks = [...new Set(boards.map(({ k }) => k))];
  return (
    <>
      <SameSettings runs={content.runs} />
      {content.noAverage && <p class="note">No average over the benchmarks: {content.noAverage}.</p>}
      <Filters runs={content.runs} />
      <Key k={ks.length === 1 ? ks[0] : null} level={levels.join(' or ')} />
      <VirtualTable id="overview" caption={captionOf(ks)}
        columns={columns} rows={order.rows} keyOf={({ run }) => `${run.host} ${run.name}`} sort={order.sort} onSort={order.onSort}
        empty="No run is left by these filters." />
      <Notes notes={notes} />
      <div id="overview-downloads"><Downloads sheet={() => sheetOf(order.rows)} /></div>
    </>
  );
}

const captionOf = (ks: number[]): string =>
  `Every run on every benchmark. The score is ${ks.length === 1 ? metricName(scoreMetric(ks[0])) : 'mG-Pass@k'} in percent; it opens the run.`;

// Letters are given before anything is drawn: rows out of sight have theirs, too.
function footnotesOf(rows: readonly Row[]): Footnotes {
  const notes = new Footnotes();
  for (const { cells } of rows) {
    for (const cell of cells) if (cell?.standing.score?.refused) notes.letter(noInterval(refusalKind(cell.standing.score.refused)));
  }
  for (const note of rows.map(averageNote)) if (note) notes.letter(note);
  return notes;
}

const keyOf = (board: Board): string => `on ${board.title}`;

function columnsOf(rows: readonly Row[], notes: Footnotes): Column<Row>[] {
  const columns: Column<Row>[] = [
    { key: 'model', head: 'Model', cell: (row) => <Name row={row} />, by: ({ run }) => run.model, heads: true,
      width: modelWidth(content.runs, 16) },
    ...settingColumns<Row>(content.runs, ({ run }) => run),
  ];
  if (!content.noAverage) {
    columns.push({
      key: 'average', head: 'Average', title: 'Unweighted mean of the scores, of runs that have all benchmarks', by: ({ average }) => average,
      cell: (row) => <Average row={row} notes={notes} />, numeric: true, width: rows.some(averageNote) ? 7 : 5.8,
    });
  }
  boards.forEach((board, place) => columns.push(boardColumn(board, place, rows, notes)));
  if (rows.some(({ tokens }) => tokens !== null)) {
    columns.push({
      key: 'tokens', head: 'Tokens', title: 'Output tokens on all benchmarks', by: ({ tokens }) => tokens, numeric: true, width: 4.5,
      cell: ({ tokens }) => tokensText(tokens),
    });
  }
  return columns;
}

function boardColumn(board: Board, place: number, rows: readonly Row[], notes: Footnotes): Column<Row> {
  const marks = Math.max(0, ...rows.map(({ cells }) => lengthOf(marksOf(cells[place]?.entry).join('   '))));
  const choice = asRanked(board);
  return {
    key: keyOf(board),
    head: board.title,
    scale: <Link change={{ board: board.title, sort: '', descending: true }} class="cell heading" title={`All figures of ${board.title}`}>
      <span class="rank" style={{ width: `${ranksWidth(board)}rem` }}>rank</span>{' '}<span class="figure">score</span><Scale /></Link>,
    cell: ({ run, cells }) => <BoardCell run={run} cell={cells[place]} choice={choice} notes={notes} />,
    by: ({ cells }) => cells[place]?.standing.score?.estimate ?? null,
    numeric: true,
    width: 12.9 + ranksWidth(board) + (marks ? 0.9 + 0.47 * Math.min(marks, 26) : 0),
  };
}

// Of the longest rank set that may be, in rem.
const ranksWidth = ({ entries }: Board): number => 0.3 + 0.48 * (2 * String(entries.length).length + 1);

function Average({ row, notes }: { row: Row; notes: Footnotes }) {
  if (row.average === null) return <>–</>;
  const note = averageNote(row);
  return <><span class="score">{percent(row.average)}</span>{note && <sup><Letter text={note} notes={notes} /></sup>}</>;
}

// The first benchmark that a run has is where its name leads.
function Name({ row: { run, cells } }: { row: Row }) {
  const place = cells.findIndex(Boolean);
  return <Link title={run.name} change={{ board: boards[place].title, run: cells[place]!.entry.name }}>{run.model}</Link>;
}

function BoardCell({ run, cell, choice, notes }: { run: Run; cell: Cell | null; choice: Choice; notes: Footnotes }) {
  if (!cell) return <span class="missing">no run</span>;
  const { entry, standing: { score } } = cell;
  const label = `${run.name} on ${choice.board.title}: ${score ? percent(score.estimate) : 'no score'}, rank ${rankText(entry)}`;
  return (
    <span class="cell">
      <span class="rank" style={{ width: `${ranksWidth(choice.board)}rem` }}>{rankText(entry)}</span>
      <span class="figure">
        <Link change={{ board: choice.board.title, run: entry.name }} class="score" label={label}>{score ? percent(score.estimate) : '–'}</Link>
        {score?.refused && <sup><Mark note={refusalKind(score.refused)} notes={notes} /></sup>}
      </span>
      <Track choice={choice} standing={cell.standing} />
      <span class="marks" title={entry.badges.map(({ text }) => text).join(', ')}>
        {marksOf(entry).map((text, i) => <span class={`badge ${i ? '' : badgeClass(entry.badges[0])}`}>{text}</span>)}
      </span>
    </span>
  );
}

// The first badge in a word or two, and how many more there are: the table of the benchmark has them in full.
function marksOf(entry: Entry | undefined): string[] {
  if (!entry?.badges.length) return [];
  const [first, ...more] = entry.badges;
  return [briefly(first), ...(more.length ? [`+${more.length}`] : [])];
}

function briefly({ kind, text }: Badge): string {
  return kind === 'limited' ? kind : text.replace(/^(\d\d+)\.\d+ %/, '$1 %').replace('without an answer', 'no answer');
}

// Every figure in full, intervals too, of the runs that are shown.
function sheetOf(rows: readonly Row[]): Sheet {
  const { differ, same } = settingsOf(content.runs);
  const settings = [...differ, ...same.map(([name]) => name)];
  const figures = ['best rank', 'worst rank', 'mG-Pass@k', 'low', 'high', 'no interval', 'Greedy', 'G-Pass@k_1.0', 'tokens', 'marks'];
  return {
    title: 'All benchmarks',
    columns: ['model', ...settings, ...(content.noAverage ? [] : ['average']), ...boards.flatMap(({ title, k }) =>
      figures.map((name) => `${title}: ${name.replace('mG-Pass@k', metricName(scoreMetric(k))).replace('G-Pass@k_1.0', metricName(stable(k)))}`))],
    rows: rows.map(({ run, cells, average }) => [
      run.model, ...settings.map((name) => featureOf(run, name)), ...(content.noAverage ? [] : [hundredfold(average)]),
      ...cells.flatMap((cell) => (cell ? figuresOf(cell) : figures.map(() => null))),
    ]),
    notes: content.noAverage ? [`No average: ${content.noAverage}.`] : [],
  };
}

function figuresOf({ entry, standing: { score, greedy, stable: all } }: Cell): Value[] {
  return [
    ...entry.ranks, hundredfold(score?.estimate), hundredfold(score?.low), hundredfold(score?.high), score?.refused ?? '', hundredfold(greedy?.estimate),
    hundredfold(all?.estimate), entry.tokens, entry.badges.map(({ text }) => text).join('; '),
  ];
}

// The first view, every run on every benchmark; and the leaderboard of one benchmark.

import { useMemo } from 'preact/hooks';
import { boards, content, rankText, ranking, unpacked, useLoaded, type Board, type Entry, type Run, type Score } from './content';
import { FRESH, Link, usePlace, type Address } from './place';
import { Badges, percent, sorted, Table, type Column } from './widgets';

const runOf = ({ run }: Entry): Run => content.runs[run];

const scoreOf = (board: Board, entry: Entry, name?: string): Score | null => {
  const place = name === undefined ? ranking(board) : board.metrics.indexOf(name);
  return entry.scores[0][place] ?? null;
};

const stableName = ({ k }: Board): string => `G-Pass@${k}_1.0`;

// Runs: which settings tell them apart, and which of them are listed.

type Feature = string | number | null;

const ORDER = ['temperature', 'top_p', 'top_k', 'repetition_penalty', 'random_seed', 'max_out_len', 'host'];

function featureOf(run: Run, name: string): Feature {
  if (name === 'model' || name === 'host') return run[name];
  return Object.hasOwn(run.settings, name) ? run.settings[name] : null;
}

const featureText = (value: Feature): string => (value === null ? 'not set' : String(value));

function valuesOf(runs: readonly Run[], name: string): Feature[] {
  const texts = new Map(runs.map((run) => [featureText(featureOf(run, name)), featureOf(run, name)]));
  return sorted([...texts], ([text, value]) => (value === null ? null : text), false).map(([, value]) => value);
}

// Settings in which runs differ, and those that all of them have.
export function settingsOf(runs: readonly Run[]): { differ: string[]; same: string[] } {
  const place = (name: string) => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
  const names = [...new Set([...runs.flatMap((run) => Object.keys(run.settings)), 'host'])].sort((one, two) => place(one) - place(two));
  const differ = names.filter((name) => valuesOf(runs, name).length > 1);
  return { differ, same: names.filter((name) => name !== 'host' && !differ.includes(name)) };
}

// Whether a run has all the words in its name or settings, and one of the values of each filter.
export function isListed(run: Run, { words, only }: Pick<Address, 'words' | 'only'>): boolean {
  const told = [run.name, run.host, ...Object.entries(run.settings).flat()].join(' ').toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => told.includes(word))
    && Object.entries(only).every(([key, values]) => values.includes(featureText(featureOf(run, key))));
}

function Filters({ runs }: { runs: readonly Run[] }) {
  const { address, go } = usePlace();
  const { differ, same } = useMemo(() => settingsOf(runs), [runs]);
  const names = ['model', ...differ].filter((name) => valuesOf(runs, name).length > 1 || address.only[name]);
  const listed = runs.filter((run) => isListed(run, address)).length;
  const alike = same.map((name) => `${name} ${featureText(featureOf(runs[0], name))}`).join(', ');
  if (runs.length < 2) return null;
  const tick = (name: string, text: string, on: boolean) => {
    const { [name]: before = [], ...others } = address.only;
    const after = on ? [...before, text] : before.filter((one) => one !== text);
    go({ only: after.length ? { ...others, [name]: after } : others }, true);
  };
  const close = (event: KeyboardEvent & { currentTarget: HTMLDetailsElement }) => {
    if (event.key !== 'Escape') return;
    event.currentTarget.open = false;
    event.currentTarget.querySelector('summary')!.focus();
  };
  return (
    <>
      {alike && <p class="note">All runs have {alike}.</p>}
      <div class="controls filters" role="group" aria-label="Which runs are shown">
        <label>Runs with the words
          <input id="filter" type="search" value={address.words}
            onInput={({ currentTarget }) => go({ words: currentTarget.value }, true)} />
        </label>
        {names.map((name) => {
          const chosen = address.only[name] ?? [];
          const texts = new Set([...valuesOf(runs, name).map(featureText), ...chosen]);
          return (
            <details class="filter" name="filter" data-filter={name} onKeyDown={close}>
              <summary>{name}: {chosen.length ? <strong>{chosen.join(', ')}</strong> : 'all'}</summary>
              <fieldset>
                <legend class="unseen">{name}</legend>
                {[...texts].map((text) => (
                  <label><input type="checkbox" checked={chosen.includes(text)}
                    onChange={({ currentTarget }) => tick(name, text, currentTarget.checked)} /> {text}</label>
                ))}
              </fieldset>
            </details>
          );
        })}
        <p id="shown">{listed === runs.length ? `${runs.length} runs` : `${listed} of ${runs.length} runs`}</p>
        {listed < runs.length && <button type="button" onClick={() => go({ words: '', only: {} })}>Show all runs</button>}
      </div>
    </>
  );
}

// Names of settings and metrics may be broken where they have a low line.
const parted = (name: string) => name.split('_').map((part, i) => [i > 0 && <wbr />, i ? `_${part}` : part]);

function settingColumns<Row>(runs: readonly Run[], of: (row: Row) => Run): Column<Row>[] {
  return settingsOf(runs).differ.map((name): Column<Row> => {
    const texts = runs.some((run) => typeof featureOf(run, name) === 'string');
    const by = (row: Row) => { const value = featureOf(of(row), name); return texts && value !== null ? String(value) : value; };
    return { key: name, head: parted(name), cell: (row) => featureOf(of(row), name) ?? '–', by, numeric: !texts };
  });
}

// A run on a scale from 0 to 100: mG-Pass@k with its interval as a bar, and below it greedy accuracy and G-Pass@k_1.0 as the two ends of a
// line. Shapes tell them apart, colours only help.

const at = (value: number): number => 6 + 1.08 * value;
const DIAMOND = 'M0-4.5 4.5 0 0 4.5-4.5 0z';

function Dots({ board, entry }: { board: Board; entry: Entry }) {
  const [score, greedy, stable] = [scoreOf(board, entry), scoreOf(board, entry, 'Greedy'), scoreOf(board, entry, stableName(board))];
  const words = [
    score && `${board.metrics[ranking(board)]} ${percent(score[0])}`,
    score?.[1] != null && `${board.level} from ${percent(score[1], 1)} to ${percent(score[2]!, 1)}`,
    greedy && `greedy ${percent(greedy[0])}`, stable && `${stableName(board)} ${percent(stable[0])}`,
  ].filter(Boolean).join(', ');
  return (
    <svg class="dots" viewBox="0 0 120 28" width={120} height={28} role="img" aria-label={words}>
      <title>{words}</title>
      {[0, 50, 100].map((tick) => <line class="grid" x1={at(tick)} x2={at(tick)} y1={0} y2={28} />)}
      {score && (
        <g class="bar">
          {score[1] !== null && <rect x={at(score[1])} y={5} width={at(score[2]!) - at(score[1])} height={6} rx={3} />}
          <circle cx={at(score[0])} cy={8} r={3.5} />
        </g>
      )}
      <g class="dumbbell">
        {greedy && stable && <line x1={at(greedy[0])} x2={at(stable[0])} y1={20} y2={20} />}
        {stable && <path d={DIAMOND} transform={`translate(${at(stable[0]).toFixed(1)} 20)`} />}
        {greedy && <circle cx={at(greedy[0])} cy={20} r={3.5} />}
      </g>
    </svg>
  );
}

const Scale = () => (
  <svg class="dots" viewBox="0 0 120 14" width={120} height={14} aria-hidden="true">
    {[0, 50, 100].map((tick) => <text x={at(tick)} y={11} text-anchor="middle">{tick}</text>)}
  </svg>
);

// What is what in a drawing.
function Key({ k, level }: { k: string; level: string }) {
  const drawn = (children: preact.ComponentChildren) =>
    <svg class="dots" viewBox="0 0 40 14" width={40} height={14} aria-hidden="true">{children}</svg>;
  return (
    <ul class="key" aria-label="Key">
      <li>{drawn(<g class="bar"><rect x={4} y={4} width={32} height={6} rx={3} /><circle cx={18} cy={7} r={3.5} /></g>)}{' '}
        mG-Pass@{k} with its {level} interval</li>
      <li>{drawn(<g class="dumbbell"><circle cx={20} cy={7} r={3.5} /></g>)} greedy accuracy</li>
      <li>{drawn(<g class="dumbbell"><path d={DIAMOND} transform="translate(20 7)" /></g>)} G-Pass@{k}_1.0: all {k} answers right</li>
      <li><strong>1–3</strong> ranks that the data allow, of all runs at once</li>
    </ul>
  );
}

const { format: briefly } = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

const tokensText = (tokens: number | null) => (tokens === null ? '–' : <span title={`${tokens} output tokens`}>{briefly(tokens)}</span>);

// The first view.

interface Row {
  run: Run;
  // On each board.
  entries: (Entry | undefined)[];
  tokens: number | null;
}

function rowsOf(): Row[] {
  return content.runs.map((run, place): Row => {
    const entries = boards.map((board) => board.entries.find((entry) => entry.run === place));
    const tokens = entries.flatMap((entry) => (entry ? [entry.tokens] : []));
    return { run, entries, tokens: tokens.includes(null) ? null : (tokens as number[]).reduce((sum, one) => sum + one, 0) };
  });
}

export function Overview() {
  const { address } = usePlace();
  const rows = useMemo(rowsOf, []);
  const columns = useMemo(() => overviewColumns(rows), [rows]);
  const listed = useMemo(() => rows.filter(({ run }) => isListed(run, address)), [rows, address.words, address.only]);
  const ks = [...new Set(boards.map(({ k }) => k))];
  const k = ks.length === 1 ? String(ks[0]) : 'k';
  if (boards.length === 1) return <p class="lead"><Leader board={boards[0]} /></p>;
  return (
    <section aria-label="Overview">
      <ul class="lead">{boards.map((board) => <li><Leader board={board} /></li>)}</ul>
      {content.noAverage && <p class="note">No average over the benchmarks: {content.noAverage}.</p>}
      <Filters runs={content.runs} />
      <Key k={k} level={[...new Set(boards.map(({ level }) => level))].join(' or ')} />
      <Table id="overview" caption={`Every run on every benchmark. The score is mG-Pass@${k} in percent; it opens the run.`}
        columns={columns} rows={listed} keyOf={({ run }) => `${run.host} ${run.name}`}
        usual={content.noAverage ? `on ${boards[0].title}` : 'average'} empty="No run is left by these filters." />
    </section>
  );
}

function overviewColumns(rows: readonly Row[]): Column<Row>[] {
  const columns: (Column<Row> | false)[] = [
    { key: 'model', head: 'Model', heads: true, by: ({ run }) => run.model, cell: ({ run, entries }) => {
      const place = entries.findIndex(Boolean);
      return <Link title={run.name} change={{ ...FRESH, board: boards[place].title, run: entries[place]!.name }}>{run.model}</Link>;
    } },
    ...settingColumns<Row>(content.runs, ({ run }) => run),
    !content.noAverage && { key: 'average', head: 'Average', numeric: true, title: 'Mean of the scores, of runs that have all benchmarks',
      by: ({ run }) => run.average?.[0] ?? null, cell: ({ run }) => <Stacked score={run.average} /> },
    ...boards.map((board, place): Column<Row> => ({
      key: `on ${board.title}`, head: board.title, numeric: true,
      by: ({ entries }) => (entries[place] && scoreOf(board, entries[place]!)?.[0]) ?? null,
      below: <Link change={{ ...FRESH, board: board.title }} class="cell heading" title={`All figures of ${board.title}`}>
        <span class="rank">rank</span> <span class="figure">score</span> <Scale /></Link>,
      cell: ({ run, entries }) => <BoardCell run={run} board={board} entry={entries[place]} />,
    })),
    rows.some(({ tokens }) => tokens !== null) && { key: 'tokens', head: 'Tokens', title: 'Output tokens on all benchmarks', numeric: true,
      by: ({ tokens }) => tokens, cell: ({ tokens }) => tokensText(tokens) },
  ];
  return columns.filter((column) => column !== false);
}

function BoardCell({ run, board, entry }: { run: Run; board: Board; entry?: Entry }) {
  if (!entry) return <span class="cell note">no run</span>;
  const score = scoreOf(board, entry);
  const figure = score ? percent(score[0]) : '–';
  const [first, ...more] = entry.badges;
  return (
    <span class="cell">
      <span class="rank">{rankText(entry)}</span>
      <Link change={{ ...FRESH, board: board.title, run: entry.name }} class="figure score"
        label={`${run.name} on ${board.title}: ${figure}, rank ${rankText(entry)}`}>{figure}</Link>
      <Dots board={board} entry={entry} />
      {first && <span class="short" title={entry.badges.join(', ')}>
        <Badges badges={[first.replace(/\.\d %/, ' %')]} />{more.length > 0 && ` +${more.length}`}</span>}
    </span>
  );
}

// Who leads, as far as the ranks of the table tell runs apart, which are of all pairs at once.
function Leader({ board }: { board: Board }) {
  const { entries, title } = board;
  const link = (entry: Entry) => <Link change={{ ...FRESH, board: title, run: entry.name }}>{entry.name}</Link>;
  const others = entries.filter(({ ranks }, i) => i && ranks[0] === 1);
  if (entries.length === 1) return <>Only {link(entries[0])} was run on {title}.</>;
  if (others.length === entries.length - 1) return <>No run can be told from the others on {title}.</>;
  const named = others.flatMap((entry, i) => [i ? (i === others.length - 1 ? ' and ' : ', ') : '', link(entry)]);
  const rest = !others.length ? <>: all {entries.length - 1} others are behind it.</>
    : <>; {others.length > 3 ? `${others.length} of ${entries.length - 1} others` : named} may be as good.</>;
  return <>{link(entries[0])} leads {title}{rest}</>;
}

// One benchmark.

export function BoardView({ board }: { board: Board }) {
  const { address } = usePlace();
  const runs = useMemo(() => board.entries.map(runOf), [board]);
  const columns = useMemo(() => boardColumns(board, runs), [board, runs]);
  const listed = useMemo(() => board.entries.filter((entry) => isListed(runOf(entry), address)), [board, address.words, address.only]);
  return (
    <section aria-labelledby="board-title">
      <h2 id="board-title">{board.title}</h2>
      <p class="note" id="about">
        {board.uids.length} questions from {new Set(board.problem).size} source problems; judged by: {board.judge}. Ranks are
        by {board.metrics[ranking(board)]}, all runs compared at once at {board.level}. {board.notes.join(' ')}
      </p>
      <Filters runs={runs} />
      <Key k={String(board.k)} level={board.level} />
      <Table id="board" caption={`${board.title}: scores in percent, with ${board.level} intervals for new questions of this kind`}
        columns={columns} rows={listed}
        keyOf={({ name }) => name} usual="rank" empty="No run is left by these filters." />
      <Figures board={board} />
    </section>
  );
}

// The interval below the score: a row stays a line, and more fit beside each other.
export function Stacked({ score }: { score: Score | null }) {
  if (!score) return <>–</>;
  const [value, low, high] = score;
  const range = low !== null && <span class="range">{percent(low, 1)} – {percent(high!, 1)}</span>;
  return <span class="stacked"><span class="score">{percent(value)}</span> {range}</span>;
}

function boardColumns(board: Board, runs: readonly Run[]): Column<Entry>[] {
  const some = (count: (entry: Entry) => unknown) => board.entries.some(count);
  const columns: (Column<Entry> | false)[] = [
    { key: 'rank', head: 'Rank', title: 'Best and worst rank, of all runs at once', numeric: true, rising: true,
      by: ({ ranks: [best, worst] }) => best + worst / 1e6, cell: rankText },
    { key: 'model', head: 'Model', heads: true, by: (entry) => runOf(entry).model,
      cell: (entry) => <><Link change={{ ...FRESH, board: board.title, run: entry.name }} title={entry.name}>{runOf(entry).model}</Link>
        {entry.badges.length > 0 && <span class="under"><Badges badges={entry.badges} /></span>}</> },
    ...settingColumns(runs, runOf),
    ...board.columns.map((place): Column<Entry> => ({
      key: board.metrics[place], head: parted(board.metrics[place]), numeric: true, by: ({ scores }) => scores[0][place]?.[0] ?? null,
      cell: (entry) => <><Stacked score={entry.scores[0][place]} />
        {board.metrics[place] === 'Greedy' && entry.greedyNote && <abbr title={entry.greedyNote}>*</abbr>}</>,
    })),
    { key: 'dots', head: <span class="unseen">All on one scale</span>, below: <Scale />,
      cell: (entry) => <Dots board={board} entry={entry} /> },
    { key: 'n', head: 'n', title: 'Samples a question', cell: ({ n }) => n, by: ({ n }) => n, numeric: true },
    some(({ tokens }) => tokens) && { key: 'tokens', head: 'Tokens', title: 'Output tokens of all samples', numeric: true,
      by: ({ tokens }) => tokens, cell: ({ tokens }) => tokensText(tokens) },
  ];
  return columns.filter((column) => column !== false);
}

// Those of the report, drawn by Python; pictures, so that nothing in them can act.
function Figures({ board }: { board: Board }) {
  const drawn = useLoaded(() => Promise.all(board.figures.map(([, packed]) => unpacked<string>(packed))), [board]);
  return (
    <>
      {drawn?.map((svg, i) => (
        <figure>
          <img alt={board.figures[i][0]} src={`data:image/svg+xml,${encodeURIComponent(svg)}`} loading="lazy" />
          <figcaption>{board.figures[i][0]}</figcaption>
        </figure>
      ))}
    </>
  );
}

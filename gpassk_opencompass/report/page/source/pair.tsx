// Two runs beside each other: two models, or two judges of one run.

import './pair.css';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Address } from './address';
import { boards, content, entryOf, type Entry } from './content';
import { Downloads, type Sheet } from './downloads';
import { Choose, Facts } from './elements';
import type { Other } from './main';
import { visible } from './mathematics';
import { Link, usePlace } from './navigation';
import { Scatter } from './scatter';
import { compared, levelName, metricName, percent, signed, type Choice } from './scores';
import type { Comparison, Metric } from './statistics';
import {
  agreementOf, alignedCounts, dotKey, partnersOf, sharedMetrics, tableInWords, toldByTable, twinsOf, whyBoth, type Twin,
} from './twins';
import { sorted, VirtualTable, type Column } from './virtual';

interface Shown {
  choice: Choice;
  first: Entry;
  other: Other;
}

export function PairView({ choice, first, other }: Shown) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current!.focus(), []);
  const counts = useMemo(() => alignedCounts(choice.board, other), [choice.board, other.entry]);
  return (
    <section aria-labelledby="pair-title">
      <h2 id="pair-title" tabIndex={-1} ref={heading}>{headingOf(choice, first, other)}</h2>
      <PairControls choice={choice} first={first} other={other} />
      {counts
        ? <Compared choice={choice} first={first} other={other} counts={counts} />
        : <p role="alert">{refusedInWords(choice, other)}</p>}
    </section>
  );
}

const oneRun = (first: Entry, other: Other): boolean => first.run === other.entry.run;

function headingOf({ board }: Choice, first: Entry, other: Other): string {
  if (other.board === board) return `${first.name} beside ${other.entry.name}`;
  return oneRun(first, other) ? `${first.name}: two judges` : `${first.name} beside ${other.entry.name}, by two judges`;
}

const refusedInWords = ({ board }: Choice, other: Other): string =>
  `“${board.title}” (${board.uids.length} questions) and “${other.board.title}” (${other.board.uids.length}) do not have the same questions `
  + 'and references: question by question there is nothing to compare. Choose a run of the same questions above.';

const keyOf = ({ board, entry }: Other): string => JSON.stringify([board.title, entry.name]);

const chosen = (key: string): Other => {
  const [title, name] = JSON.parse(key);
  const board = boards.find((one) => one.title === title)!;
  return { board, entry: entryOf(board, name)! };
};

const namesOf = (others: Other[], board: Choice['board']): [string, string][] =>
  others.map((one) => [keyOf(one), one.board === board ? one.entry.name : `${one.entry.name} · judge: ${one.board.judge}`]);

// Choose what stands beside a run; '' is none.
export function Partner({ choice, entry, other, label }: { choice: Choice; entry: Entry; other?: Other; label: string }) {
  const { go } = usePlace();
  const others = partnersOf(choice.board).filter((one) => one.entry !== entry);
  if (!others.length) return null;
  const beside = (key: string) => {
    const next = key ? chosen(key) : null;
    go({
      with: next?.entry.name ?? '', withBoard: next && next.board !== choice.board ? next.board.title : '', question: '', samples: [],
      brush: '', sorted: '',
    });
  };
  const values: [string, string][] = [['', 'no other run'], ...namesOf(others, choice.board)];
  return <Choose label={label} id="beside" value={other ? keyOf(other) : ''} values={values} onChange={beside} />;
}

function PairControls({ choice, first, other }: Shown) {
  const { address, go } = usePlace();
  const { board } = choice;
  const swapped: Partial<Address> = {
    board: other.board.title, run: other.entry.name, with: first.name, withBoard: other.board === board ? '' : board.title, brush: '',
  };
  const metrics = sharedMetrics(choice, first, other.entry).map(metricName);
  const pickFirst = (name: string) => go(other.board === board && name === other.entry.name ? swapped : { run: name, brush: '' });
  return (
    <div class="controls pair-controls">
      <Choose label="First" id="first" value={first.name} values={board.entries.map(({ name }) => name)} onChange={pickFirst} />
      <Partner choice={choice} entry={first} other={other} label="Second" />
      <button type="button" onClick={() => go(swapped)}>Swap the two</button>
      {other.board === board && (
        <Choose label="Metric" id="metric" value={metricName(metricOf(choice, first, other, address))} values={metrics}
          onChange={(metric) => go({ metric }, true)} />
      )}
    </div>
  );
}

// That of the address, or the last one that both have samples for: mG-Pass@k.
function metricOf(choice: Choice, first: Entry, other: Other, address: Address): Metric {
  const metrics = sharedMetrics(choice, first, other.entry);
  return metrics.find((metric) => metricName(metric) === address.metric) ?? metrics[metrics.length - 1];
}

function Compared({ choice, first, other, counts }: Shown & { counts: number[] }) {
  const { address, go } = usePlace();
  const picture = useRef<SVGSVGElement>(null);
  const twins = useMemo(() => twinsOf(choice, first, other.entry, counts), [choice, first, other.entry, counts]);
  const said = other.board === choice.board
    ? statements(choice, first, other, metricOf(choice, first, other, address))
    : agreement(choice, first, other, twins);
  const names: [string, string] = other.board === choice.board || !oneRun(first, other)
    ? [first.name, other.entry.name] : [`by ${choice.board.judge}`, `by ${other.board.judge}`];
  const pick = (key: string) => go({ brush: address.brush === key ? '' : key }, true);
  return (
    <>
      {said.lead && <p class="lead" id="told">{said.lead}</p>}
      {said.head && <h3>{said.head}</h3>}
      <Facts pairs={said.facts} />
      {said.after && <p id="both">{said.after}</p>}
      <h3>Question by question</h3>
      <Scatter twins={twins} names={names} sizes={[first.n, other.entry.n]} picked={address.brush} pick={pick} picture={picture} />
      <Downloads drawing={() => picture.current} sheet={() => pairSheet(choice, first, other, twins, said)} />
      <Differing twins={twins} names={names} sizes={[first.n, other.entry.n]} />
    </>
  );
}

interface Said {
  lead: string;
  head: string;
  facts: [string, string][];
  after: string;
}

// What the table says first; then, named as such, what the two alone say.
function statements(choice: Choice, first: Entry, other: Other, metric: Metric): Said {
  const second = other.entry;
  const told = toldByTable(choice, first, other);
  const found = compared(choice, first, second, metric, second.c);
  return {
    lead: told ? tableInWords(told, choice, [first.name, second.name])
      : `The table of all runs says nothing here: it is of all questions and k = ${choice.board.k}.`,
    head: 'Of these two, chosen beforehand',
    facts: [
      [`Difference of ${metricName(metric)}, first − second`, `${signed(found.difference)} points`],
      [`${levelName(choice.board)} interval`, found.refused ? `none: ${found.refused}` : `${signed(found.low!)} to ${signed(found.high!)}`],
      ['p-value', found.refused ? '' : pInWords(found)],
      ['Standard error', `${percent(found.error)} question by question; ${percent(found.unpairedError)} if each had been asked questions of its own`],
      ['Of', `${choice.group || 'all questions'}: ${choice.questions.length}, ${new Set(choice.problems).size} problems`],
    ],
    after: whyBoth(told, found, metric, choice),
  };
}

const pInWords = ({ p }: Comparison): string => (p! < 1e-4 ? '< 0.0001' : p!.toFixed(4));

// Two judges: how far they agree, not which is better.
function agreement(choice: Choice, first: Entry, other: Other, twins: Twin[]): Said {
  const { questions, equal, firstMore, secondMore, apart } = agreementOf(twins);
  const share = (count: number) => `${count} of ${questions} (${percent(count / questions, 1)} %)`;
  const same = oneRun(first, other);
  return {
    lead: same ? 'Both judged the same run, so this says how far the judges agree, not what the model can do.'
      : 'Two runs under two judges: a difference may be that of the judges, so neither is called better.',
    head: 'Agreement',
    facts: [
      ['First judge', choice.board.judge],
      ['Second judge', other.board.judge],
      ['As often right by both', share(equal)],
      ['More often right by the first', share(firstMore)],
      ['More often right by the second', share(secondMore)],
      ['Mean distance of c/n', `${percent(apart)} points`],
    ],
    after: same ? 'Equal counts need not be equal verdicts: gpassk judge-agreement --stores compares two judges answer by answer.' : '',
  };
}

interface Sides {
  twins: Twin[];
  names: [string, string];
  sizes: [number, number];
}

// The questions that differ most, or those of a dot.
function Differing({ twins, names, sizes }: Sides) {
  const { address, go } = usePlace();
  const held = twins.filter((twin) => dotKey(twin) === address.brush);
  const shown = held.length ? held : twins;
  const columns = useMemo(() => columnsOf(names, sizes), [...names, ...sizes]);
  const by = address.sorted || '-apart';
  const [key, descending] = [by.replace(/^-/, ''), by.startsWith('-')];
  const apart: Column<Twin> = { key: 'apart', head: '', cell: () => '', by: ({ difference }) => Math.abs(difference) };
  const rows = sorted(shown, [...columns, apart].find((column) => column.key === key), descending);
  return (
    <>
      {held.length > 0 && (
        <p>
          The {held.length === 1 ? 'question' : `${held.length} questions`} of the dot: first {held[0].first} of {sizes[0]} right,{' '}
          second {held[0].second} of {sizes[1]}.{' '}
          <button type="button" class="link" onClick={() => go({ brush: '' }, true)}>Show all questions</button>
        </p>
      )}
      <VirtualTable id="twins" caption={`${rows.length} questions${by === '-apart' ? ', those that differ most first' : ''}; each opens for both`}
        columns={columns} rows={rows} keyOf={({ uid }) => uid} sort={{ key, descending }}
        onSort={(column) => go({ sorted: column.key === key && !descending ? `-${key}` : column.key }, true)} />
    </>
  );
}

const columnsOf = (names: [string, string], sizes: [number, number]): Column<Twin>[] => [
  {
    key: 'uid', head: 'Question', width: 14, heads: true,
    cell: ({ uid }) => <Link change={{ question: uid }} title={visible(uid)}>{visible(uid)}</Link>, by: ({ uid }) => uid,
  },
  { key: 'group', head: 'Group', width: 10, cell: ({ group }) => group, by: ({ group }) => group },
  {
    key: 'first', head: 'First right', width: 8, title: names[0], numeric: true,
    cell: ({ first }) => `${first} of ${sizes[0]}`, by: ({ first }) => first,
  },
  {
    key: 'second', head: 'Second right', width: 8, title: names[1], numeric: true,
    cell: ({ second }) => `${second} of ${sizes[1]}`, by: ({ second }) => second,
  },
  {
    key: 'difference', head: 'First − second, points', width: 13, numeric: true,
    cell: ({ difference }) => signed(difference, 1), by: ({ difference }) => difference,
  },
];

function pairSheet(choice: Choice, first: Entry, other: Other, twins: Twin[], said: Said): Sheet {
  return {
    title: `${headingOf(choice, first, other)} on ${choice.board.title}`,
    columns: ['question', 'group', 'correct, first', 'samples, first', 'correct, second', 'samples, second', 'first - second, points'],
    rows: twins.map((twin) => [twin.uid, twin.group, twin.first, first.n, twin.second, other.entry.n, 100 * twin.difference]),
    notes: [
      `first: ${first.name}, ${choice.board.judge}, ${content.runs[first.run].host}: ${first.signature}`,
      `second: ${other.entry.name}, ${other.board.judge}, ${content.runs[other.entry.run].host}: ${other.entry.signature}`,
      said.lead, ...said.facts.filter(([, value]) => value).map((fact) => fact.join(': ')), said.after,
    ].filter(Boolean),
  };
}

// Two runs on the same questions, question by question: what stands where, how far they agree, and what is said of them.

import { boards, type Board, type Entry } from './content';
import type { Other } from './main';
import { allMetrics, better, levelName, metricName, scoreMetric, type Choice } from './scores';
import type { Comparison, Metric } from './statistics';

// A question as both answered it.
export interface Twin {
  uid: string;
  group: string;
  first: number;
  second: number;
  // Share of right samples, first − second.
  difference: number;
}

// Counts of the other run in the order of this board; null where its questions are others.
export function alignedCounts(board: Board, other: Other): number[] | null {
  if (other.board === board) return other.entry.c;
  if (other.board.data !== board.data || other.board.uids.length !== board.uids.length) return null;
  const place = new Map(other.board.uids.map((uid, i) => [uid, i]));
  const places = board.uids.map((uid) => place.get(uid));
  return places.every((one) => one !== undefined) ? places.map((one) => other.entry.c[one!]) : null;
}

export function twinsOf({ board, questions }: Choice, first: Entry, second: Entry, counts: number[]): Twin[] {
  return questions.map((position) => ({
    uid: board.uids[position],
    group: board.groups[board.group[position]],
    first: first.c[position],
    second: counts[position],
    difference: (first.c[position] * second.n - counts[position] * first.n) / (first.n * second.n),
  }));
}

// Questions of the same counts: a dot of the scatter.
export interface Dot {
  key: string;
  first: number;
  second: number;
  count: number;
}

export const dotKey = ({ first, second }: { first: number; second: number }): string => `${first}-${second}`;

// From left to right, and from below.
export function dotsOf(twins: readonly Twin[]): Dot[] {
  const dots = new Map<string, Dot>();
  for (const { first, second } of twins) {
    const key = dotKey({ first, second });
    const dot = dots.get(key) ?? { key, first, second, count: 0 };
    dots.set(key, dot);
    dot.count += 1;
  }
  return [...dots.values()].sort((one, two) => one.first - two.first || one.second - two.second);
}

export interface Agreement {
  questions: number;
  equal: number;
  firstMore: number;
  secondMore: number;
  // Mean of |difference|.
  apart: number;
}

export function agreementOf(twins: readonly Twin[]): Agreement {
  const count = (of: (difference: number) => boolean) => twins.filter(({ difference }) => of(difference)).length;
  return {
    questions: twins.length,
    equal: count((difference) => difference === 0),
    firstMore: count((difference) => difference > 0),
    secondMore: count((difference) => difference < 0),
    apart: twins.reduce((sum, { difference }) => sum + Math.abs(difference), 0) / twins.length,
  };
}

// Metrics that both have samples for.
export const sharedMetrics = (choice: Choice, first: Entry, second: Entry): Metric[] =>
  allMetrics(choice).filter(({ k }) => k <= Math.min(first.n, second.n));

// What may stand beside a run: every run of the same questions, by this judge or another.
export const partnersOf = (board: Board): Other[] =>
  boards.filter(({ data }) => data === board.data).flatMap((one) => one.entries.map((entry) => ({ board: one, entry })));

export type Told = 'first' | 'second' | 'neither';

// What the table says of the two, of all its pairs at once; null where it is of other questions, another k or another board.
export function toldByTable(choice: Choice, first: Entry, other: Other): Told | null {
  const { board, k, group } = choice;
  if (other.board !== board || k !== board.k || group || first === other.entry) return null;
  if (better(board, first, other.entry)) return 'first';
  return better(board, other.entry, first) ? 'second' : 'neither';
}

export function tableInWords(told: Told, { board }: Choice, [first, second]: [string, string]): string {
  const table = `in the table of all ${board.entries.length} runs (${metricName(scoreMetric(board.k))}, all pairs at once, ${levelName(board)})`;
  if (told === 'neither') return `Not told apart ${table}.`;
  const [above, below] = told === 'first' ? [first, second] : [second, first];
  return `Told apart ${table}: ${above} is better than ${below}.`;
}

// Which of the two a comparison of them alone puts above.
export const toldByPair = ({ low, high }: Comparison): Told =>
  (low !== undefined && low > 0 ? 'first' : high !== undefined && high < 0 ? 'second' : 'neither');

// Why the table and the comparison of the two alone say different things; '' where they do not.
export function whyBoth(told: Told | null, found: Comparison, metric: Metric, { board }: Choice): string {
  const pair = toldByPair(found);
  if (told === null || told === pair) return '';
  const other = metricName(metric) !== metricName(scoreMetric(board.k));
  const reasons = [other ? `the table is by ${metricName(scoreMetric(board.k))}, this by ${metricName(metric)}` : ''];
  const pairs = (board.entries.length * (board.entries.length - 1)) / 2;
  if (told === 'neither' && pairs > 1) {
    reasons.push(`the table speaks of ${pairs} pairs at once and asks more of each, so that a pair picked because it looks far apart is `
      + 'not taken for different by chance; this holds for two that were chosen before anybody saw their scores');
  }
  const why = reasons.filter(Boolean);
  if (!why.length) why.push('the table also swaps the two on random problems, and asks more where few problems differ');
  return `Both can be true: ${why.join('; ')}.`;
}

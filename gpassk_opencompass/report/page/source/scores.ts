// Scores of a choice of questions, k and thresholds: computed from counts when they are asked for, and once.

import type { Address } from './address';
import { content, type Board, type Entry } from './content';
import { meanInterval, pairedComparison, total, values, type Comparison, type Interval, type Metric } from './statistics';

// What the numbers of a view are of.
export interface Choice {
  board: Board;
  k: number;
  taus: number[];
  // The contest and language; '' are all.
  group: string;
  // Places of its questions, and the source problem of each.
  questions: number[];
  problems: number[];
}

export const ACCURACY: Metric = { family: 'accuracy', k: 1 };

const choices = new WeakMap<Board, Map<string, Choice>>();

export function choose(board: Board, address: Pick<Address, 'k' | 'taus' | 'group'>): Choice {
  const group = board.groups.includes(address.group) ? address.group : '';
  const k = Math.min(address.k ?? board.k, Math.max(...board.entries.map((entry) => entry.n)));
  const key = `${k} ${address.taus.join()} ${group}`;
  const known = choices.get(board) ?? new Map<string, Choice>();
  choices.set(board, known);
  if (!known.has(key)) {
    const place = board.groups.indexOf(group);
    const questions = board.uids.map((_, position) => position)
      .filter((position) => place < 0 || board.group[position] === place);
    const problems = questions.map((position) => board.problem[position]);
    known.set(key, { board, k, taus: address.taus, group, questions, problems });
  }
  return known.get(key)!;
}

// As the published names write a threshold: 1.0, not 1.
export const decimal = (tau: number): string => (Number.isInteger(tau) ? tau.toFixed(1) : String(tau));

export const metricName = ({ family, k, tau }: Metric): string =>
  family === 'accuracy' ? 'Accuracy' : family === 'G-Pass' ? `G-Pass@${k}_${decimal(tau!)}` : `${family}@${k}`;

// As Python writes it.
export const metricKey = (metric: Metric): string => (metric.family === 'accuracy' ? metric.family : metricName(metric));

export const stable = (k: number): Metric => ({ family: 'G-Pass', k, tau: 1 });

const mean = (k: number): Metric => ({ family: 'mG-Pass', k });

// By what runs are ranked; k = 1 has no mG-Pass@k.
export const scoreMetric = (k: number): Metric => (k > 1 ? mean(k) : stable(k));

// G-Pass@k at each threshold, then mG-Pass@k; k = 1 has no mean.
export function shownMetrics({ k, taus }: Choice): Metric[] {
  const steps: Metric[] = taus.map((tau) => ({ family: 'G-Pass', k, tau }));
  return k > 1 ? [...steps, mean(k)] : steps;
}

export const allMetrics = (choice: Choice): Metric[] =>
  [ACCURACY, { family: 'pass', k: choice.k }, ...shownMetrics(choice)];

export const chosenValues = (choice: Choice, metric: Metric, counts: number[], n: number): number[] =>
  values(metric, choice.questions.map((position) => counts[position]), n);

const intervals = new WeakMap<Choice, Map<string, Interval>>();

// The score of a run for new questions of this kind; null where it has fewer than k samples.
export function intervalOf(choice: Choice, entry: Entry, metric: Metric): Interval | null {
  if (metric.k > entry.n) return null;
  return known(choice, entry, metricName(metric), () => chosenValues(choice, metric, entry.c, entry.n));
}

// The accuracy of the greedy run; null where there is none.
export function greedyInterval(choice: Choice, entry: Entry): Interval | null {
  const { greedy } = entry;
  return greedy && known(choice, entry, 'greedy', () => chosenValues(choice, ACCURACY, greedy, 1));
}

function known(choice: Choice, entry: Entry, what: string, list: () => number[]): Interval {
  const found = intervals.get(choice) ?? new Map<string, Interval>();
  intervals.set(choice, found);
  const key = `${choice.board.entries.indexOf(entry)} ${what}`;
  if (!found.has(key)) found.set(key, meanInterval(list(), choice.problems, choice.board.quantiles, content.limits));
  return found.get(key)!;
}

// first − second on the same questions; those of `second` may come from another board of the same questions.
export function compared(choice: Choice, first: Entry, second: Entry, metric: Metric, counts: number[] = second.c): Comparison {
  const [a, b] = [chosenValues(choice, metric, first.c, first.n), chosenValues(choice, metric, counts, second.n)];
  return pairedComparison(a, b, choice.problems, choice.board.quantiles, content.limits);
}

// Whether the first is better than the second beyond doubt, of all pairs of the table at once (by the score of the
// board, on all questions).
export function better(board: Board, first: Entry, second: Entry): boolean {
  const [i, j] = [board.entries.indexOf(first), board.entries.indexOf(second)];
  return board.better[i][j] === '1';
}

// Of the chosen questions.
export const sumOf = (choice: Choice, counts: number[]): number =>
  (counts.length ? total(choice.questions.map((position) => counts[position])) : 0);

// What lies in the middle between two goes to the even one, as Python writes it: 3.125 is 3.12.
export function percent(value: number, digits = 2): string {
  const [number, steps] = [100 * value, 10 ** digits];
  const text = number.toFixed(digits);
  // Only what is a whole number of halves, quarters, eighths … can lie in the middle; a product with such a number is exact.
  const middle = Number.isInteger(number * 2 ** (digits + 1)) && Math.abs((number * steps) % 1) === 0.5;
  return middle ? (2 * Math.round((number * steps) / 2) / steps).toFixed(digits) : text;
}

export const signed = (value: number, digits = 2): string => (value < 0 ? '−' : '+') + percent(Math.abs(value), digits);

export const levelName = (board: Board): string => `${Number((100 * board.level).toFixed(2))} %`;

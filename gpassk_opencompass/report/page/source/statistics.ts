// The numbers of the page: the formulas of metrics.py and uncertainty/, on counts c of n. Values are from 0 to 1.

import type { Limits } from './content';

export type Family = 'accuracy' | 'pass' | 'G-Pass' | 'mG-Pass';

export interface Metric {
  family: Family;
  k: number;
  tau?: number;
}

// A score with its interval, or with why there is none.
export type Interval = { estimate: number; error: number } & Limited;

export type Limited = { refused: ''; low: number; high: number } | { refused: string; low?: undefined; high?: undefined };

export type Comparison = { difference: number; error: number; unpairedError: number; p?: number } & Limited;

// P[at least m of k drawn are correct] for c = 0 … n correct ones of n, as a table over c.
export function tail(n: number, k: number, m: number): Float64Array {
  const table = new Float64Array(n + 1);
  if (m > k) return table;
  // Summed over the place r at which the m-th correct one is drawn, outward from the largest term.
  const last = n - k + m;
  const ratios: number[] = [];
  for (let r = m; r < last; r++) ratios.push((r / (r - m + 1)) * ((last - r) / (n - r)));
  const peak = ratios.filter((ratio) => ratio > 1).length;
  const terms = new Float64Array(ratios.length + 1);
  terms[peak] = 1;
  for (let i = peak; i > 0; i--) terms[i - 1] = terms[i] / ratios[i - 1];
  for (let i = peak; i < ratios.length; i++) terms[i + 1] = terms[i] * ratios[i];
  let sum = 0;
  terms.forEach((term, i) => { table[m + i] = sum += term; });
  for (let c = m; c <= last; c++) table[c] /= sum;
  return table.fill(1, last + 1);
}

// (2/k)·Σ P[X ≥ i] over i > ⌈k/2⌉: the published mG-Pass@k.
function meanTail(n: number, k: number): Float64Array {
  const before = tail(n - 1, k - 1, Math.floor((k + 1) / 2));
  const table = new Float64Array(n + 1);
  for (let c = 1; c <= n; c++) table[c] = table[c - 1] + (before[c - 1] * 2) / n;
  return table.map((value) => Math.min(value, 1));
}

// max(1, ⌈k·τ⌉), free of binary rounding.
export function requiredCorrect(k: number, tau: number): number {
  return Math.max(1, Math.ceil(Number((k * tau).toFixed(9))));
}

const tables = new Map<string, Float64Array>();

// The value of a metric for c = 0 … n.
export function valueTable(metric: Metric, n: number): Float64Array {
  const key = `${metric.family} ${metric.k} ${metric.tau} ${n}`;
  if (!tables.has(key)) {
    if (tables.size > 4000) tables.clear();
    tables.set(key, makeTable(metric, n));
  }
  return tables.get(key)!;
}

function makeTable({ family, k, tau }: Metric, n: number): Float64Array {
  if (family === 'accuracy') return tail(n, 1, 1);
  if (family === 'pass') return tail(n, k, 1);
  if (family === 'mG-Pass') return meanTail(n, k);
  return tail(n, k, requiredCorrect(k, tau!));
}

export function values(metric: Metric, counts: number[], n: number): number[] {
  const table = valueTable(metric, n);
  return counts.map((c) => table[c]);
}

interface Clusters {
  sums: number[];
  sizes: number[];
  total: number;
}

// Sums of the values of each source problem, and how many questions it has.
function clusterSums(list: number[], problems: number[]): Clusters {
  const sums = new Map<number, number>();
  const sizes = new Map<number, number>();
  list.forEach((value, i) => {
    sums.set(problems[i], (sums.get(problems[i]) ?? 0) + value);
    sizes.set(problems[i], (sizes.get(problems[i]) ?? 0) + 1);
  });
  return { sums: [...sums.values()], sizes: [...sizes.values()], total: list.length };
}

export const total = (list: readonly number[]): number => list.reduce((sum, value) => sum + value, 0);

// The mean over all questions and its standard error between source problems.
function ratioError({ sums, sizes, total: questions }: Clusters): { estimate: number; error: number } {
  const estimate = total(sums) / questions;
  return { estimate, error: Math.sqrt(squaresBetween({ sums, sizes, total: questions }, estimate)) / questions };
}

// J/(J − 1)·Σr², r the residuals of J problems.
function squaresBetween({ sums, sizes }: Clusters, estimate: number): number {
  return (sums.length / (sums.length - 1)) * total(sums.map((sum, i) => (sum - estimate * sizes[i]) ** 2));
}

// How many equal parts a sum is worth: (Σx)²/Σx², free of rounding: m equal parts are m.
function effectiveNumber(parts: number[]): number {
  const squares = total(parts.map((part) => part * part));
  return squares ? Number((total(parts) ** 2 / squares).toFixed(9)) : 0;
}

// The mean weighs a problem by its questions: what counts is the effective number of their sizes.
function tooFewProblems({ sizes, total: questions }: Clusters, limits: Limits): string {
  if (sizes.length < limits.problems) return `${sizes.length} problems, fewer than ${limits.problems}`;
  const effective = effectiveNumber(sizes);
  if (effective >= limits.problems) return '';
  const shown = effective.toFixed(1);
  return `${questions} questions of ${sizes.length} problems, in effect ${shown}, fewer than ${limits.problems}`;
}

function refusal(clusters: Clusters, error: number, limits: Limits): string {
  const { sums, sizes } = clusters;
  const few = tooFewProblems(clusters, limits);
  if (few) return few;
  const solved = sums.map((sum, i) => sum / sizes[i]);
  const unsolved = solved.map((part) => 1 - part);
  for (const [what, parts] of [['solved', solved], ['unsolved', unsolved]] as const) {
    const effective = effectiveNumber(parts);
    if (effective < limits.effective) {
      return `too few problems ${what}: ${effective.toFixed(1)} in effect, fewer than ${limits.effective}`;
    }
    const inAll = total(parts);
    if (inAll < limits.inAll) {
      return `too few problems ${what}: ${inAll.toFixed(1)} in all, fewer than ${limits.inAll}`;
    }
  }
  return allAlike(error, limits);
}

// A standard error of mere rounding is none.
const allAlike = (error: number, limits: Limits): string => (error <= limits.error ? 'all problems alike' : '');

// For new questions of the same kind: Wilson's interval with clustered error and Student's quantile.
export function meanInterval(
  list: number[], problems: number[], quantiles: Record<number, number>, limits: Limits,
): Interval {
  const clusters = clusterSums(list, problems);
  const whole = ratioError(clusters);
  const refused = refusal(clusters, whole.error, limits);
  if (refused) return { ...whole, refused };
  const { estimate, error } = whole;
  const square = quantiles[clusters.sums.length] ** 2;
  const number = (estimate * (1 - estimate)) / error ** 2;
  const shrink = 1 + square / number;
  const centre = (estimate + square / (2 * number)) / shrink;
  const half = Math.sqrt(square * (error ** 2 + square / (4 * number ** 2))) / shrink;
  return { estimate, error, low: centre - half, high: centre + half, refused: '' };
}

// first − second on the same questions, clustered by source problem, with the added problems.
export function pairedComparison(
  first: number[], second: number[], problems: number[], quantiles: Record<number, number>, limits: Limits,
): Comparison {
  const clusters = clusterSums(first.map((value, i) => value - second[i]), problems);
  const { sums, sizes, total: questions } = clusters;
  const difference = total(sums) / questions;
  const added = (limits.added * total(sizes.map((size) => size ** 2))) / sizes.length;
  const error = Math.sqrt(squaresBetween(clusters, difference) + added) / questions;
  const [a, b] = [first, second].map((list) => ratioError(clusterSums(list, problems)).error);
  const found = { difference, error, unpairedError: Math.hypot(a, b) };
  const refused = tooFewProblems(clusters, limits);
  if (refused) return { ...found, refused };
  const half = quantiles[sums.length] * error;
  const p = twoSidedP(Math.abs(difference) / error, sums.length - 1);
  return { ...found, refused: '', low: difference - half, high: difference + half, p };
}

// P[|T| ≥ t] of Student's t with whole degrees of freedom (Abramowitz and Stegun 26.7.3 and 26.7.4).
export function twoSidedP(t: number, freedom: number): number {
  const angle = Math.atan2(t, Math.sqrt(freedom));
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
  const odd = freedom % 2;
  let term = odd ? cosine : 1;
  let sum = freedom > 1 ? term : 0;
  for (let i = odd ? 3 : 2; i < freedom; i += 2) {
    term *= ((i - 1) / i) * cosine * cosine;
    sum += term;
  }
  const within = odd ? (2 / Math.PI) * (angle + sine * sum) : sine * sum;
  return Math.max(0, 1 - within);
}

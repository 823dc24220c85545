// The numbers of the page: the formulas of metrics.py and uncertainty/, on counts c of n. Values are from 0 to 1.

// P[at least m of k drawn are correct] for c = 0 … n correct ones of n, as a table over c.
function tail(n, k, m) {
  const table = new Float64Array(n + 1);
  if (m > k) return table;
  // Summed over the place r at which the m-th correct one is drawn, outward from the largest term.
  const last = n - k + m;
  const ratios = [];
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
function meanTail(n, k) {
  const before = tail(n - 1, k - 1, Math.floor((k + 1) / 2));
  const table = new Float64Array(n + 1);
  for (let c = 1; c <= n; c++) table[c] = table[c - 1] + (before[c - 1] * 2) / n;
  return table.map((value) => Math.min(value, 1));
}

// max(1, ⌈k·τ⌉), free of binary rounding.
function requiredCorrect(k, tau) {
  return Math.max(1, Math.ceil(Number((k * tau).toFixed(9))));
}

const tables = new Map();

// A metric is {family: 'accuracy' | 'pass' | 'G-Pass' | 'mG-Pass', k, tau}; its table over c = 0 … n.
function valueTable(metric, n) {
  const key = `${metric.family} ${metric.k} ${metric.tau} ${n}`;
  if (!tables.has(key)) {
    if (tables.size > 4000) tables.clear();
    tables.set(key, makeTable(metric, n));
  }
  return tables.get(key);
}

function makeTable({ family, k, tau }, n) {
  if (family === 'accuracy') return tail(n, 1, 1);
  if (family === 'pass') return tail(n, k, 1);
  if (family === 'mG-Pass') return meanTail(n, k);
  return tail(n, k, requiredCorrect(k, tau));
}

function values(metric, counts, n) {
  const table = valueTable(metric, n);
  return counts.map((c) => table[c]);
}

// Sums of the values of each source problem, and how many questions it has.
function clusterSums(list, problems) {
  const sums = new Map();
  const sizes = new Map();
  list.forEach((value, i) => {
    sums.set(problems[i], (sums.get(problems[i]) ?? 0) + value);
    sizes.set(problems[i], (sizes.get(problems[i]) ?? 0) + 1);
  });
  return { sums: [...sums.values()], sizes: [...sizes.values()], total: list.length };
}

const total = (list) => list.reduce((sum, value) => sum + value, 0);

// The mean over all questions and its standard error between source problems.
function ratioError({ sums, sizes, total: questions }) {
  const estimate = total(sums) / questions;
  const squares = total(sums.map((sum, i) => (sum - estimate * sizes[i]) ** 2));
  return { estimate, error: Math.sqrt((sums.length / (sums.length - 1)) * squares) / questions };
}

// How many equal parts a sum is worth: (Σx)²/Σx², free of rounding: m equal parts are m.
function effectiveNumber(parts) {
  const squares = total(parts.map((part) => part * part));
  return squares ? Number((total(parts) ** 2 / squares).toFixed(9)) : 0;
}

// The mean weighs a problem by its questions: what counts is the effective number of their sizes.
function tooFewProblems({ sizes, total: questions }, limits) {
  if (sizes.length < limits.problems) return `${sizes.length} problems, fewer than ${limits.problems}`;
  const effective = effectiveNumber(sizes);
  if (effective >= limits.problems) return '';
  const shown = effective.toFixed(1);
  return `${questions} questions of ${sizes.length} problems, in effect ${shown}, fewer than ${limits.problems}`;
}

function refusal(clusters, error, limits) {
  const { sums, sizes } = clusters;
  const few = tooFewProblems(clusters, limits);
  if (few) return few;
  const solved = sums.map((sum, i) => sum / sizes[i]);
  for (const [what, parts] of [['solved', solved], ['unsolved', solved.map((part) => 1 - part)]]) {
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
const allAlike = (error, limits) => (error <= limits.error ? 'all problems alike' : '');

// For new questions of the same kind: Wilson's interval with clustered error and Student's quantile.
function meanInterval(list, problems, quantiles, limits) {
  const clusters = clusterSums(list, problems);
  const { estimate, error } = ratioError(clusters);
  const refused = refusal(clusters, error, limits);
  if (refused) return { estimate, error, refused };
  const square = quantiles[clusters.sums.length] ** 2;
  const number = (estimate * (1 - estimate)) / error ** 2;
  const shrink = 1 + square / number;
  const centre = (estimate + square / (2 * number)) / shrink;
  const half = Math.sqrt(square * (error ** 2 + square / (4 * number ** 2))) / shrink;
  return { estimate, error, low: centre - half, high: centre + half, refused };
}

// first − second on the same questions, clustered by source problem.
function pairedComparison(first, second, problems, quantiles, limits) {
  const clusters = clusterSums(first.map((value, i) => value - second[i]), problems);
  const { estimate: difference, error } = ratioError(clusters);
  const [a, b] = [first, second].map((list) => ratioError(clusterSums(list, problems)).error);
  const result = { difference, error, unpairedError: Math.hypot(a, b), refused: '' };
  const count = clusters.sums.length;
  const refused = tooFewProblems(clusters, limits) || tooFewDiffer(clusters, limits) || allAlike(error, limits);
  if (refused) return { ...result, refused };
  const half = quantiles[count] * error;
  const p = twoSidedP(Math.abs(difference) / error, count - 1);
  return { ...result, low: difference - half, high: difference + half, p };
}

function tooFewDiffer({ sums }, limits) {
  const differing = effectiveNumber(sums.map(Math.abs));
  if (differing >= limits.effective) return '';
  return `too few problems differ: ${differing.toFixed(1)} in effect, fewer than ${limits.effective}`;
}

// P[|T| ≥ t] of Student's t with whole degrees of freedom (Abramowitz and Stegun 26.7.3 and 26.7.4).
function twoSidedP(t, freedom) {
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

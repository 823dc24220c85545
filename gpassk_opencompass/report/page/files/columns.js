// What the table shows: the state of the page, and its columns.

const content = JSON.parse(find('content').textContent);

const state = {
  board: content.boards[0],
  k: 1,
  taus: [0.5, 0.75, 1],
  group: -1,
  filter: '',
  sort: { column: 'mean', descending: true },
  curves: new Set(),
  entry: null,
};

const metricName = ({ family, k, tau }) =>
  family === 'accuracy' ? 'Accuracy' : family === 'G-Pass' ? `G-Pass@${k}_${decimal(tau)}` : `${family}@${k}`;

// As the published names write a threshold: 1.0, not 1.
const decimal = (tau) => (Number.isInteger(tau) ? tau.toFixed(1) : String(tau));

const levelName = () => `${Number((100 * state.board.level).toFixed(2))} %`;

const accuracy = { family: 'accuracy', k: 1 };

function shownMetrics() {
  const { k, taus } = state;
  const steps = taus.map((tau) => ({ family: 'G-Pass', k, tau }));
  return k > 1 ? [...steps, { family: 'mG-Pass', k }] : steps;
}

const allMetrics = () => [accuracy, { family: 'pass', k: state.k }, ...shownMetrics()];

// Positions of the questions that count: all, or one group.
function chosenQuestions() {
  const positions = state.board.uids.map((_, position) => position);
  return state.group < 0 ? positions : positions.filter((position) => state.board.group[position] === state.group);
}

let chosen = { questions: [], problems: [] };

// After another board or group was chosen.
function choose() {
  const questions = chosenQuestions();
  chosen = { questions, problems: questions.map((position) => state.board.problem[position]) };
}

const chosenValues = (metric, counts, n) => values(metric, chosen.questions.map((position) => counts[position]), n);

function intervalOf(entry, metric) {
  if (metric.k > entry.n) return null;
  return meanInterval(chosenValues(metric, entry.c, entry.n), chosen.problems, state.board.quantiles, content.limits);
}

function greedyInterval(entry) {
  return entry.greedy && meanInterval(chosenValues(accuracy, entry.greedy, 1), chosen.problems, state.board.quantiles, content.limits);
}

const unjudgedOf = (entry) =>
  (entry.unjudged.length ? total(chosen.questions.map((position) => entry.unjudged[position])) : 0);

// Of a published table: its values alone.
function publishedColumns() {
  const scores = state.board.published.map((metric, i) => ({
    key: metric === `mG-Pass@${state.k}` ? 'mean' : metric,
    head: metric,
    of: (entry) => entry.values[i],
    show: (value) => number(value === null ? '–' : value.toFixed(2)),
  }));
  return [{ key: 'name', head: 'Model', of: (entry) => entry.name, show: (name) => element('th', { scope: 'row' }, name) },
    ...scores];
}

// A column: its key, its head, what it is sorted by, and its cell.
function columns() {
  if (state.board.published) return publishedColumns();
  const scores = shownMetrics().map((metric) => scoreColumn(metric));
  const plotted = scores.at(-1);
  return [
    { key: 'curve', head: 'Curve', of: () => null, show: curveCell, fixed: true },
    { key: 'rank', head: 'Rank', title: rankTitle(), of: (entry) => rankOrder(entry), show: rankCell },
    { key: 'name', head: 'Model', of: (entry) => entry.name, show: nameCell },
    { key: 'greedy', head: 'Greedy', of: greedyInterval, show: greedyCell, by: 'estimate' },
    ...scores,
    { key: 'plot', head: '0 to 100', title: `${plotted.head} with its interval`, of: plotted.of, show: plotCell, fixed: true },
    { key: 'n', head: 'n', of: (entry) => entry.n, show: (n) => number(String(n)) },
    { key: 'unjudged', head: 'Unjudged', of: unjudgedOf, show: (count) => number(String(count)) },
  ];
}

function scoreColumn(metric) {
  const key = metric.family === 'mG-Pass' ? 'mean' : `tau ${metric.tau}`;
  return { key, head: metricName(metric), of: (entry) => intervalOf(entry, metric), show: scoreOrDash, by: 'estimate' };
}

const rankTitle = () =>
  `Ranks that the data allow by mG-Pass@${state.board.k} on all questions, right for the whole table at once at ${levelName()}`;

const rankOrder = (entry) => entry.ranks[0] * 1e6 + entry.ranks[1];

function rankCell(_, { ranks: [best, worst] }) {
  return number(best === worst ? String(best) : `${best} – ${worst}`);
}

function curveCell(_, entry) {
  const box = element('input', {
    type: 'checkbox', 'aria-label': `Curve of ${entry.name}`, change: (event) => toggleCurve(entry, event.target),
  });
  box.checked = state.curves.has(entry);
  return cell(box);
}

function nameCell(name, entry) {
  const button = element('button', { type: 'button', class: 'link', click: () => showModel(entry) }, name);
  const health = entry.health ? element('span', { class: 'range health' }, entry.health) : '';
  return element('th', { scope: 'row' }, button, health);
}

function scoreOrDash(interval) {
  return interval ? scoreCell(interval) : number('–');
}

function greedyCell(interval, { greedyNote }) {
  const node = scoreOrDash(interval);
  if (interval && greedyNote) node.append(element('span', { class: 'range remark' }, greedyNote));
  return node;
}

// The interval drawn on a scale from 0 to 100; the numbers are in the column before.
function plotCell(interval) {
  const track = element('span', { class: 'track', 'aria-hidden': 'true' });
  if (interval && !interval.refused) {
    const bar = element('span', { class: 'whisker' });
    bar.style.left = `${100 * interval.low}%`;
    bar.style.width = `${100 * (interval.high - interval.low)}%`;
    track.append(bar);
  }
  if (interval) {
    const dot = element('span', { class: 'dot' });
    dot.style.left = `${100 * interval.estimate}%`;
    track.append(dot);
  }
  return cell(track);
}

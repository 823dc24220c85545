// Two models, question by question.

const MOST_DIFFERENCES = 20;

function fillCompare() {
  for (const [id, preferred] of [['first', 0], ['second', 1]]) {
    find(id).replaceChildren(...state.board.entries.map((entry, i) => element('option', { value: i }, entry.name)));
    find(id).selectedIndex = Math.min(preferred, state.board.entries.length - 1);
  }
}

function fillMetrics() {
  const before = find('metric').value;
  const names = allMetrics().map(metricName);
  find('metric').replaceChildren(...names.map((name, i) => element('option', { value: i }, name)));
  find('metric').selectedIndex = before !== '' && before < names.length ? before : names.length - 1;
}

function showComparison() {
  const [first, second] = ['first', 'second'].map((id) => state.board.entries[find(id).selectedIndex]);
  const metric = allMetrics()[find('metric').selectedIndex];
  const small = [first, second].find((entry) => entry.n < metric.k);
  if (small) {
    find('comparison').replaceChildren(`${small.name} has n = ${small.n} samples a question: fewer than k = ${metric.k}`);
    return;
  }
  const [a, b] = [first, second].map((entry) => chosenValues(metric, entry.c, entry.n));
  const result = pairedComparison(a, b, chosen.problems, state.board.quantiles, content.limits);
  find('comparison').replaceChildren(verdict(result), numbersOf(result, metric), differences(first, second, a, b));
}

function verdict({ low, high, refused }) {
  if (refused) return element('p', {}, `No interval: ${refused}.`);
  const apart = low > 0 ? 'The first is better' : high < 0 ? 'The second is better' : 'They cannot be told apart';
  return element('p', { class: 'verdict' }, `${apart} on questions of this kind, at ${levelName()}.`);
}

function numbersOf(result, metric) {
  const { difference, error, unpairedError, low, high, p, refused } = result;
  const pairs = [
    [`Difference in ${metricName(metric)}`, `${signed(difference)} points`],
    [`${levelName()} interval`, refused ? '–' : `${signed(low)} to ${signed(high)}`],
    ['p-value', refused ? '–' : p < 0.0001 ? '< 0.0001' : p.toFixed(4)],
    ['Standard error', `${percent(error)}; without pairing ${percent(unpairedError)}`],
  ];
  return element('dl', {}, ...pairs.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]));
}

function differences(first, second, a, b) {
  const order = a.map((_, i) => i).filter((i) => a[i] !== b[i]);
  order.sort((i, j) => Math.abs(a[j] - b[j]) - Math.abs(a[i] - b[i]) || i - j);
  const lines = order.slice(0, MOST_DIFFERENCES).map((i) => {
    const position = chosen.questions[i];
    return element('tr', {}, element('th', { scope: 'row' }, state.board.uids[position]),
      number(`${first.c[position]} of ${first.n}`), number(`${second.c[position]} of ${second.n}`), number(signed(a[i] - b[i])));
  });
  return element('details', {}, element('summary', {}, 'Questions on which they differ most'),
    tableOf('Questions on which they differ most', ['Question', 'First', 'Second', 'Difference'], lines));
}

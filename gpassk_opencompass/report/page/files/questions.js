// One model: what is known of its score, its questions, and the answers to each of them.

const MOST_QUESTIONS = 500;
const VERDICTS = { 1: '✓ correct', 0: '✗ incorrect', '?': '? unjudged' };

const formulas = () => once('formulas', content.chunks.formulas);
const texts = () => once(state.board, content.chunks.texts[content.boards.indexOf(state.board)]);

function showModel(entry) {
  state.entry = entry;
  const heading = element('h2', { tabindex: -1, id: 'model-title' }, entry.name);
  find('model').hidden = false;
  const close = element('button', { type: 'button', class: 'link', click: closeModel }, 'Close, back to the table');
  find('model').replaceChildren(heading, close, facts(entry), metricTable(entry), questionTable(entry),
    element('div', { id: 'question' }));
  heading.focus();
  say(`${entry.name}: ${chosen.questions.length} questions`);
}

function closeModel() {
  const row = rows.find(({ entry }) => entry === state.entry);
  find('model').hidden = true;
  state.entry = null;
  row?.node.querySelector('.link').focus();
}

function facts(entry) {
  const reasons = Object.entries(entry.reasons).map(([reason, count]) => `${reason}: ${count}`).join(', ');
  const pairs = [
    ['Samples a question', String(entry.n)],
    ['Judge', state.board.judge],
    ['Unjudged samples', unjudgedOf(entry) + (reasons ? ` (all questions: ${reasons})` : '')],
    ['Responses', entry.ended],
    ['Engine', entry.engine],
    ['Greedy', entry.greedyNote],
    ['Warnings', entry.warnings.join('; ')],
    ['Signature', element('code', {}, entry.signature)],
  ];
  const shown = pairs.filter(([, value]) => value !== '');
  return element('dl', {}, ...shown.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]));
}

function metricTable(entry) {
  const lines = allMetrics().filter((metric) => metric.k <= entry.n).map((metric) => {
    const interval = intervalOf(entry, metric);
    const again = state.group < 0 ? entry.rerun[metric.family === 'accuracy' ? 'accuracy' : metricName(metric)] : null;
    return element('tr', {}, element('th', { scope: 'row' }, metricName(metric)), number(percent(interval.estimate)),
      interval.refused ? element('td', { class: 'number why' }, `no interval: ${interval.refused}`) : number(between(interval)),
      number(again ? between({ low: again[0], high: again[1] }) : '–'), number(boundOf(entry, metric)));
  });
  return tableOf(`Metrics of ${entry.name}, in percent`,
    ['Metric', 'Score', `${levelName()}, new questions`, `${levelName()}, same questions again`,
      'If all in doubt were right'], lines);
}

function boundOf(entry, metric) {
  if (!chosen.questions.some((position) => entry.inDoubt[position])) return '–';
  const most = entry.c.map((c, position) => c + entry.inDoubt[position]);
  return percent(total(chosenValues(metric, most, entry.n)) / chosen.questions.length);
}

const QUESTION_ORDERS = {
  'as asked': (first, second) => first - second,
  'least correct first': (first, second, c) => c[first] - c[second],
  'most correct first': (first, second, c) => c[second] - c[first],
  'least stable first': (first, second, c, n) => unsteady(c[second], n) - unsteady(c[first], n),
};

const unsteady = (c, n) => c * (n - c);

function questionTable(entry) {
  const order = element('select', { id: 'question-order' },
    ...Object.keys(QUESTION_ORDERS).map((name) => element('option', {}, name)));
  const words = element('input', { type: 'search', id: 'question-filter' });
  const body = element('div', {});
  const refill = () => body.replaceChildren(questionRows(entry, order.value, words.value.toLowerCase()));
  order.addEventListener('change', refill);
  words.addEventListener('input', refill);
  refill();
  return element('div', {},
    element('p', { class: 'controls' }, element('label', {}, 'Order of questions ', order),
      element('label', {}, 'Questions named ', words)), body);
}

function questionRows(entry, order, words) {
  const matching = chosen.questions.filter((position) => state.board.uids[position].toLowerCase().includes(words));
  matching.sort((first, second) => QUESTION_ORDERS[order](first, second, entry.c, entry.n) || first - second);
  const metrics = shownMetrics().filter((metric) => metric.k <= entry.n);
  const rowsShown = matching.slice(0, MOST_QUESTIONS).map((position) => questionRow(entry, position, metrics));
  const caption = matching.length > MOST_QUESTIONS
    ? `The first ${MOST_QUESTIONS} of ${matching.length} questions: narrow them down by name`
    : `${matching.length} questions; choose one for its answers`;
  const heads = ['Question', 'Group', `Correct of ${entry.n}`, 'Share', 'Unjudged', ...metrics.map(metricName)];
  return tableOf(caption, heads, rowsShown);
}

function questionRow(entry, position, metrics) {
  const { uids, groups, group } = state.board;
  const c = entry.c[position];
  const share = element('meter', { min: 0, max: entry.n, value: c, 'aria-label': `${c} of ${entry.n}` });
  return element('tr', {},
    element('th', { scope: 'row' },
      element('button', { type: 'button', class: 'link', click: () => showQuestion(entry, position) }, uids[position])),
    cell(groups[group[position]]), number(String(c)), cell(share), number(String(entry.unjudged[position] ?? 0)),
    ...metrics.map((metric) => number(percent(valueTable(metric, entry.n)[c]))));
}

async function showQuestion(entry, position) {
  const packed = content.chunks.responses[entry.responses];
  const [known, trees, answers] = await Promise.all([
    texts(), formulas(), packed ? once(`responses ${entry.responses}`, packed) : null,
  ]);
  if (state.entry !== entry) return;
  const heading = element('h3', { tabindex: -1 }, `Question ${state.board.uids[position]}`);
  find('question').replaceChildren(heading,
    ...(known.question[position] ? [element('p', {}, rich(known.question[position], trees))] : []),
    element('p', {}, 'Reference answer: ', element('strong', {}, rich(known.reference[position] || 'not recorded', trees))),
    answers ? answerTable(entry, answers[entry.order?.[position] ?? position], trees) : noAnswers(),
    othersTable(position));
  heading.focus();
}

function noAnswers() {
  const reason = content.answersShown === 0 ? 'they would make this page too large' : 'its result file holds none';
  return element('p', {}, `The answers of this model are not on this page: ${reason}.`);
}

function answerTable(entry, answers, trees) {
  const lines = answers.map(([text, verdict, who, times]) => element('tr', {},
    element('td', { class: 'answer' }, text ? rich(text, trees) : element('em', {}, 'no final answer')),
    element('td', { class: `verdict-${verdict === '1' ? 'yes' : 'no'}` }, VERDICTS[verdict] ?? verdict),
    cell(who || 'not recorded'), number(String(times))));
  const left = entry.n - total(answers.map(([, , , times]) => times));
  const caption = `Answers of ${entry.name}` + (left ? `; ${left} rarer ones are in the result file only` : '');
  return tableOf(caption, ['Answer', 'Verdict', 'Judged by, or why not', 'Times given'], lines);
}

// How every model did on one question.
function othersTable(position) {
  const entries = [...state.board.entries].sort((first, second) => second.c[position] / second.n - first.c[position] / first.n);
  const lines = entries.map((entry) => element('tr', {},
    element('th', { scope: 'row' }, entry.name), number(`${entry.c[position]} of ${entry.n}`)));
  return element('details', {}, element('summary', {}, 'All models on this question'),
    tableOf('All models on this question', ['Model', 'Correct'], lines));
}

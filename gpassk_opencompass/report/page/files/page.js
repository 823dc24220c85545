// The controls, and the first view.

function start() {
  find('board-choice').replaceChildren(...content.boards.map(({ title }, i) => element('option', { value: i }, title)));
  find('board-choice').addEventListener('change', (event) => showBoard(Number(event.target.value)));
  find('group').addEventListener('change', (event) => { state.group = Number(event.target.value); showChoice(); });
  find('k').addEventListener('change', (event) => { readK(event.target); });
  find('taus').addEventListener('change', (event) => { readTaus(event.target); });
  find('filter').addEventListener('input', (event) => {
    state.filter = event.target.value;
    say(`${filterRows()} models shown`);
  });
  for (const id of ['first', 'second', 'metric']) find(id).addEventListener('change', showComparison);
  showBoard(0);
}

function showBoard(position) {
  const board = content.boards[position];
  Object.assign(state, { board, k: board.k ?? 16, group: -1, curves: new Set(board.entries.slice(0, 3)) });
  state.sort = { column: 'mean', descending: true };
  for (const part of document.querySelectorAll('[data-counts]')) part.hidden = Boolean(board.published);
  if (board.published) {
    showPublished();
    return;
  }
  find('group').replaceChildren(element('option', { value: -1 }, 'all'),
    ...board.groups.map((name, i) => element('option', { value: i }, name)));
  find('k').value = board.k;
  find('k').max = Math.max(...board.entries.map((entry) => entry.n));
  fillCompare();
  showChoice();
}

function showPublished() {
  find('model').hidden = true;
  find('about').textContent = 'Published scores in percent. Their counts are not known, so no interval is given and nothing is compared.';
  find('caption').textContent = state.board.title;
  fillTable();
}

// Everything that hangs on questions, k and τ.
function showChoice() {
  choose();
  find('model').hidden = true;
  state.entry = null;
  find('about').textContent = aboutBoard();
  find('caption').textContent = `${state.board.title}: scores in percent, ${levelName()} intervals for new questions of this kind`;
  fillTable();
  drawCurves();
  fillMetrics();
  showComparison();
}

function aboutBoard() {
  const { judge, reason } = state.board;
  const problems = new Set(chosen.problems).size;
  const parts = [`${chosen.questions.length} questions from ${problems} source problems`, judge && `judged by: ${judge}`, reason];
  const odd = state.k % 2 && state.k > 1 ? `for odd k the published mG-Pass@${state.k} cannot reach 100` : '';
  return `${[...parts, odd].filter(Boolean).join('; ')}.`;
}

function readK(field) {
  const k = Number(field.value);
  const most = Number(field.max);
  if (!Number.isInteger(k) || k < 1 || k > most) {
    refuse(field, `k must be a whole number from 1 to ${most}`);
    return;
  }
  accept(field);
  state.k = k;
  showChoice();
  say(`k is ${k}`);
}

function readTaus(field) {
  const taus = field.value.split(/[\s,;]+/).filter(Boolean).map(Number);
  if (!taus.length || taus.length > 11 || !taus.every((tau) => tau >= 0 && tau <= 1)) {
    refuse(field, 'Thresholds are numbers from 0 to 1, at most 11 of them, for example 0.5, 0.75, 1');
    return;
  }
  accept(field);
  state.taus = [...new Set(taus)];
  showChoice();
  say(`${state.taus.length} thresholds`);
}

function refuse(field, message) {
  field.setAttribute('aria-invalid', 'true');
  find('problem').textContent = message;
}

function accept(field) {
  field.removeAttribute('aria-invalid');
  find('problem').textContent = '';
}

start();

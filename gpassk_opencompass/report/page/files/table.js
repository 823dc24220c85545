// The leaderboard: filled once a choice of questions, k and τ, then only sorted and filtered.

let rows = [];

function fillTable() {
  const shown = columns();
  if (!shown.some((column) => column.key === state.sort.column)) state.sort.column = 'name';
  find('heads').replaceChildren(...shown.map(headCell));
  rows = state.board.entries.map((entry) => tableRow(entry, shown));
  sortRows();
  filterRows();
}

function headCell(column) {
  if (column.fixed) return element('th', { scope: 'col', title: column.title }, column.head);
  const button = element('button', { type: 'button', title: column.title, click: () => sortBy(column) },
    column.head, element('span', { class: 'arrow', 'aria-hidden': 'true' }));
  return element('th', { scope: 'col', 'data-column': column.key, class: column.key === 'name' ? undefined : 'number' }, button);
}

function tableRow(entry, shown) {
  const keys = {};
  const cells = shown.map((column) => {
    const value = column.of(entry);
    keys[column.key] = column.by ? value?.[column.by] : value;
    return column.show(value, entry);
  });
  return { entry, keys, node: element('tr', {}, ...cells) };
}

function sortBy({ key, head }) {
  const { sort } = state;
  const numbersFirst = !['name', 'rank'].includes(key);
  sort.descending = sort.column === key ? !sort.descending : numbersFirst;
  sort.column = key;
  sortRows();
  say(`Sorted by ${head}, ${sort.descending ? 'descending' : 'ascending'}`);
}

function sortRows() {
  const { column, descending } = state.sort;
  const sign = descending ? -1 : 1;
  rows.sort((first, second) => sign * compareKeys(first.keys[column], second.keys[column], sign));
  find('rows').replaceChildren(...rows.map((row) => row.node));
  for (const head of find('heads').children) {
    if (head.dataset.column === column) head.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
    else head.removeAttribute('aria-sort');
  }
}

// Numbers by size, names as people order them, and what is missing last either way.
function compareKeys(first, second, sign) {
  const [noFirst, noSecond] = [first ?? null, second ?? null].map((key) => key === null);
  if (noFirst || noSecond) return sign * (noFirst - noSecond);
  return typeof first === 'string' ? collator.compare(first, second) : first - second;
}

const collator = new Intl.Collator('en', { numeric: true });

function filterRows() {
  const words = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const { entry, node } of rows) {
    const name = entry.name.toLowerCase();
    node.hidden = !words.every((word) => name.includes(word));
    shown += !node.hidden;
  }
  find('empty').hidden = shown > 0;
  find('shown').textContent = `${shown} of ${rows.length} models`;
  return shown;
}

function toggleCurve(entry, box) {
  if (box.checked && state.curves.size >= MOST_CURVES) {
    box.checked = false;
    say(`At most ${MOST_CURVES} curves: take one away first`);
    return;
  }
  if (box.checked) state.curves.add(entry);
  else state.curves.delete(entry);
  drawCurves();
  say(`${state.curves.size} curves shown`);
}

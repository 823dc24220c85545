// G-Pass@k_τ over τ for the models that are ticked in the table.

const MOST_CURVES = 6;
const FRAME = { width: 720, height: 360, left: 48, right: 12, top: 14, bottom: 66 };

const across = (tau) => FRAME.left + tau * (FRAME.width - FRAME.left - FRAME.right);
const up = (value) => FRAME.height - FRAME.bottom - value * (FRAME.height - FRAME.top - FRAME.bottom);
const point = (tau, value) => `${across(tau).toFixed(1)},${up(value).toFixed(1)}`;

function drawCurves() {
  const curves = [...state.curves].filter((entry) => entry.n >= state.k).map(curveOf);
  const title = `G-Pass@${state.k} over the threshold τ`;
  find('curve-title').textContent = title;
  find('chart').replaceChildren(drawing('svg', {
    viewBox: `0 0 ${FRAME.width} ${FRAME.height}`, role: 'img', 'aria-label': `${title}; its numbers are in the table below it`,
  }, ...frame(), ...curves.map(drawBand), ...curves.map(drawLine)));
  find('legend').replaceChildren(...curves.map(legendItem));
  find('curve-values').replaceChildren(curveTable(curves));
}

// Only τ = j/k can change the score, so these k points are the whole curve.
function curveOf(entry, series) {
  const points = Array.from({ length: state.k }, (_, j) => {
    const tau = (j + 1) / state.k;
    return { tau, ...intervalOf(entry, { family: 'G-Pass', k: state.k, tau }) };
  });
  return { entry, series, points };
}

function frame() {
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  const lines = ticks.map((tick) => drawing('line', {
    class: 'grid', x1: across(0), x2: across(1), y1: up(tick), y2: up(tick),
  }));
  const left = ticks.map((tick) => drawing('text', { x: across(0) - 8, y: up(tick) + 4, 'text-anchor': 'end' },
    percent(tick, 0)));
  const below = ticks.map((tick) => drawing('text', { x: across(tick), y: up(0) + 30, 'text-anchor': 'middle' },
    decimal(tick)));
  const label = drawing('text', { x: across(0.5), y: FRAME.height - 6, 'text-anchor': 'middle' },
    'threshold τ (score in percent)');
  return [...lines, ...left, ...below, label];
}

// The interval as a band, with gaps where it is refused.
function drawBand({ series, points }) {
  const runs = [[]];
  for (const place of points) {
    if (place.refused) runs.push([]);
    else runs.at(-1).push(place);
  }
  const bands = runs.filter((run) => run.length > 1).map((run) => drawing('polygon', {
    points: [...run.map((p) => point(p.tau, p.high)), ...run.map((p) => point(p.tau, p.low)).reverse()].join(' '),
  }));
  return drawing('g', { class: `band series-${series}` }, ...bands);
}

function drawLine({ series, points }) {
  const line = drawing('polyline', { points: points.map((p) => point(p.tau, p.estimate)).join(' ') });
  const dots = points.map((p) => marker(series, across(p.tau), up(p.estimate)));
  return drawing('g', { class: `line series-${series}` }, line, ...dots);
}

// A shape a series, so that they can be told apart without colours.
function marker(series, x, y) {
  const shapes = ['M-3-3h6v6h-6z', 'M0-4.5 4 3.5h-8z', 'M0-4.5 4.5 0 0 4.5-4.5 0z', 'M-4-4 4 4M4-4-4 4', 'M-4.5 0h9M0-4.5v9',
    'M0 4.5 4-3.5h-8z'];
  return drawing('path', { d: shapes[series], transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` });
}

function legendItem({ entry, series }) {
  const sample = drawing('svg', { viewBox: '0 0 36 12', width: 36, height: 12, 'aria-hidden': 'true' },
    drawing('g', { class: `line series-${series}` }, drawing('line', { x1: 0, x2: 36, y1: 6, y2: 6 }), marker(series, 18, 6)));
  return element('li', {}, sample, ' ', entry.name);
}

function curveTable(curves) {
  if (!curves.length) return element('p', {}, 'Tick models in the table to see their curves.');
  const line = Array.from({ length: state.k }, (_, j) => element('tr', {},
    element('th', { scope: 'row' }, `${j + 1}/${state.k}`),
    ...curves.map(({ points }) => scoreCell(points[j]))));
  return tableOf(`Values of the curves: G-Pass@${state.k}_τ`, ['τ', ...curves.map(({ entry }) => entry.name)], line);
}

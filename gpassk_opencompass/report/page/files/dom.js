// Building what is seen. Text only ever becomes text: no string is parsed as HTML anywhere.

const MATHML = 'http://www.w3.org/1998/Math/MathML';
const SVG = 'http://www.w3.org/2000/svg';

const find = (id) => document.getElementById(id);

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') node.addEventListener(name, value);
    else if (value === true) node.setAttribute(name, '');
    else if (value !== false && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

// An element with attributes, listeners (functions) and children.
function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function drawing(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

const cell = (...children) => element('td', {}, ...children);
// A cell with numbers, which stand below each other.
const number = (...children) => element('td', { class: 'number' }, ...children);

// A table that scrolls within itself; heads stand as the cells below them do.
function tableOf(caption, heads, rows) {
  const numeric = (i) => rows[0]?.children[i]?.classList.contains('number');
  const line = heads.map((head, i) => element('th', { scope: 'col', class: numeric(i) ? 'number' : undefined }, head));
  return element('div', { class: 'scroll tall', tabindex: 0, role: 'region', 'aria-label': caption },
    element('table', {},
      element('caption', {}, element('span', {}, caption)),
      element('thead', {}, element('tr', {}, ...line)),
      element('tbody', {}, ...rows)));
}

// [tag, attributes, child, …] as MathML; the tags were chosen when the page was made.
function mathml([tag, attributes, ...children]) {
  const node = document.createElementNS(MATHML, tag);
  return fill(node, attributes, children.map((child) => (typeof child === 'string' ? child : mathml(child))));
}

const chinese = /[\u3400-\u9fff]/;

// A question, reference or answer; `formulas` has the parts of texts with LaTeX in them.
function rich(text, formulas) {
  const parts = Object.hasOwn(formulas, text) ? formulas[text] : [text];
  const nodes = parts.map((part) => (typeof part === 'string' ? part : mathml(part)));
  return element('span', { class: 'rich', lang: chinese.test(text) ? 'zh' : undefined, dir: 'auto' }, ...nodes);
}

const percent = (value, digits = 2) => (100 * value).toFixed(digits);
const signed = (value, digits = 2) => (value < 0 ? '−' : '+') + percent(Math.abs(value), digits);
const between = ({ low, high }) => `${percent(low, 1)} – ${percent(high, 1)}`;

// An estimate with its interval below, or with why there is none.
function scoreCell(interval) {
  const range = interval.refused
    ? element('span', { class: 'range refused', title: interval.refused }, `no interval: ${shortly(interval.refused)}`)
    : element('span', { class: 'range' }, between(interval));
  return number(element('span', { class: 'score' }, percent(interval.estimate)), range);
}

function shortly(reason) {
  return reason.startsWith('too few problems ') ? `few ${reason.split(/[ :]/)[3]}` : 'few problems';
}

function say(message) {
  find('status').textContent = message;
}

// A packed text of the page, inflated and read.
async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return JSON.parse(await new Response(stream).text());
}

const opened = new Map();

// One unpacking each, whoever asks and how often.
function once(key, packed) {
  if (!opened.has(key)) opened.set(key, unpack(packed));
  return opened.get(key);
}

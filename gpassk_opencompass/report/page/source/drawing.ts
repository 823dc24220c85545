// Where things of a drawing of curves stand.

export interface Frame {
  width: number;
  height: number;
  left: number;
  // Of the lowest value.
  bottom: number;
  top: number;
  // Where names begin; `beside` the curves, or below them where it is narrow.
  labels: number;
  beside: boolean;
  x: (tau: number) => number;
  y: (value: number) => number;
  // A name as it fits.
  short: (name: string) => string;
}

// A shape a series, so that they can be told apart without colours.
export const MARKERS = [
  'M-3-3h6v6h-6z', 'M0-4.5 4 3.5h-8z', 'M0-4.5 4.5 0 0 4.5-4.5 0z', 'M-4-4 4 4M4-4-4 4', 'M-4.5 0h9M0-4.5v9', 'M0 4.5 4-3.5h-8z',
];

const LINE = 16;
const LETTER = 7.2;
const NARROW = 620;

// Chinese characters are twice as wide.
export const lengthOf = (text: string): number => [...text].reduce((sum, one) => sum + (one > '\u2e7f' ? 2 : 1), 0);

// The frame for so much room and these names.
export function scales(width: number, names: readonly string[]): Frame {
  const beside = width >= NARROW;
  const letters = Math.max(...names.map(lengthOf), 1);
  const room = beside ? Math.min(0.4 * width, LETTER * letters + 36) : 0;
  const [left, top, right] = [56, 16, beside ? width - room : width - 14];
  const bottom = top + (beside ? Math.max(300, LINE * names.length) : 260);
  const height = bottom + 52 + (beside ? 0 : LINE * names.length);
  const labels = beside ? right + 30 : left;
  const most = Math.max(8, Math.floor((width - labels) / LETTER));
  return {
    width, height, left, top, bottom, labels, beside,
    x: (tau) => left + tau * (right - left),
    y: (value) => bottom - value * (bottom - top),
    short: (name) => cut(name, most),
  };
}

// Its beginning and its end: settings stand at the end.
function cut(name: string, most: number): string {
  const letters = [...name];
  if (lengthOf(name) <= most) return name;
  const half = Math.max(3, Math.floor(((most - 1) * letters.length) / lengthOf(name) / 2));
  return `${letters.slice(0, half).join('')}…${letters.slice(-half).join('')}`;
}

// Where the name of each curve stands: at its end, apart from the others; in a list below where it is narrow.
export function ends(wanted: readonly number[], { beside, bottom, top }: Pick<Frame, 'beside' | 'bottom' | 'top'>): number[] {
  if (!beside) return wanted.map((_, i) => bottom + 60 + LINE * i);
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b] || a - b);
  const found = [...wanted];
  let least = top;
  for (const i of order) least = (found[i] = Math.max(found[i], least)) + LINE;
  let most = bottom;
  for (const i of [...order].reverse()) most = (found[i] = Math.min(found[i], most)) - LINE;
  return found;
}

// A list parted where something is not there.
export function lines<Item>(items: readonly Item[], there: (item: Item) => boolean): Item[][] {
  const parts: Item[][] = [[]];
  for (const item of items) {
    if (there(item)) parts[parts.length - 1].push(item);
    else parts.push([]);
  }
  return parts;
}

// What is shown, as the part of the address behind #: every view can be reloaded, linked, and left with Back.

export interface Address {
  // Title of a board; '' is the view of all benchmarks.
  board: string;
  // Name of a run of the board; '' is its table.
  run: string;
  // Another run beside it, of `withBoard` where that is another one (another judge).
  with: string;
  withBoard: string;
  // A question, by its uid.
  question: string;
  // Samples of the question whose responses are open, by their replica; with two they stand side by side.
  // `greedy` is the greedy one, and those of the run beside it have `with.` before them.
  samples: string[];
  // Null: the k of the board.
  k: number | null;
  taus: number[];
  // A contest and language; '' are all.
  group: string;
  metric: string;
  // Words that a run has to have in its name.
  words: string;
  // Setting → the values of runs that are shown.
  filters: Record<string, string[]>;
  sort: string;
  descending: boolean;
  // Runs whose curves are drawn; null: the first three.
  curves: string[] | null;
  // Which questions are marked in a model's map: 'unstable', 'cut off', …; '' are all.
  brush: string;
  order: string;
  // Words that a question has to have in its name, and the column by which questions are sorted ('-': downwards).
  named: string;
  sorted: string;
}

export const TAUS = [0.5, 0.75, 1];

export const HOME: Address = {
  board: '', run: '', with: '', withBoard: '', question: '', samples: [], k: null, taus: TAUS, group: '', metric: '',
  words: '', filters: {}, sort: '', descending: true, curves: null, brush: '', order: '', named: '', sorted: '',
};

const TEXTS = [
  'board', 'run', 'with', 'withBoard', 'question', 'group', 'metric', 'words', 'sort', 'brush', 'order', 'named', 'sorted',
] as const;

// Read what `write` wrote. What makes no sense is as if it were not there.
export function read(hash: string): Address {
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  const found: Address = { ...HOME };
  for (const name of TEXTS) found[name] = given.get(name) ?? '';
  const k = Number(given.get('k'));
  if (Number.isInteger(k) && k >= 1) found.k = k;
  found.taus = thresholds(given.get('tau') ?? '') ?? TAUS;
  found.samples = given.getAll('sample');
  found.descending = given.get('down') !== '0';
  found.curves = given.has('curve') ? given.getAll('curve').filter(Boolean) : null;
  // Of entries: a name in an address may be one that every object has, such as constructor.
  const settings = [...new Set(given.keys())].filter((key) => key.startsWith('only.'));
  found.filters = Object.fromEntries(settings.map((key) => [key.slice(5), given.getAll(key)]));
  return found;
}

// What stands as by default is left out.
export function write(address: Address): string {
  const told = new URLSearchParams();
  for (const name of TEXTS) if (address[name]) told.set(name, address[name]);
  if (address.k !== null) told.set('k', String(address.k));
  if (address.taus.join() !== TAUS.join()) told.set('tau', address.taus.join('_'));
  for (const sample of address.samples) told.append('sample', sample);
  if (!address.descending) told.set('down', '0');
  for (const name of address.curves ?? []) told.append('curve', name);
  if (address.curves?.length === 0) told.set('curve', '');
  for (const [key, values] of Object.entries(address.filters)) for (const value of values) told.append(`only.${key}`, value);
  return `#${told}`;
}

// Thresholds τ as a reader types them; null where they are none.
export function thresholds(text: string): number[] | null {
  const taus = text.split(/[\s,;_]+/).filter(Boolean).map(Number);
  if (!taus.length || taus.length > 11 || !taus.every((tau) => tau >= 0 && tau <= 1)) return null;
  return [...new Set(taus)];
}

// What a model's map tells of a question: how often it was right, and what is remarkable about it.

import type { Entry } from './content';
import type { Choice } from './scores';

// A question in the map of a run.
export interface Marked {
  // Its place on the board.
  position: number;
  uid: string;
  group: string;
  c: number;
  n: number;
  // Its place in STEPS.
  step: number;
  // Samples cut off; null where it is not known.
  cut: number | null;
  unjudged: number;
  // The same problem in another group of questions (the other language) has c/n that is away by half of all samples or more.
  disagrees: boolean;
}

// Shares of right samples as they are filled and counted: never and always stand alone, the three in the middle are unstable.
export const STEPS = ['0 %', 'under 20 %', '20 – 40 %', '40 – 60 %', '60 – 80 %', 'over 80 %', '100 %'];

const UNSTABLE = [2, 3, 4];

// Free of rounding, and the same seen from either end: 2/5 is in the middle step, as 3/5 is.
export function stepOf(c: number, n: number): number {
  if (c === 0) return 0;
  if (c === n) return 6;
  const fifths = 5 * c;
  if (fifths < n) return 1;
  if (fifths < 2 * n) return 2;
  if (fifths <= 3 * n) return 3;
  return fifths <= 4 * n ? 4 : 5;
}

export type Brush = { key: string; name: string; of: (one: Marked) => boolean; share?: boolean };

// Which questions a reader may have marked. Those of `share` exclude each other.
export const BRUSHES: Brush[] = [
  { key: 'never', name: 'never right', of: ({ step }) => step === 0, share: true },
  { key: 'unstable', name: 'unstable (20 – 80 %)', of: ({ step }) => UNSTABLE.includes(step), share: true },
  { key: 'stable', name: 'always right', of: ({ step }) => step === 6, share: true },
  { key: 'cut', name: 'with samples cut off', of: ({ cut }) => cut !== null && cut > 0 },
  { key: 'unjudged', name: 'with unjudged samples', of: ({ unjudged }) => unjudged > 0 },
  { key: 'languages', name: 'whose languages disagree', of: ({ disagrees }) => disagrees },
];

// A bar of the histogram each; both ends are brushes of their own.
export const BARS: Brush[] = STEPS.map((name, step) => {
  const own = { 0: BRUSHES[0], 6: BRUSHES[2] }[step];
  return own ?? { key: `share-${step}`, name: `right in ${name}`, of: (one: Marked) => one.step === step, share: true };
});

const ALL = [...BRUSHES, ...BARS];

// Those that an address names; what it does not know is as if it were not there.
export const brushesOf = (text: string): Brush[] =>
  text.split(',').flatMap((key) => ALL.find((brush) => brush.key === key) ?? []);

// Taken up or put down; another share replaces the one that was.
export function toggled(text: string, brush: Brush): string {
  const held = brushesOf(text);
  const others = held.filter((one) => one.key !== brush.key && !(one.share && brush.share));
  const next = held.some(({ key }) => key === brush.key) ? others : [...others, brush];
  return next.map(({ key }) => key).join();
}

// The chosen questions of a run, in the order of the board.
export function markedQuestions({ board, questions }: Choice, entry: Entry): Marked[] {
  const disagree = disagreements(board.problem, board.group, entry.c, entry.n);
  return questions.map((position) => ({
    position,
    uid: board.uids[position],
    group: board.groups[board.group[position]],
    c: entry.c[position],
    n: entry.n,
    step: stepOf(entry.c[position], entry.n),
    cut: entry.cut[position] ?? null,
    unjudged: entry.unjudged[position] ?? 0,
    disagrees: disagree[position],
  }));
}

// Of each question, whether its problem has one in another group whose count is away by n/2 or more.
export function disagreements(problem: number[], group: number[], c: number[], n: number): boolean[] {
  const reach = new Map<number, Map<number, [number, number]>>();
  problem.forEach((one, i) => {
    const groups = reach.get(one) ?? new Map<number, [number, number]>();
    const [low, high] = groups.get(group[i]) ?? [c[i], c[i]];
    reach.set(one, groups.set(group[i], [Math.min(low, c[i]), Math.max(high, c[i])]));
  });
  const away = (i: number, [low, high]: [number, number]) => 2 * Math.max(c[i] - low, high - c[i]) >= n;
  return problem.map((one, i) => [...reach.get(one)!].some(([other, range]) => other !== group[i] && away(i, range)));
}

// "3 of 48 right, 2 cut off": a question in words, for the line below the map and for who listens.
export function inWords({ uid, c, n, cut, unjudged, disagrees }: Marked): string {
  return [
    `${uid}: ${c} of ${n} right`, cut ? `${cut} cut off` : '', unjudged ? `${unjudged} unjudged` : '',
    disagrees ? 'far from its other language' : '',
  ].filter(Boolean).join(', ');
}

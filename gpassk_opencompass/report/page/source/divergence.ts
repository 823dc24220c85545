// Where in a text something stands: the first difference from another, and the final answer.

export type Divergence =
  | { kind: 'identical' }
  // One is the beginning of the other, which goes on at `at`.
  | { kind: 'beginning'; shorter: 0 | 1; at: number }
  // Both differ from `at`, the start of a word.
  | { kind: 'apart'; at: number };

export interface Span {
  from: number;
  to: number;
}

// Characters that a word may have before the one that differs.
const LONGEST_WORD = 60;

// Scripts without spaces have no words to go back in.
const IN_WORD = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{N}_\\]/u;

export function divergence(first: string, second: string): Divergence {
  const shared = sharedLength(first, second);
  if (shared === first.length && shared === second.length) return { kind: 'identical' };
  if (shared === first.length || shared === second.length) {
    return { kind: 'beginning', shorter: shared === first.length ? 0 : 1, at: shared };
  }
  return { kind: 'apart', at: wordStart(first, shared) };
}

function sharedLength(first: string, second: string): number {
  const least = Math.min(first.length, second.length);
  let length = 0;
  while (length < least && first.charCodeAt(length) === second.charCodeAt(length)) length += 1;
  return splitsPair(first, length) || splitsPair(second, length) ? length - 1 : length;
}

// Back to where the word starts that the place lies in.
function wordStart(text: string, place: number): number {
  for (let at = place; at > 0 && at > place - LONGEST_WORD; at -= 1) if (!IN_WORD.test(text[at - 1])) return at;
  return place > LONGEST_WORD ? place : 0;
}

// Whether a cut there would leave half a character on each side.
export const splitsPair = (text: string, place: number): boolean =>
  /[\ud800-\udbff]/.test(text[place - 1] ?? '') && /[\udc00-\udfff]/.test(text[place] ?? '');

// The word at a place, as far as it is marked.
export function wordAt(text: string, from: number): Span {
  const word = /^(?:\s*\S{1,40})?/u.exec(text.slice(from, from + 100))![0];
  return { from, to: from + Math.max(word.length, Math.min(1, text.length - from)) };
}

// Where the final answer stands: in the last box, else where it is last named, as a whole; null where it cannot be found.
export function answerPlace(text: string, answer: string): Span | null {
  const wanted = answer.trim();
  if (!wanted) return null;
  const boxed = boxedPlace(text, wanted);
  if (boxed) return boxed;
  for (let from = text.lastIndexOf(wanted); from >= 0; from = from > 0 ? text.lastIndexOf(wanted, from - 1) : -1) {
    const to = from + wanted.length;
    if (stands(text[from - 1], wanted[0]) && stands(text[to], wanted[wanted.length - 1])) return { from, to };
  }
  return null;
}

const BOX = '\\boxed{';

// The last box that holds the answer, whatever blanks it has.
function boxedPlace(text: string, wanted: string): Span | null {
  const bare = (given: string) => given.replace(/\s+/g, '');
  for (let from = text.lastIndexOf(BOX); from >= 0; from = from > 0 ? text.lastIndexOf(BOX, from - 1) : -1) {
    const held = text.slice(from + BOX.length, from + BOX.length + 2 * wanted.length + 50);
    const end = closing(held);
    if (end >= 0 && bare(held.slice(0, end)) === bare(wanted)) return { from, to: from + BOX.length + end + 1 };
  }
  return null;
}

// The place of the brace that closes one before the text; -1 where none does.
function closing(text: string): number {
  let depth = 1;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '{') depth += 1;
    else if (text[at] === '}' && (depth -= 1) === 0) return at;
  }
  return -1;
}

// 4 is not in 42, nor x in max; but 三 is in 答案是三。
const stands = (beside: string | undefined, edge: string): boolean =>
  beside === undefined || !(/[\p{Script=Latin}\p{N}]/u.test(beside) && /[\p{Script=Latin}\p{N}]/u.test(edge));

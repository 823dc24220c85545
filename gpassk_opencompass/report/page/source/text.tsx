// Questions, references, answers and responses: text only ever becomes text, formulas become MathML.

import type { ComponentChild } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import temml from 'temml';

// Characters that steer and cannot be seen, made visible (UNSEEN of text.py); line breaks and tabs stay.
const UNSEEN = new RegExp('[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e'
  + '\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\ud800-\\udfff\\u{e0000}-\\u{e007f}]', 'gu');

export const visible = (text: string): string =>
  text.replaceAll('\r\n', '\n')
    .replace(UNSEEN, (one) => `⟨U+${one.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`);

const language = (text: string): string | undefined => (/[\u3400-\u9fff]/.test(text) ? 'zh' : undefined);

// Formulas.

export interface Formula {
  source: string;
  latex: string;
  block: boolean;
}

export type Piece = string | Formula;

export const LONGEST_FORMULA = 2_000;

const BLOCK = `[^]{1,${LONGEST_FORMULA}}?`;

// In the order in which they are tried; a price ($5 and $6) is no formula.
const DELIMITED = new RegExp(
  `\\$\\$(?!\\$)(?<dollars>${BLOCK})\\$\\$|\\$(?!\\s)(?<dollar>(?:\\\\[^]|[^$\\\\\\n]){1,${LONGEST_FORMULA}}?)(?<!\\s)\\$(?!\\d)`
  + `|\\\\\\[(?<bracket>${BLOCK})\\\\\\]|\\\\\\((?<round>${BLOCK})\\\\\\)`, 'g');

// Four words in a row are a sentence with a command in it.
const SENTENCE = /(?<![\\\p{L}])\p{L}{2,}(?:\s+\p{L}{2,}){3}/u;

const isFormula = (text: string): boolean => text.length <= LONGEST_FORMULA && /\\[A-Za-z]|\^/.test(text)
  && !SENTENCE.test(text.replace(/\\(?:text|mbox|textbf|mathrm)\{[^{}]*\}/g, ''));

// A text cut at its formulas. `bare`: an answer, which may be a formula without delimiters, or between dollars with blanks beside them.
export function pieces(text: string, bare = false): Piece[] {
  const found: Piece[] = [];
  let position = 0;
  for (const match of text.matchAll(DELIMITED)) {
    const { dollars, dollar, bracket, round } = match.groups!;
    if (match.index > position) found.push(text.slice(position, match.index));
    found.push({ source: match[0], latex: dollars ?? dollar ?? bracket ?? round, block: dollars !== undefined || bracket !== undefined });
    position = match.index + match[0].length;
  }
  if (!found.length && bare && isFormula(text)) return [{ source: text, latex: /^\s*\$([^$]+)\$\s*$/.exec(text)?.[1] ?? text,
    block: false }];
  if (position < text.length) found.push(text.slice(position));
  return found;
}

// Braces within one another, and elements within one another, beyond which the source is shown: parsers and browsers nest calls for each.
const DEEPEST = { braces: 60, elements: 120 };

interface Element {
  attributes?: Record<string, string>;
  children?: Element[];
  toNode: () => Node;
}

// The elements of a formula; null where it cannot be read, or is too deep. It has no name, no link and no style of its own.
function mathematics({ latex, block }: Formula): Node | null {
  let depth = 0;
  for (const character of latex) {
    depth += character === '{' ? 1 : character === '}' ? -1 : 0;
    if (depth > DEEPEST.braces) return null;
  }
  const contained = (element: Element, level: number): void => {
    if (level > DEEPEST.elements) throw new RangeError('too deep');
    for (const name of ['id', 'href', 'src', 'style']) delete element.attributes?.[name];
    element.children?.forEach((child) => contained(child, level + 1));
  };
  try {
    const tree: Element = temml.__renderToMathMLTree(latex, {
      displayMode: block, throwOnError: true, trust: false, maxExpand: 200, maxSize: [10, 10], macros: { '\\mbox': '\\text' },
    });
    contained(tree, 0);
    return tree.toNode();
  } catch {
    return null;
  }
}

// Formulas are drawn in turns of a few milliseconds, between which the browser answers its reader.
const waiting: (() => void)[] = [];
const TURN = 12;
let busy = false;

function draw(job: () => void): void {
  waiting.push(job);
  if (!busy) setTimeout(turn);
  busy = true;
}

function turn(): void {
  const start = performance.now();
  while (waiting.length && performance.now() - start < TURN) waiting.shift()!();
  busy = waiting.length > 0;
  if (busy) setTimeout(turn);
}

function Mathematics({ formula }: { formula: Formula }) {
  const place = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    const element = place.current!;
    element.textContent = visible(formula.source);
    draw(() => {
      const found = element.isConnected && mathematics(formula);
      if (found) element.replaceChildren(found);
    });
  }, [formula.source]);
  return <span ref={place} class={formula.block ? 'formula block' : 'formula'} />;
}

// A short text with its formulas drawn.
export function Rich({ text, bare = false }: { text: string; bare?: boolean }) {
  const cut = useMemo(() => pieces(text, bare), [text, bare]);
  return (
    <span class="rich" lang={language(text)} dir="auto">
      {cut.map((piece) => (typeof piece === 'string' ? visible(piece) : <Mathematics formula={piece} />))}
    </span>
  );
}

// Long texts.

export interface Span {
  from: number;
  to: number;
}

export interface Marked extends Span {
  kind: 'answer' | 'apart';
  title: string;
}

// Characters that are shown unasked, and that a click adds.
const AT_FIRST = 30_000;

// Characters of a box that the browser lays out by itself, and only when it is in sight.
const SLICE = 3_000;

export const splitsPair = (text: string, place: number): boolean =>
  /[\ud800-\udbff]/.test(text[place - 1] ?? '') && /[\udc00-\udfff]/.test(text[place] ?? '');

// A text in slices that end at a line's end where they can, and never within a formula or a character.
export function slices(text: string): Piece[][] {
  const found: Piece[][] = [[]];
  let room = SLICE;
  for (const piece of pieces(text)) {
    let rest = piece;
    if (room <= 0) [room] = [SLICE, found.push([])];
    while (typeof rest === 'string' && rest.length > room) {
      const [line, word] = [rest.lastIndexOf('\n', room - 1) + 1, rest.lastIndexOf(' ', room - 1) + 1];
      const whole = splitsPair(rest, room) ? room - 1 : room;
      const end = [line, word].find((place) => place > 0 && (place > SLICE / 4 || room < SLICE / 2)) ?? whole;
      found[found.length - 1].push(rest.slice(0, end));
      found.push([]);
      [rest, room] = [rest.slice(end), SLICE];
    }
    found[found.length - 1].push(rest);
    room -= (typeof rest === 'string' ? rest : rest.source).length;
  }
  return found.filter((slice) => slice.length);
}

// A text of any length: at first its beginning, or where two texts part; more of it on a click.
export function LongText({ text, marks = [], onDrawn }: { text: string; marks?: Marked[]; onDrawn?: () => void }) {
  const apart = marks.find(({ kind }) => kind === 'apart');
  const cut = (place: number) => (splitsPair(text, place) ? place - 1 : place);
  const [from, setFrom] = useState(() => (apart && apart.from > AT_FIRST ? cut(apart.from - SLICE) : 0));
  const [to, setTo] = useState(() => (text.length > from + AT_FIRST + SLICE ? cut(from + AT_FIRST) : text.length));
  const cuts = useMemo(() => slices(text.slice(from, to)), [text, from, to]);
  useEffect(() => onDrawn?.(), []);
  const more = (name: string, show: () => void) => <p><button type="button" onClick={show}>{name}</button></p>;
  let at = from;
  return (
    <div class="longtext" lang={language(text.slice(0, SLICE))}>
      {from > 0 && more(`Show more of the ${from.toLocaleString('en')} characters before`,
        () => setFrom(cut(Math.max(0, from - AT_FIRST))))}
      {cuts.map((slice) => {
        const start = at;
        return <div class="slice" dir="auto" key={start}>{slice.map((piece) => {
          const place = at;
          at += (typeof piece === 'string' ? piece : piece.source).length;
          return withMarks(piece, place, marks);
        })}</div>;
      })}
      {to < text.length && more(`Show more of the other ${(text.length - to).toLocaleString('en')} characters`,
        () => setTo(cut(Math.min(text.length, to + 2 * AT_FIRST))))}
    </div>
  );
}

// A piece cut at what is marked in it; a formula is marked as a whole.
function withMarks(piece: Piece, start: number, marks: Marked[]): ComponentChild[] {
  const mark = ({ kind, title }: Marked, children: ComponentChild) => <mark class={kind} title={title}>{children}</mark>;
  const length = (typeof piece === 'string' ? piece : piece.source).length;
  const here = marks.filter(({ from, to }) => from < start + length && to > start).sort((one, two) => one.from - two.from);
  if (typeof piece !== 'string') return [here.length ? mark(here[0], <Mathematics formula={piece} />) : <Mathematics formula={piece} />];
  const found: ComponentChild[] = [];
  let done = 0;
  for (const one of here) {
    const [from, to] = [Math.max(one.from - start, done), Math.min(one.to - start, length)];
    if (to > from) found.push(visible(piece.slice(done, from)), mark(one, visible(piece.slice(from, to))));
    done = Math.max(done, to);
  }
  return [...found, visible(piece.slice(done))];
}

// Where two texts part, and where an answer stands.

// The length of what two texts begin with alike, back to where a word starts; null where they are equal.
export function parting(first: string, second: string): number | null {
  const least = Math.min(first.length, second.length);
  let length = 0;
  while (length < least && first.charCodeAt(length) === second.charCodeAt(length)) length += 1;
  if (length === least) return first.length === second.length ? null : least;
  if (splitsPair(first, length) || splitsPair(second, length)) length -= 1;
  // Scripts without spaces have no words to go back in.
  const word = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{N}_\\]{1,60}$/u.exec(first.slice(Math.max(0, length - 60), length));
  return length - (word?.[0].length === 60 ? 0 : word?.[0].length ?? 0);
}

// The word at a place, as far as it is marked.
export function wordAt(text: string, from: number): Span {
  const word = /^(?:\s*\S{1,40})?/u.exec(text.slice(from, from + 100))![0];
  return { from, to: from + Math.max(word.length, Math.min(1, text.length - from)) };
}

// Where the final answer stands: in the last box that holds it, whatever blanks it has, else where it is last named as a whole.
export function answerPlace(text: string, answer: string): Span | null {
  const wanted = answer.trim();
  if (!wanted) return null;
  const bare = (given: string) => given.replace(/\s+/g, '');
  for (let from = text.lastIndexOf('\\boxed{'); from >= 0; from = from > 0 ? text.lastIndexOf('\\boxed{', from - 1) : -1) {
    const start = from + 7;
    let [depth, at] = [1, start];
    for (const most = Math.min(text.length, start + 2 * wanted.length + 50); at < most && depth; at += 1) {
      if (text[at] === '\\') at += 1;
      else depth += text[at] === '{' ? 1 : text[at] === '}' ? -1 : 0;
    }
    if (!depth && bare(text.slice(start, at - 1)) === bare(wanted)) return { from, to: at };
  }
  // 4 is not in 42, nor x in max; but 三 is in 答案是三。
  const joined = (beside: string | undefined, edge: string) => /^[\p{Script=Latin}\p{N}]{2}$/u.test((beside ?? '') + edge);
  for (let from = text.lastIndexOf(wanted); from >= 0; from = from > 0 ? text.lastIndexOf(wanted, from - 1) : -1) {
    const to = from + wanted.length;
    if (!joined(text[from - 1], wanted[0]) && !joined(text[to], wanted[wanted.length - 1])) return { from, to };
  }
  return null;
}

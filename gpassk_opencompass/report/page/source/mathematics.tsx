// Questions, references, answers and responses: text only ever becomes text, formulas become MathML.

import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import temml from 'temml';

export const LONGEST_FORMULA = 2_000;

const BLOCK = `[^]{1,${LONGEST_FORMULA}}?`;

// In the order in which they are tried; a price ($5 and $6) is no formula.
const DELIMITED = new RegExp(
  `\\$\\$(?!\\$)(?<dollars>${BLOCK})\\$\\$|\\$(?!\\s)(?<dollar>(?:\\\\[^]|[^$\\\\\\n]){1,${LONGEST_FORMULA}}?)(?<!\\s)\\$(?!\\d)`
  + `|\\\\\\[(?<bracket>${BLOCK})\\\\\\]|\\\\\\((?<round>${BLOCK})\\\\\\)`, 'g');

const BARE = /\\[A-Za-z]|\^/;

// An answer between dollars with blanks beside them, which in a sentence would be prices.
const DOLLARS = /^\s*\$([^$]+)\$\s*$/;

// Four words in a row are a sentence with a command in it.
const SENTENCE = /(?<![\\\p{L}])\p{L}{2,}(?:\s+\p{L}{2,}){3}/u;

export interface Formula {
  source: string;
  latex: string;
  block: boolean;
}

// A text cut at its formulas. Without delimiters, a text with a command in it is one formula where `bare` allows it.
export function parts(text: string, bare = false): (string | Formula)[] {
  const found: (string | Formula)[] = [];
  let position = 0;
  for (const match of text.matchAll(DELIMITED)) {
    const { dollars, dollar, bracket, round } = match.groups!;
    if (match.index > position) found.push(text.slice(position, match.index));
    found.push({ source: match[0], latex: dollars ?? dollar ?? bracket ?? round, block: dollars !== undefined || bracket !== undefined });
    position = match.index + match[0].length;
  }
  if (!found.length && bare && isFormula(text)) return [{ source: text, latex: DOLLARS.exec(text)?.[1] ?? text, block: false }];
  if (position < text.length) found.push(text.slice(position));
  return found;
}

const isFormula = (text: string): boolean =>
  text.length <= LONGEST_FORMULA && BARE.test(text) && !SENTENCE.test(text.replace(/\\(?:text|mbox|textbf|mathrm)\{[^{}]*\}/g, ''));

// Depth of braces beyond which a formula is shown as its source: parsers and browsers nest calls for each.
const DEEPEST = 60;

function depth(latex: string): number {
  let deepest = 0;
  let now = 0;
  for (const character of latex) {
    now += character === '{' ? 1 : character === '}' ? -1 : 0;
    deepest = Math.max(deepest, now);
  }
  return deepest;
}

interface Node {
  attributes?: Record<string, string>;
  children?: Node[];
  toNode: () => globalThis.Node;
}

// Elements within one another beyond which the source is shown: browsers take long for each.
const DEEPEST_DRAWN = 120;

// Of what a formula may say of itself: no name that the page could take for its own, no link, and no style as markup.
const REFUSED = ['id', 'href', 'src', 'style'];

function contained(node: Node, level = 0): Node {
  if (level > DEEPEST_DRAWN) throw new RangeError('too deep');
  for (const name of REFUSED) delete node.attributes?.[name];
  node.children?.forEach((child) => contained(child, level + 1));
  return node;
}

// The elements of a formula; null where it cannot be read.
function drawn({ latex, block }: Formula): globalThis.Node | null {
  if (depth(latex) > DEEPEST) return null;
  const rules = { displayMode: block, throwOnError: true, trust: false, maxExpand: 200, maxSize: [10, 10] as [number, number],
    macros: { '\\mbox': '\\text' } };
  try {
    return contained(temml.__renderToMathMLTree(latex, rules)).toNode();
  } catch {
    return null;
  }
}

// Milliseconds after which the browser has its turn.
export const TURN = 12;

// Do something when the browser has shown what is there; returns what takes it back.
export function afterPaint(job: () => void): () => void {
  let timer = 0;
  const soon = () => { timer = window.setTimeout(job); };
  // A page that nobody sees is not painted.
  const frame = document.hidden ? 0 : requestAnimationFrame(soon);
  if (!frame) soon();
  return () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
}

const waiting: (() => void)[] = [];

// When the present turn of drawing began; 0 where there is none.
let turn = 0;

// Do something at once if there is time for it in this turn, else in one of the next.
function inTurn(job: () => void): void {
  if (!turn) {
    turn = performance.now();
    afterPaint(nextTurn);
  }
  if (!waiting.length && performance.now() - turn < TURN) job();
  else waiting.push(job);
}

function nextTurn(): void {
  turn = performance.now();
  while (waiting.length && performance.now() - turn < TURN) waiting.shift()!();
  if (waiting.length) afterPaint(nextTurn);
  else turn = 0;
}

export function Mathematics({ formula }: { formula: Formula }) {
  const place = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    const element = place.current!;
    const show = (content: globalThis.Node | string) => element.replaceChildren(content);
    show(visible(formula.source));
    inTurn(() => {
      const found = element.isConnected && drawn(formula);
      if (found) show(found);
    });
  }, [formula.source]);
  return <span ref={place} class={formula.block ? 'formula block' : 'formula'} />;
}

const CHINESE = /[\u3400-\u9fff]/;

export const languageOf = (text: string): string | undefined => (CHINESE.test(text) ? 'zh' : undefined);

// Characters that steer and cannot be seen, made visible (`UNSEEN` of unseen.py); line breaks and tabs stay.
const UNSEEN = new RegExp('[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e'
  + '\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\ud800-\\udfff\\u{e0000}-\\u{e007f}]', 'gu');

export const visible = (text: string): string =>
  text.replaceAll('\r\n', '\n').replace(UNSEEN, (character) => `⟨U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`);

// A text with its formulas drawn. `bare`: an answer, which may be a formula without delimiters.
export function Rich({ text, bare = false }: { text: string; bare?: boolean }) {
  const cut = useMemo(() => parts(text, bare), [text, bare]);
  return (
    <span class="rich" lang={languageOf(text)} dir="auto">
      {cut.map((part) => (typeof part === 'string' ? visible(part) : <Mathematics formula={part} />))}
    </span>
  );
}

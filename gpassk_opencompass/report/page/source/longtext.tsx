// A text of any length: drawn in slices, so that the page stays quick, and at first only its beginning.

import type { ComponentChild, VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { splitsPair, type Span } from './divergence';
import { afterPaint, languageOf, LONGEST_FORMULA, Mathematics, parts, TURN, visible, type Formula } from './mathematics';

export interface Marked extends Span {
  kind: 'answer' | 'apart';
  title: string;
}

// Characters that are shown unasked.
export const AT_FIRST = 30_000;

// Characters that are added at once.
const SLICE = 3_000;

// Formulas of one text that are drawn; a response that repeats itself may have a quarter of a million.
const MOST_FORMULAS = 10_000;

// More than the text and delimiters of the longest formula, which no slice may cut.
const BEYOND = LONGEST_FORMULA + 10;

export interface Slice {
  to: number;
  pieces: (string | Formula)[];
}

// The slice of a text that starts at a place. It ends at a line's end where it can, and never within a formula.
// `draws`: without, the text is as it was written.
export function sliceOf(text: string, from: number, draws = true): Slice {
  const ahead = text.slice(from, from + SLICE + BEYOND);
  const pieces = draws ? parts(ahead) : [ahead];
  const end = ahead.length <= SLICE ? ahead.length : cutOf(pieces);
  return { to: from + end, pieces: upTo(pieces, end) };
}

const lengthOf = (piece: string | Formula): number => (typeof piece === 'string' ? piece.length : piece.source.length);

// Where a slice ends: after a line, after a word, or as far as there is room.
function cutOf(pieces: (string | Formula)[]): number {
  let [line, word, any, at] = [0, 0, 0, 0];
  for (const piece of pieces) {
    if (at >= SLICE) break;
    if (typeof piece === 'string') {
      const taken = splitsPair(piece, SLICE - at) ? SLICE - at - 1 : SLICE - at;
      const room = piece.slice(0, taken);
      line = room.includes('\n') ? at + room.lastIndexOf('\n') + 1 : line;
      word = room.includes(' ') ? at + room.lastIndexOf(' ') + 1 : word;
      any = at + room.length;
    } else any = at + lengthOf(piece);
    at += lengthOf(piece);
  }
  return [line, word].find((place) => place > SLICE / 4) ?? any;
}

function upTo(pieces: (string | Formula)[], end: number): (string | Formula)[] {
  const found: (string | Formula)[] = [];
  let at = 0;
  for (const piece of pieces) {
    if (at >= end) break;
    found.push(typeof piece === 'string' ? piece.slice(0, end - at) : piece);
    at += lengthOf(piece);
  }
  return found;
}

// `onDrawn`: all that is shown at first stands there, every mark with it.
export function LongText({ text, marks = [], onDrawn }: { text: string; marks?: Marked[]; onDrawn?: () => void }) {
  const drawn = useRef<Drawn>({ slices: [], formulas: 0 });
  const [end, setEnd] = useState(() => (text ? add(drawn.current, text, 0, marks) : 0));
  const farthest = Math.max(AT_FIRST, ...marks.map(({ to }) => to + 2_000));
  const [limit, setLimit] = useState(farthest + 2_000 < text.length ? farthest : text.length);
  useEffect(() => {
    if (end >= limit) {
      onDrawn?.();
      return undefined;
    }
    return afterPaint(() => setEnd(more(drawn.current, text, end, limit, marks)));
  }, [end, limit]);
  return (
    <div class="longtext" lang={languageOf(text.slice(0, SLICE))}>
      {drawn.current.slices}
      {end >= limit && end < text.length && (
        <p>
          <button type="button" onClick={() => setLimit(text.length)}>Show the other {(text.length - end).toLocaleString('en')} characters</button>
        </p>
      )}
      {end < limit && <p class="note">…</p>}
    </div>
  );
}

interface Drawn {
  slices: VNode[];
  formulas: number;
}

// Slices of one turn, which the browser has to lay out then.
const AT_ONCE = 4;

// Draw slices until it is the turn of the browser. Returns where the last one ends.
function more(drawn: Drawn, text: string, from: number, limit: number, marks: Marked[]): number {
  const start = performance.now();
  let end = from;
  for (let count = 0; count < AT_ONCE && end < limit && performance.now() - start < TURN; count += 1) end = add(drawn, text, end, marks);
  return end;
}

// Draw the slice from a place on. It stays as it is whatever is drawn after it. Returns where it ends.
function add(drawn: Drawn, text: string, from: number, marks: Marked[]): number {
  const { to, pieces } = sliceOf(text, from, drawn.formulas < MOST_FORMULAS);
  drawn.formulas += pieces.filter((piece) => typeof piece !== 'string').length;
  drawn.slices.push(<div class="slice" dir="auto" key={from}>{withMarks(pieces, from, marks)}</div>);
  return to;
}

function withMarks(pieces: (string | Formula)[], from: number, marks: Marked[]): ComponentChild[] {
  let at = from;
  return pieces.flatMap((piece, i) => {
    const start = at;
    at += lengthOf(piece);
    const here = marks.filter((mark) => mark.from < at && mark.to > start);
    if (typeof piece === 'string') {
      // A formula on a line of its own ends this line itself.
      const ended = Number(i > 0 && (pieces[i - 1] as Formula).block && piece.startsWith('\n'));
      return marked(piece.slice(ended), start + ended, here);
    }
    const formula = <Mathematics formula={piece} />;
    return here.length ? <Mark mark={here[0]}>{formula}</Mark> : formula;
  });
}

// A text without formulas, cut at its marks.
function marked(piece: string, start: number, marks: Marked[]): ComponentChild[] {
  const found: ComponentChild[] = [];
  let done = 0;
  for (const mark of [...marks].sort((first, second) => first.from - second.from)) {
    const [from, to] = [Math.max(mark.from - start, done), Math.min(mark.to - start, piece.length)];
    if (to <= from) continue;
    found.push(visible(piece.slice(done, from)), <Mark mark={mark}>{visible(piece.slice(from, to))}</Mark>);
    done = to;
  }
  return [...found, visible(piece.slice(done))];
}

function Mark({ mark, children }: { mark: Marked; children: ComponentChild }) {
  return <mark class={mark.kind} title={mark.title}>{children}</mark>;
}

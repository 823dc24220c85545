// What several views are made of.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Badge, Entry } from './content';
import { percent } from './scores';
import type { Interval } from './statistics';
import { usePrinting } from './virtual';

// A table of a few rows; a long one is a VirtualTable.
export function Table({ caption, heads, rows, numeric = [] }: {
  caption: ComponentChildren; heads: ComponentChildren[]; rows: ComponentChildren[][]; numeric?: number[];
}) {
  const kind = (i: number) => (numeric.includes(i) ? 'number' : undefined);
  return (
    <div class="scroll tall" tabIndex={0} role="region" aria-label={typeof caption === 'string' ? caption : 'table'}>
      <table>
        <caption><span>{caption}</span></caption>
        <thead><tr>{heads.map((head, i) => <th scope="col" class={kind(i)}>{head}</th>)}</tr></thead>
        <tbody>
          {rows.map(([head, ...cells]) => (
            <tr><th scope="row">{head}</th>{cells.map((cell, i) => <td class={kind(i + 1)}>{cell}</td>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// What is drawn when somebody opens it, or prints the page: paper cannot be unfolded.
// `onPaper`: false for what would be hundreds of pages, which are printed as far as they are open.
export function Folded({ summary, children, open = false, onPaper = true, id }: {
  summary: ComponentChildren; children: () => ComponentChildren; open?: boolean; onPaper?: boolean; id?: string;
}) {
  const [opened, setOpened] = useState(open);
  const printing = usePrinting();
  const shown = opened || (printing && onPaper);
  return (
    <details id={id} open={shown} onToggle={({ currentTarget }) => !printing && setOpened(currentTarget.open)}>
      <summary>{summary}</summary>
      {shown && children()}
    </details>
  );
}

// Names and what is known of them; those without a value are left out.
export function Facts({ pairs }: { pairs: [string, ComponentChildren][] }) {
  return (
    <dl>
      {pairs.filter(([, value]) => value !== '' && value !== null).map(([name, value]) => [<dt>{name}</dt>, <dd>{value}</dd>])}
    </dl>
  );
}

export function Labelled({ label, children }: { label: string; children: ComponentChildren }) {
  return <label>{label}{children}</label>;
}

export function Choose({ label, value, values, onChange, id }: {
  label: string; value: string; values: (string | [string, string])[]; onChange: (value: string) => void; id?: string;
}) {
  return (
    <Labelled label={label}>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {values.map((one) => {
          const [key, shown] = typeof one === 'string' ? [one, one] : one;
          return <option value={key} selected={key === value}>{shown}</option>;
        })}
      </select>
    </Labelled>
  );
}

export const between = ({ low, high }: { low: number; high: number }, digits = 1): string => `${percent(low, digits)} – ${percent(high, digits)}`;

// A score with its interval behind it, or a mark that leads to why there is none.
export function Score({ interval, notes }: { interval: Interval | null; notes: Footnotes }) {
  if (!interval) return <>–</>;
  return (
    <>
      <span class="score">{percent(interval.estimate)}</span>{' '}
      <span class="range">{interval.refused ? <Mark note={interval.refused} notes={notes} /> : between(interval as { low: number; high: number })}</span>
    </>
  );
}

// What is said of scores of a table, and why intervals are refused: a letter each, explained below it.
export class Footnotes {
  private readonly texts: string[] = [];

  letter(text: string): string {
    const place = this.texts.indexOf(text);
    return letters(place >= 0 ? place : this.texts.push(text) - 1);
  }

  get all(): [string, string][] {
    return this.texts.map((text, i) => [letters(i), text]);
  }
}

const letters = (place: number): string => (place < 26 ? '' : letters(Math.floor(place / 26) - 1)) + String.fromCharCode(97 + (place % 26));

export function Mark({ note, notes }: { note: string; notes: Footnotes }) {
  return <Letter text={noInterval(note)} notes={notes} />;
}

export const noInterval = (why: string): string => `no interval: ${why}`;

export function Letter({ text, notes }: { text: string; notes: Footnotes }) {
  return <abbr class="mark" title={text}>[{notes.letter(text)}]</abbr>;
}

export function Notes({ notes }: { notes: Footnotes }) {
  return <p class="note">{notes.all.map(([letter, text]) => <span class="footnote">[{letter}] {text}. </span>)}</p>;
}

export const badgeClass = ({ kind }: Badge): string => `badge-${kind.replace(/ /g, '-')}`;

export function Badges({ badges }: { badges: Badge[] }) {
  return <>{badges.map(({ kind, text }) => <span class={`badge ${badgeClass({ kind, text })}`} title={text}>{text}</span>)}</>;
}

export const rankText = ({ ranks: [best, worst] }: Entry): string => (best === worst ? String(best) : `${best}–${worst}`);

// What several views are made of: tables, rows of marks, badges.

import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { visible } from './text';
import { say, usePlace } from './place';

export interface Column<Row> {
  key: string;
  head: ComponentChildren;
  // Said of the column as a whole, where its head is short.
  title?: string;
  cell: (row: Row) => ComponentChildren;
  // What rows are sorted by: numbers by size, names as people order them, null last. Without it there is no sorting.
  by?: (row: Row) => number | string | null;
  numeric?: boolean;
  // Begins with the least, as ranks do; else numbers begin with the largest.
  rising?: boolean;
  // The head of its row.
  heads?: boolean;
  // Below the head, not part of the button that sorts.
  below?: ComponentChildren;
}

const collator = new Intl.Collator('en', { numeric: true });

export function sorted<Row>(rows: readonly Row[], by: Column<Row>['by'], descending: boolean): Row[] {
  if (!by) return [...rows];
  const sign = descending ? -1 : 1;
  return rows.map((row) => ({ row, key: by(row) })).sort((first, second) => {
    if (first.key === null || second.key === null) return Number(first.key === null) - Number(second.key === null);
    const order = typeof first.key === 'string' ? collator.compare(first.key, String(second.key)) : first.key - Number(second.key);
    return sign * order;
  }).map(({ row }) => row);
}

const descends = <Row,>({ numeric, rising }: Column<Row>): boolean => Boolean(numeric) && !rising;

// A table in the order of the address; `usual` is the column by which it is sorted unasked.
export function Table<Row>({ id, caption, columns, rows, keyOf, usual, empty = '' }: {
  id: string; caption: string; columns: Column<Row>[]; rows: readonly Row[]; keyOf: (row: Row) => string; usual?: string; empty?: string;
}) {
  const { address, go } = usePlace();
  const area = useRef<HTMLDivElement>(null);
  const [asked, down] = [address.sort.replace(/^-/, ''), address.sort.startsWith('-')];
  const known = columns.find(({ key, by }) => by && key === asked);
  const column = known ?? columns.find(({ key }) => key === usual);
  const descending = known ? down : column !== undefined && descends(column);
  const inOrder = useMemo(() => sorted(rows, column?.by, descending), [rows, columns, column?.key, descending]);
  const sortBy = (one: Column<Row>) => {
    const downwards = one.key === column?.key ? !descending : descends(one);
    go({ sort: (downwards ? '-' : '') + one.key }, true);
    say(`Sorted by ${one.key}, ${downwards ? 'descending' : 'ascending'}`);
  };
  const keys = useOneStop(area, 'tr', 'a, button');
  const kinds = ({ numeric, heads }: Column<Row>) => [numeric && 'number', heads && 'heads'].filter(Boolean).join(' ') || undefined;
  return (
    <div class="scroll" role="region" aria-labelledby={`${id}-caption`} tabIndex={0} ref={area} {...keys}>
      <table id={id}>
        <caption><span id={`${id}-caption`}>{caption}</span></caption>
        <thead><tr>
          {columns.map((one) => (
            <th scope="col" title={one.title} data-column={one.key} class={kinds(one)}
              aria-sort={one.key !== column?.key ? undefined : descending ? 'descending' : 'ascending'}>
              {one.by ? <button type="button" onClick={() => sortBy(one)}>{one.head}<span class="arrow"
                aria-hidden="true" /></button> : one.head}
              {one.below}
            </th>
          ))}
        </tr></thead>
        <tbody>
          {inOrder.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((one) => (one.heads ? <th scope="row">{one.cell(row)}</th> : <td class={kinds(one)}>{one.cell(row)}</td>))}
            </tr>
          ))}
        </tbody>
      </table>
      {!rows.length && <p class="note">{empty}</p>}
    </div>
  );
}

const STEPS: Record<string, [number, number]> = {
  ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1], PageDown: [10, 0], PageUp: [-10, 0],
};

// Have one of many stops be where Tab stops, and arrow keys go from there along rows and columns. `rows` are elements with stops in them;
// where there are none, rows are the lines in which the stops stand.
function useOneStop(area: { current: HTMLElement | null }, rows: string, stops: string) {
  const last = useRef<HTMLElement | null>(null);
  const set = () => {
    const all = [...area.current!.querySelectorAll<HTMLElement>(stops)];
    const stop = last.current?.isConnected ? last.current : area.current!.querySelector<HTMLElement>('tbody a, [aria-selected=true]')
      ?? all[0];
    for (const one of all) one.tabIndex = one === stop ? 0 : -1;
    if (area.current!.role === 'region') area.current!.tabIndex = stop ? -1 : 0;
  };
  useLayoutEffect(set);
  const linesOf = (): HTMLElement[][] => {
    const stopsIn = (part: Element) => [...part.querySelectorAll<HTMLElement>(stops)];
    if (rows) return [...area.current!.querySelectorAll(rows)].map(stopsIn).filter((row) => row.length);
    const lines = new Map<number, HTMLElement[]>();
    for (const one of stopsIn(area.current!)) lines.set(one.offsetTop, [...lines.get(one.offsetTop) ?? [], one]);
    return [...lines.values()];
  };
  const onFocusIn = ({ target }: FocusEvent) => {
    if (target === area.current) return;
    last.current = target as HTMLElement;
    set();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const here = event.target as HTMLElement;
    if (event.altKey || event.ctrlKey || event.metaKey || !(event.key in STEPS || ['Home', 'End'].includes(event.key))) return;
    const lines = linesOf();
    const line = lines.findIndex((row) => row.includes(here));
    if (line < 0) return;
    const row = lines[line];
    const [down, right] = STEPS[event.key] ?? [0, 0];
    let next: HTMLElement | undefined = event.key === 'Home' ? row[0] : event.key === 'End' ? row[row.length - 1] : undefined;
    if (right) next = row[row.indexOf(here) + right] ?? (rows ? undefined
      : lines[line + right]?.[right > 0 ? 0 : lines[line + right].length - 1]);
    if (down) {
      const far = (one: HTMLElement) => Math.abs(one.getBoundingClientRect().left - here.getBoundingClientRect().left);
      const target = lines[Math.max(0, Math.min(lines.length - 1, line + down))];
      if (target !== row) next = target.reduce((best, one) => (far(one) < far(best) ? one : best));
    }
    event.preventDefault();
    next?.focus();
  };
  return { onFocusIn, onKeyDown };
}

// Marks beside each other, one tab stop: a sample or a question each, with a shape and a letter for what became of it.
export interface Mark {
  key: string;
  class: string;
  letter: string;
  label: string;
  chosen?: boolean;
}

export function Marks({ label, marks, onChoose, class: name, onLook }: {
  label: string; marks: readonly Mark[]; onChoose: (key: string) => void; class: string; onLook?: (label: string) => void;
}) {
  const area = useRef<HTMLUListElement>(null);
  const keys = useOneStop(area, '', '[role=option]');
  const placeOf = ({ target }: Event) => marks[[...area.current!.children].indexOf((target as Element).closest('[role=option]')!)];
  const look = (event: Event) => { const mark = placeOf(event); if (mark) onLook?.(mark.label); };
  return (
    <ul class={`marks ${name}`} role="listbox" aria-multiselectable="true" aria-label={label} ref={area} onPointerOver={look}
      onClick={(event) => { const mark = placeOf(event); if (mark) onChoose(mark.key); }}
      onFocusIn={(event) => { keys.onFocusIn(event); look(event); }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return keys.onKeyDown(event);
        event.preventDefault();
        return onChoose(placeOf(event)!.key);
      }}>
      {marks.map((mark) => (
        <li role="option" key={mark.key} class={`mark ${mark.class}`} aria-selected={Boolean(mark.chosen)} aria-label={visible(mark.label)}
          title={visible(mark.label)}><span aria-hidden="true">{mark.letter}</span></li>
      ))}
    </ul>
  );
}

export function Choose({ label, value, values, onChange, id }: {
  label: string; value: string; values: [string, string][]; onChange: (value: string) => void; id: string;
}) {
  return (
    <label>{label}
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {values.map(([key, shown]) => <option value={key} selected={key === value}>{shown}</option>)}
      </select>
    </label>
  );
}

export const Badges = ({ badges }: { badges: string[] }) => <>{badges.map((text) => <span class="badge">{text}</span>)}</>;

export const percent = (value: number, digits = 2): string => value.toFixed(digits);

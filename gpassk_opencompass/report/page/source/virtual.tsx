// A table of any length: only the rows in sight are in the document. When it is printed, all of them are.

import { Component, options, type ComponentChildren, type JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import './virtual.css';
import { stepped, useOneStop } from './walking';

export interface Column<Row> {
  key: string;
  head: ComponentChildren;
  // Said of the column as a whole, where its head is short.
  title?: string;
  cell: (row: Row) => ComponentChildren;
  // What rows are sorted by: numbers by size, names as people order them, null last. Without it there is no sorting.
  by?: (row: Row) => number | string | null;
  numeric?: boolean;
  // The head of its row.
  heads?: boolean;
  // In rem. Where all columns have one, the table is as wide as they are whichever rows are in sight.
  width?: number;
  // Below the head, not part of the button that sorts.
  scale?: ComponentChildren;
}

const collator = new Intl.Collator('en', { numeric: true });

// Numbers by size, names as people order them, and what is missing last either way.
export function sorted<Row>(rows: readonly Row[], column: Column<Row> | undefined, descending: boolean): Row[] {
  const { by } = column ?? {};
  if (!by) return [...rows];
  const sign = descending ? -1 : 1;
  return rows.map((row) => ({ row, key: by(row) })).sort((first, second) => {
    if (first.key === null || second.key === null) return Number(first.key === null) - Number(second.key === null);
    const order = typeof first.key === 'string' ? collator.compare(first.key, String(second.key)) : first.key - Number(second.key);
    return sign * order;
  }).map(({ row }) => row);
}

// Rows beyond those in sight, on either side: a fast scroll shows no gap. Rows come and go so many at once.
const MARGIN = 12;
const STEP = 6;

interface Properties<Row> {
  caption: ComponentChildren;
  columns: Column<Row>[];
  // In their order.
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  sort?: { key: string; descending: boolean };
  onSort?: (column: Column<Row>) => void;
  id?: string;
  empty?: string;
}

export function VirtualTable<Row>({ caption, columns, rows, keyOf, sort, onSort, id, empty }: Properties<Row>) {
  const area = useRef<HTMLDivElement>(null);
  const [span, setSpan] = useState<[number, number]>([0, 40]);
  const [height, measure] = useRowHeight(area);
  const printing = usePrinting();
  const look = () => {
    if (!area.current) return; // it was taken away meanwhile
    const { scrollTop, clientHeight } = area.current;
    const first = Math.max(0, STEP * Math.floor(scrollTop / height / STEP) - MARGIN);
    const last = STEP * Math.ceil((scrollTop + clientHeight) / height / STEP) + MARGIN;
    setSpan(([from, to]) => (from === first && to === last ? [from, to] : [first, last]));
  };
  useLayoutEffect(() => { measure(); look(); }, [rows.length, height]);
  useEffect(() => {
    const observer = new ResizeObserver(() => { measure(); look(); });
    if (area.current) observer.observe(area.current);
    return () => observer.disconnect();
  }, [height]);
  const focused = useOneStop(area);
  const [from, to] = printing ? [0, rows.length] : [Math.min(span[0], rows.length), Math.min(span[1], rows.length)];
  const gap = (count: number): JSX.Element | null =>
    (count > 0 ? <tr aria-hidden="true" class="gap"><td colSpan={columns.length} style={{ height: `${count * height}px` }} /></tr> : null);
  const fixed = columns.every(({ width }) => width !== undefined);
  return (
    <>
      <div class="scroll tall" tabIndex={0} role="region" aria-label={id ? undefined : 'table'} aria-labelledby={id && `${id}-caption`}
        aria-description="Arrow keys go from cell to cell" ref={area} onScroll={look} onFocusIn={focused}
        onKeyDown={(event) => stepped(event, area.current!)}>
        <table id={id} class={fixed ? 'one-line fixed' : 'one-line'} aria-rowcount={rows.length + 1}>
          <caption><span id={id && `${id}-caption`}>{caption}</span></caption>
          {fixed && <colgroup>{columns.map((column) => <col style={{ width: widthOf(column) }} />)}</colgroup>}
          <thead><tr>{columns.map((column) => <Head column={column} sort={sort} onSort={onSort} />)}</tr></thead>
          <tbody>
            {gap(from)}
            {rows.slice(from, to).map((row, i) => <Line key={keyOf(row)} row={row} columns={columns} place={from + i} />)}
            {gap(rows.length - to)}
          </tbody>
        </table>
        {!rows.length && empty && <p class="note">{empty}</p>}
      </div>
      <p class="keys" aria-hidden="true">Arrow keys go from cell to cell, Home and End to the ends, Enter opens or sorts.</p>
    </>
  );
}

// A name leaves room for figures on a narrow screen.
const widthOf = <Row,>({ width, heads }: Column<Row>): string => (heads ? `min(${width}rem, 36vw)` : `${width}rem`);

interface LineProperties<Row> {
  row: Row;
  columns: Column<Row>[];
  place: number;
}

// A row, which is drawn again only where something of it is new: not while the table scrolls.
class Line<Row> extends Component<LineProperties<Row>> {
  shouldComponentUpdate(next: LineProperties<Row>): boolean {
    return next.row !== this.props.row || next.columns !== this.props.columns || next.place !== this.props.place;
  }

  render({ row, columns, place }: LineProperties<Row>) {
    return (
      <tr aria-rowindex={place + 2} class={place % 2 ? 'odd' : undefined}>
        {columns.map((column) => (column.heads
          ? <th scope="row">{column.cell(row)}</th>
          : <td class={column.numeric ? 'number' : undefined}>{column.cell(row)}</td>))}
      </tr>
    );
  }
}

function Head<Row>({ column, sort, onSort }: {
  column: Column<Row>; sort?: { key: string; descending: boolean }; onSort?: (column: Column<Row>) => void;
}) {
  const { key, head, title, by, numeric, heads, scale } = column;
  const order = sort?.key === key ? (sort.descending ? 'descending' : 'ascending') : undefined;
  const kinds = [numeric && 'number', heads && 'heads'].filter(Boolean).join(' ');
  return (
    <th scope="col" title={title} data-column={key} class={kinds || undefined} aria-sort={order}>
      {by && onSort
        ? <button type="button" onClick={() => onSort(column)}>{head}<span class="arrow" aria-hidden="true" /></button>
        : head}
      {scale}
    </th>
  );
}

// Of the first row that is drawn, whatever the size of letters; and how to look again.
function useRowHeight(area: { current: HTMLDivElement | null }): [number, () => void] {
  const [height, setHeight] = useState(36);
  const measure = () => {
    const found = area.current?.querySelector('tbody tr:not(.gap)')?.getBoundingClientRect().height;
    if (found && Math.abs(found - height) > 0.5) setHeight(found);
  };
  return [height, measure];
}

// Whether the page is being printed: then everything has to be in the document.
export function usePrinting(): boolean {
  const [printing, setPrinting] = useState(false);
  useEffect(() => {
    const at = (value: boolean) => () => {
      const usual = options.debounceRendering;
      options.debounceRendering = (render) => render(); // the browser takes its picture at once
      setPrinting(value);
      options.debounceRendering = usual;
    };
    const [before, after] = [at(true), at(false)];
    addEventListener('beforeprint', before);
    addEventListener('afterprint', after);
    return () => {
      removeEventListener('beforeprint', before);
      removeEventListener('afterprint', after);
    };
  }, []);
  return printing;
}

// Keys in a table: Tab stops at it once, arrow keys go on from there, from link to link along rows and columns.

import { useLayoutEffect, useRef } from 'preact/hooks';

const STEPS: Record<string, [number, number]> = {
  ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1], PageDown: [10, 0], PageUp: [-10, 0],
};

const stops = (row: Element): HTMLElement[] => [...row.querySelectorAll<HTMLElement>('a, button, input')];

// Have one of all links, buttons and boxes of a table be where Tab stops: the last that had the focus, or the first name in sight.
export function useOneStop(area: { current: HTMLElement | null }): (event: FocusEvent) => void {
  const last = useRef<HTMLElement | null>(null);
  const set = () => {
    if (!area.current) return;
    const all = stops(area.current);
    if (!last.current?.isConnected) last.current = null;
    const stop = last.current ?? firstInSight(area.current) ?? all[0];
    for (const one of all) one.tabIndex = one === stop ? 0 : -1;
    area.current.tabIndex = stop ? -1 : 0;
  };
  useLayoutEffect(set);
  return ({ target }) => {
    if (target === area.current) return;
    last.current = target as HTMLElement;
    set();
  };
}

function firstInSight(area: HTMLElement): HTMLElement | undefined {
  const below = area.querySelector('thead')?.getBoundingClientRect().bottom ?? 0;
  const names = [...area.querySelectorAll<HTMLElement>('tbody th :is(a, button)')];
  return names.find((name) => name.getBoundingClientRect().top >= below - 1) ?? names[0];
}

// Answer a key that was pressed in the area of a table.
export function stepped(event: KeyboardEvent, area: HTMLElement): void {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const next = nextOf(event.key, event.target as HTMLElement, area);
  if (!next) return;
  event.preventDefault();
  next.focus();
}

function nextOf(key: string, here: HTMLElement, area: HTMLElement): HTMLElement | undefined {
  const row = here.closest('tr');
  if (!row || !area.contains(row)) return undefined;
  const inRow = stops(row);
  if (key === 'Home') return inRow[0];
  if (key === 'End') return inRow[inRow.length - 1];
  const [down, right] = STEPS[key] ?? [0, 0];
  if (right) return inRow[inRow.indexOf(here) + right];
  return down ? beside(area, row, down, columnOf(here)) : undefined;
}

const columnOf = (stop: HTMLElement): number => (stop.closest('td, th') as HTMLTableCellElement).cellIndex;

// What stands nearest to the column in a row that is so many further.
function beside(area: HTMLElement, row: Element, down: number, column: number): HTMLElement | undefined {
  const rows = [...area.querySelectorAll('tr')].filter((one) => stops(one).length);
  const next = rows[Math.max(0, Math.min(rows.length - 1, rows.indexOf(row as HTMLTableRowElement) + down))];
  const far = (stop: HTMLElement) => Math.abs(columnOf(stop) - column);
  return stops(next).reduce((best, stop) => (far(stop) < far(best) ? stop : best));
}

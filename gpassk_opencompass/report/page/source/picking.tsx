// A drawing whose parts can be picked: one stop for the Tab key, arrow keys within, Enter for what a click does.

import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

// A part of the drawing; they are given in reading order.
export interface Spot {
  id: string;
  x: number;
  y: number;
}

const ACROSS = 1e-4; // a line nearer by is always nearer than a place on it

// Where a key leads to: left and right in reading order, up and down to the next line, there to what is nearest.
export function moved(spots: readonly Spot[], from: number, key: string): number {
  const last = spots.length - 1;
  if (key === 'Home') return 0;
  if (key === 'End') return last;
  if (key === 'ArrowLeft') return Math.max(0, from - 1);
  if (key === 'ArrowRight') return Math.min(last, from + 1);
  const way = key === 'ArrowUp' ? -1 : key === 'ArrowDown' ? 1 : 0;
  if (!way) return from;
  const { x, y } = spots[from];
  let best = from;
  let least = Infinity;
  spots.forEach((spot, i) => {
    const down = way * (spot.y - y);
    const far = down + ACROSS * Math.abs(spot.x - x);
    if (down > 0 && far < least) [best, least] = [i, far];
  });
  return best;
}

// `children` draws the parts, elements with the ids of the spots and role "option"; `line` says what the active one is.
export function Picking({ label, hint, spots, open, line, children }: {
  label: string;
  // What can be done here, said while nothing is active.
  hint: string;
  spots: readonly Spot[];
  open: (place: number) => void;
  line: (place: number) => string;
  children: (active: number | null) => ComponentChildren;
}) {
  const [active, setActive] = useState<number | null>(null);
  const at = active !== null && active < spots.length ? active : null;
  const keyboard = useRef(false);
  useEffect(() => {
    if (keyboard.current && at !== null) document.getElementById(spots[at].id)?.scrollIntoView({ block: 'nearest' });
  }, [at]);
  const placeOf = (event: Event) => {
    const { id } = (event.target as Element).closest('[role=option]') ?? {};
    return id ? spots.findIndex((spot) => spot.id === id) : -1;
  };
  const point = (event: Event) => {
    const place = placeOf(event);
    keyboard.current = false;
    if (place >= 0) setActive(place);
  };
  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !spots.length) return;
    keyboard.current = true;
    const next = moved(spots, at ?? 0, event.key);
    if (event.key === 'Enter' || event.key === ' ') open(at ?? 0);
    else if (/^(Arrow|Home|End)/.test(event.key)) setActive(next);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <div role="listbox" class="picking" tabIndex={0} aria-label={label} aria-activedescendant={at === null ? undefined : spots[at].id}
        onKeyDown={press} onFocus={() => setActive(at ?? 0)} onPointerMove={point}
        onClick={(event) => { const place = placeOf(event); if (place >= 0) open(place); }}>
        {children(at)}
      </div>
      <p class={at === null ? 'line hint' : 'line'} aria-live="polite">{at === null ? hint : line(at)}</p>
    </>
  );
}

// Width that there is for a drawing, in CSS pixels.
export function useWidth(least: number): [{ current: HTMLDivElement | null }, number] {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(least);
  useLayoutEffect(() => {
    const element = place.current!; // the observer may still speak when the drawing is gone
    const look = () => setWidth(Math.max(least, Math.floor(element.clientWidth)));
    const observer = new ResizeObserver(look);
    observer.observe(element);
    look();
    return () => observer.disconnect();
  }, []);
  return [place, width];
}

// Buttons that are one stop for the Tab key, with arrow keys between them.
export function Toolbar({ label, class: name, children }: { label: string; class?: string; children: ComponentChildren }) {
  const bar = useRef<HTMLDivElement>(null);
  const buttons = () => [...bar.current!.querySelectorAll('button')];
  const stopAt = (one: HTMLButtonElement | undefined) => buttons().forEach((button) => { button.tabIndex = button === one ? 0 : -1; });
  useEffect(() => {
    const all = buttons();
    stopAt(all.find((button) => button === document.activeElement) ?? all.find(({ ariaPressed }) => ariaPressed === 'true') ?? all[0]);
  });
  const press = (event: KeyboardEvent) => {
    const all = buttons();
    const from = all.indexOf(document.activeElement as HTMLButtonElement);
    const way = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!way || from < 0) return;
    event.preventDefault();
    const next = all[(from + way + all.length) % all.length];
    stopAt(next);
    next.focus();
  };
  return <div role="toolbar" aria-label={label} class={name} ref={bar} onKeyDown={press}>{children}</div>;
}

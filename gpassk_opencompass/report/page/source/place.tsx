// Where the reader is: the part of the address behind #, so that every view can be reloaded, linked, and left with Back.

import { createContext, type ComponentChildren } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';

// `board`: its title, '' is all of them. `run`: its name. `with`, `withBoard`: a run beside it, maybe under another judge. `question`: its
// uid. `words`: which runs are listed. `sort`: the column by which the table of the view is sorted, with - before it downwards. `marks`,
// `named`: which questions of a run are shown; `order`: how its map is arranged.
const TEXTS = ['board', 'run', 'with', 'withBoard', 'question', 'words', 'sort', 'marks', 'named', 'order'] as const;

export type Address = Record<typeof TEXTS[number], string> & {
  // Samples whose responses are open, by their replica; `greedy` is the greedy one, those of the run beside have `with.` before it.
  samples: string[];
  // Setting → values of the runs that are shown.
  only: Record<string, string[]>;
};

// What belongs to one view alone: gone to without it.
export const FRESH: Partial<Address> = {
  run: '', with: '', withBoard: '', question: '', samples: [], sort: '', marks: '', named: '', order: '',
};

// Read what `write` wrote. What makes no sense is as if it were not there.
export function read(hash: string): Address {
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  const texts = Object.fromEntries(TEXTS.map((name) => [name, given.get(name) ?? ''])) as Record<typeof TEXTS[number], string>;
  // Of entries: a name in an address may be one that every object has, such as constructor.
  const settings = [...new Set(given.keys())].filter((key) => key.startsWith('only.'));
  return { ...texts, samples: given.getAll('sample'), only: Object.fromEntries(settings.map((key) => [key.slice(5), given.getAll(key)])) };
}

export function write(address: Address): string {
  const told = new URLSearchParams();
  for (const name of TEXTS) if (address[name]) told.set(name, address[name]);
  for (const sample of address.samples) told.append('sample', sample);
  for (const [key, values] of Object.entries(address.only)) for (const value of values) told.append(`only.${key}`, value);
  return `#${told}`;
}

interface Place {
  address: Address;
  // Go to this address with some of it changed; `replace`: Back does not return here (typing, sorting, marking).
  go: (change: Partial<Address>, replace?: boolean) => void;
}

const Where = createContext<Place>(null!);

export const usePlace = (): Place => useContext(Where);

export function Navigation({ children }: { children: ComponentChildren }) {
  const [address, show] = useState(() => read(location.hash));
  useEffect(() => {
    const changed = () => show(read(location.hash));
    addEventListener('popstate', changed);
    addEventListener('hashchange', changed);
  }, []);
  const go = (change: Partial<Address>, replace = false) => {
    const next = { ...read(location.hash), ...change };
    history[replace ? 'replaceState' : 'pushState'](null, '', write(next));
    show(next);
  };
  return <Where.Provider value={{ address, go }}>{children}</Where.Provider>;
}

export function Link({ change, children, title, class: name, label }: {
  change: Partial<Address>; children: ComponentChildren; title?: string; class?: string; label?: string;
}) {
  const { address } = usePlace();
  return <a href={write({ ...address, ...change })} title={title} class={name} aria-label={label}>{children}</a>;
}

// Tell who listens instead of looking; it is not seen.
export function say(message: string): void {
  document.getElementById('status')!.textContent = message;
}

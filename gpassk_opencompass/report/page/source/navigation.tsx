// Where the reader is, and the ways from there: links that can be opened, copied and gone back from.

import { createContext, type ComponentChildren } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { read, write, type Address } from './address';

export interface Place {
  address: Address;
  // Go to this address with some of it changed; `replace`: Back does not return here (typing, sorting, brushing).
  go: (change: Partial<Address>, replace?: boolean) => void;
  // The same as the address of a link.
  to: (change: Partial<Address>) => string;
}

const Where = createContext<Place>(null!);

export const usePlace = (): Place => useContext(Where);

// All that stands in a view below another: gone to without it.
export const BOARD_ONLY: Partial<Address> = {
  run: '', with: '', withBoard: '', question: '', samples: [], brush: '', order: '', named: '', sorted: '',
};

export function Navigation({ children }: { children: ComponentChildren }) {
  const [address, show] = useState(() => read(location.hash));
  useEffect(() => {
    const changed = () => show(read(location.hash));
    addEventListener('hashchange', changed);
    addEventListener('popstate', changed);
    return () => {
      removeEventListener('hashchange', changed);
      removeEventListener('popstate', changed);
    };
  }, []);
  const place: Place = {
    address,
    to: (change) => write({ ...address, ...change }),
    go: (change, replace = false) => {
      const next = { ...read(location.hash), ...change };
      history[replace ? 'replaceState' : 'pushState'](null, '', write(next));
      show(next);
    },
  };
  return <Where.Provider value={place}>{children}</Where.Provider>;
}

export function Link({ change, children, title, class: name, label }: {
  change: Partial<Address>; children: ComponentChildren; title?: string; class?: string; label?: string;
}) {
  const { to } = usePlace();
  return <a href={to(change)} title={title} class={name} aria-label={label}>{children}</a>;
}

// Tell who listens instead of looking; it is not seen.
export function say(message: string): void {
  document.getElementById('status')!.textContent = message;
}

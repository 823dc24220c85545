// The samples of a question side by side: a mark each, with a shape and a letter for what became of it.

import { useRef, useState } from 'preact/hooks';
import { visible } from './mathematics';
import { describe, KINDS, kindOf, type Kind, type Seen } from './samples';

const STEPS: Record<string, (at: number, row: number, last: number) => number> = {
  ArrowRight: (at) => at + 1,
  ArrowLeft: (at) => at - 1,
  ArrowDown: (at, row, last) => (at + row > last ? at : at + row),
  ArrowUp: (at, row) => (at - row < 0 ? at : at - row),
  Home: () => 0,
  End: (_at, _row, last) => last,
};

// One tab stop: arrows go from sample to sample, Enter or a click opens and closes one.
export function Strip({ samples, chosen, onChoose, label }: {
  samples: Seen[]; chosen: string[]; onChoose: (key: string) => void; label: string;
}) {
  const list = useRef<HTMLUListElement>(null);
  const [at, setAt] = useState(() => Math.max(0, samples.findIndex(({ key }) => chosen.includes(key))));
  const move = (event: KeyboardEvent) => {
    if (event.key === 'Enter' || event.key === ' ') onChoose(samples[at].key);
    else if (!(event.key in STEPS) || event.altKey || event.ctrlKey || event.metaKey) return;
    else {
      const marks = [...list.current!.children] as HTMLElement[];
      const row = marks.filter(({ offsetTop }) => offsetTop === marks[0].offsetTop).length;
      const next = Math.min(Math.max(STEPS[event.key](at, row, marks.length - 1), 0), marks.length - 1);
      setAt(next);
      marks[next].focus();
    }
    event.preventDefault();
  };
  return (
    <ul class="strip" role="listbox" aria-multiselectable="true" aria-label={label} ref={list} onKeyDown={move}>
      {samples.map((sample, i) => (
        <li role="option" key={sample.key} class={`sample ${kindOf(sample)}`} tabIndex={i === at ? 0 : -1} data-sample={sample.key}
          aria-selected={chosen.includes(sample.key)} aria-label={visible(describe(sample))} title={visible(describe(sample))}
          onClick={() => { setAt(i); onChoose(sample.key); }}>
          <span aria-hidden="true">{KINDS[kindOf(sample)].letter}</span>
        </li>
      ))}
    </ul>
  );
}

// What the marks mean, and how many there are of each.
export function Legend({ samples }: { samples: Seen[] }) {
  const kinds = (Object.keys(KINDS) as Kind[]).map((kind) => ({ kind, count: samples.filter((sample) => kindOf(sample) === kind).length }));
  return (
    <p class="legend">
      {kinds.filter(({ count }) => count).map(({ kind, count }) => <span><VerdictMark kind={kind} /> {count} {KINDS[kind].name}</span>)}
    </p>
  );
}

export const VerdictMark = ({ kind }: { kind: Kind }) =>
  <span class={`sample small ${kind}`} aria-hidden="true"><span>{KINDS[kind].letter}</span></span>;

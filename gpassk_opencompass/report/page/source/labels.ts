// What a reader says of verdicts, kept in the browser and given out for `gpassk judge-agreement`.

import type { Verdict } from './content';

// What somebody said of an answer to a question.
export interface Label {
  uid: string;
  answer: string;
  // Of a response without an answer: its sample. Else the label is of the answer, whichever sample gave it.
  sample: string | null;
  // Whether the answer is right; null: the reader is not sure.
  right: boolean | null;
  // What the judge said.
  verdict: Verdict;
  decidedBy: string;
  question: string;
  reference: string;
  // '' where it is not known.
  language: string;
}

// The run that a label is of, and its table.
export interface Labelled {
  data: string;
  board: string;
  run: string;
}

type Place = Pick<Label, 'uid' | 'answer' | 'sample'>;

const PREFIX = 'gpassk-labels ';

const keyOf = ({ data, board, run }: Labelled): string => PREFIX + JSON.stringify([data, board, run]);

const same = (first: Place, second: Place): boolean =>
  first.uid === second.uid && first.answer === second.answer && first.sample === second.sample;

const WORDS: Record<Verdict, string> = { 1: 'correct', 0: 'incorrect', '?': 'unjudged' };

// Line breaks that JSON may have within a text, and readers of lines break at.
const BREAKS = /[\u0085\u2028\u2029]/g;

export class Labels {
  // What is set here, also where nothing is kept.
  private readonly memory = new Map<string, Label[]>();

  private readonly listeners = new Set<() => void>();

  // Whether the browser keeps labels for this page.
  keeps: boolean;

  constructor(private readonly storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> | null) {
    this.keeps = storage !== null;
  }

  // Have a function called at every change; returns what ends it.
  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => { this.listeners.delete(listener); };
  }

  // What is kept may have been changed by the page in another window.
  reread(): void {
    if (this.keeps) this.memory.clear();
    this.changed();
  }

  of(run: Labelled): Label[] {
    const key = keyOf(run);
    if (!this.memory.has(key)) this.memory.set(key, this.read(key));
    return this.memory.get(key)!;
  }

  find(run: Labelled, place: Place): Label | undefined {
    return this.of(run).find((label) => same(label, place));
  }

  set(run: Labelled, label: Label): void {
    this.write(run, [...this.of(run).filter((one) => !same(one, label)), label]);
  }

  remove(run: Labelled, place: Place): void {
    this.write(run, this.of(run).filter((one) => !same(one, place)));
  }

  clear(run: Labelled): void {
    this.write(run, []);
  }

  private write(run: Labelled, labels: Label[]): void {
    const key = keyOf(run);
    this.memory.set(key, labels);
    try {
      if (labels.length) this.storage?.setItem(key, JSON.stringify(labels));
      else this.storage?.removeItem(key);
    } catch {
      this.keeps = false; // full, or forbidden
    }
    this.changed();
  }

  private read(key: string): Label[] {
    try {
      const found: unknown = JSON.parse(this.storage?.getItem(key) ?? '[]');
      return Array.isArray(found) ? found.filter(isLabel) : [];
    } catch {
      return [];
    }
  }

  private changed(): void {
    for (const listener of this.listeners) listener();
  }
}

function isLabel(value: Label | null): value is Label {
  return typeof value === 'object' && value !== null && (value.right === null || typeof value.right === 'boolean')
    && (value.sample === null || typeof value.sample === 'string') && value.verdict in WORDS
    && [value.uid, value.answer, value.decidedBy, value.question, value.reference, value.language].every((one) => typeof one === 'string');
}

// JSON lines as `gpassk judge-agreement` reads them, with what it passes over behind. Unsure ones are left out.
export function asLines(run: Labelled, labels: Label[]): string {
  const lines = labels.filter(({ right }) => right !== null).map((label) => JSON.stringify({
    id: label.uid, question: label.question, reference: label.reference, answer: label.answer, label: label.right,
    ...(label.language ? { language: label.language } : {}), source: run.board,
    run: run.run, verdict: WORDS[label.verdict], decided_by: label.decidedBy, sample: label.sample,
  }));
  return lines.map((line) => `${line.replace(BREAKS, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`).join('');
}

// Of the browser; null where it refuses, as for some pages on disk.
export function browserStorage(): Storage | null {
  try {
    const storage = window.localStorage;
    storage.setItem(PREFIX, '');
    storage.removeItem(PREFIX);
    return storage;
  } catch {
    return null;
  }
}

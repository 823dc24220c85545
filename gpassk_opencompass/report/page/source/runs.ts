// Runs: which settings tell them apart, what they are called for short, and which of them a choice keeps.

import type { Address } from './address';
import type { Run } from './content';

export type Feature = string | number | null;

// Settings as results name them; others come behind.
const ORDER = ['temperature', 'top_p', 'top_k', 'repetition_penalty', 'random_seed', 'max_out_len', 'run', 'host'];

// A setting, the model or the host of a run; null where it was not set.
export function featureOf(run: Run, name: string): Feature {
  if (name === 'model') return run.model;
  if (name === 'host') return run.host;
  return Object.hasOwn(run.settings, name) ? run.settings[name] : null;
}

export interface Settings {
  // In which the runs differ.
  differ: string[];
  // That all of them have, with their value.
  same: [string, Feature][];
}

export function settingsOf(runs: readonly Run[]): Settings {
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.settings)))].sort((a, b) => place(a) - place(b));
  const differ = [...names, 'host'].filter((name) => valuesOf(runs, name).length > 1);
  return { differ, same: names.filter((name) => !differ.includes(name)).map((name) => [name, featureOf(runs[0], name)]) };
}

const place = (name: string): number => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);

const collator = new Intl.Collator('en', { numeric: true });

// The values that a setting has among runs, in order; null comes last.
export function valuesOf(runs: readonly Run[], name: string): Feature[] {
  return [...new Set(runs.map((run) => featureOf(run, name)))]
    .sort((a, b) => Number(a === null) - Number(b === null) || collator.compare(String(a), String(b)));
}

// What stands for a value in the address and beside a box.
export const featureText = (value: Feature): string => (value === null ? 'not set' : String(value));

// Of each run the model, and of its settings those in which runs of this model differ; the whole name where that is not enough.
export function shortNames(runs: readonly Run[]): Map<Run, string> {
  const found = new Map(runs.map((run) => [run, shortName(run, runs.filter(({ model }) => model === run.model))]));
  const all = [...found.values()];
  const twice = new Set(all.filter((name, i) => all.indexOf(name) !== i));
  return new Map(runs.map((run) => [run, twice.has(found.get(run)!) ? run.name : found.get(run)!]));
}

function shortName(run: Run, ofModel: readonly Run[]): string {
  const told = settingsOf(ofModel).differ.map((name) => `${name} ${featureText(featureOf(run, name))}`);
  return told.length ? `${run.model} (${told.join(', ')})` : run.model;
}

type Choice = Pick<Address, 'words' | 'filters'>;

// Whether a run has all the words in its name, and one of the values of each filter.
export function isKept(run: Run, { words, filters }: Choice): boolean {
  const name = `${run.name} ${run.host}`.toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => name.includes(word))
    && Object.entries(filters).every(([key, values]) => !values.length || values.includes(featureText(featureOf(run, key))));
}

export const isChosen = ({ words, filters }: Choice): boolean =>
  words.trim() !== '' || Object.values(filters).some((values) => values.length > 0);

// The filters with a value put in or taken out.
export function withValue(filters: Address['filters'], name: string, value: string, on: boolean): Address['filters'] {
  const { [name]: _, ...others } = filters;
  const before = Object.hasOwn(filters, name) ? filters[name] : [];
  const after = on ? [...before, value] : before.filter((one) => one !== value);
  return after.length ? { ...others, [name]: after } : others;
}

// A column of a setting has numbers, or texts where one of them is a text.
export function sortKeys(runs: readonly Run[], name: string): (run: Run) => string | number | null {
  const texts = runs.some((run) => typeof featureOf(run, name) === 'string');
  return (run) => {
    const value = featureOf(run, name);
    return texts && value !== null ? String(value) : value;
  };
}

// Who leads a table, as far as its data tell runs apart: from the ranks of the table, of all pairs at once.

import type { Board } from './content';

export interface Standing {
  // 'alone': there is one run. 'none': no two can be told apart. 'ahead': the best score, and no run can be told from it.
  // 'leads': runs are worse beyond doubt.
  kind: 'alone' | 'none' | 'ahead' | 'leads';
  // Places of the best in `entries`: several only where their scores are equal.
  leaders: number[];
  // Places of those that cannot be told from each of them.
  tied: number[];
}

// Scores that are this close are equal but for rounding.
const ROUNDING = 1e-12;

// scores: mG-Pass@k of the board of each entry, on all questions.
export function standingOf({ better }: Pick<Board, 'better'>, scores: readonly number[]): Standing {
  const best = Math.max(...scores);
  const places = scores.map((_, i) => i);
  const leaders = places.filter((i) => best - scores[i] <= ROUNDING);
  const tied = places.filter((j) => !leaders.includes(j) && leaders.some((i) => better[i][j] !== '1'));
  return { kind: kindOf(better, leaders.length + tied.length), leaders, tied };
}

function kindOf(better: readonly string[], first: number): Standing['kind'] {
  if (better.length < 2) return 'alone';
  if (!better.some((row) => row.includes('1'))) return 'none';
  return first === better.length ? 'ahead' : 'leads';
}

// Of a sentence: a text, which is the name of a run where there is its place.
export interface Part {
  text: string;
  entry?: number;
}

// What a run is called: the model, or the model with settings in brackets behind it.
export interface Named {
  model: string;
  name: string;
}

// More runs than these are counted, not named.
const MOST = 3;

export function sentenceOf({ kind, leaders, tied }: Standing, title: string, runs: readonly Named[]): Part[] {
  const who = listed(leaders, runs, `${leaders.length} runs`);
  const one = leaders.length === 1;
  const them = one ? 'it' : 'each of them';
  const highest = `${one ? ' has' : ' share'} the highest score on ${title}`;
  const [leads, others] = [one ? ` leads ${title}` : highest, runs.length - leaders.length];
  if (kind === 'alone') return [{ text: 'Only ' }, ...who, { text: ` was run on ${title}.` }];
  if (kind === 'none' && runs.length === 2) return [...listed([0, 1], runs, ''), { text: ` cannot be told apart on ${title}.` }];
  if (kind === 'none') return [{ text: `No run can be told from the others on ${title}.` }];
  if (kind === 'ahead') return [...who, { text: `${highest}, but no run can be told from ${them}.` }];
  if (!tied.length) return [...who, { text: `${leads}: ${others === 1 ? 'the other run' : `all ${others} others`} can be told from ${them}.` }];
  const behind = one ? besides(runs[leaders[0]], tied, runs) : null;
  const some = behind ?? listed(tied, runs, `${tied.length} of ${others} others`);
  return [...who, { text: `${leads}; ` }, ...some, { text: ` cannot be told from ${them}.` }];
}

// Runs of the model that leads are called by their settings; null where others are among them.
function besides(leader: Named, places: readonly number[], runs: readonly Named[]): Part[] | null {
  const settings = runs.map(({ model, name }) => (name.startsWith(`${model} (`) ? name.slice(model.length + 2, -1) : ''));
  const own = places.every((place) => runs[place].model === leader.model && settings[place]);
  if (!own || places.length > MOST) return null;
  return [{ text: places.length > 1 ? 'its runs with ' : 'its run with ' }, ...joined(places.map((entry) => ({ text: settings[entry], entry })))];
}

const listed = (places: readonly number[], runs: readonly Named[], count: string): Part[] =>
  (places.length > MOST ? [{ text: count }] : joined(places.map((entry) => ({ text: runs[entry].name, entry }))));

const joined = (parts: readonly Part[]): Part[] =>
  parts.flatMap((part, i) => (i ? [{ text: i === parts.length - 1 ? ' and ' : ', ' }, part] : [part]));

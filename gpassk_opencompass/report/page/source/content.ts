// What Python gives the page (`_content` of ../__init__.py), and the samples of a question: on the page or in a file beside it.

import { useEffect, useState } from 'preact/hooks';
import { visible } from './text';

export interface Content {
  // Why the mean over all benchmarks means nothing; '' where it does.
  noAverage: string;
  // A model with its settings on one host: a row of the first view each.
  runs: Run[];
  boards: Board[];
}

export interface Run {
  name: string;
  model: string;
  host: string;
  settings: Record<string, number | string>;
  // Of all benchmarks; null where there is none, or the run is not on all of them.
  average: Score | null;
}

// Value, low, high, error of a rerun, value if all unjudged samples were right: in percent, as rounded as they are shown.
export type Score = [number, number | null, number | null, number | null, number | null];

// Runs on one benchmark that may be compared: the same questions and the same judge.
export interface Board {
  title: string;
  judge: string;
  notes: string[];
  k: number;
  level: string;
  metrics: string[];
  // Those of the leaderboard, by their place in `metrics`; the last one ranks.
  columns: number[];
  // What scores are of: '' is all questions, then contests and languages.
  parts: string[];
  // Tells boards of the same questions: their digest.
  data: string;
  uids: string[];
  groups: string[];
  // Of each question: its place in `groups`, and a number for its source problem.
  group: number[];
  problem: number[];
  // The best first.
  entries: Entry[];
  // Packed: question and reference of each question, as far as they are known.
  texts: string;
  // Caption, and packed SVG.
  figures: [string, string][];
}

// A run on a benchmark. A list of numbers has one for each question of the board; [] where all are 0 or not known.
export interface Entry {
  // Place in `Content.runs`.
  run: number;
  name: string;
  n: number;
  // Best and worst, right for the whole table at once.
  ranks: [number, number];
  // By part and metric.
  scores: (Score | null)[][];
  c: number[];
  unjudged: number[];
  cut: number[];
  greedy: number[] | null;
  greedyNote: string;
  tokens: number | null;
  // What a reader has to see beside the score.
  badges: string[];
  facts: [string, string][];
  remarks: string[];
  // Packed `Columns` of all samples, question by question, and their answers; null where they are not known or lie beside the page.
  samples: string | null;
  answers: string | null;
  // Folder of the responses beside the page; null where there are none, and `lost` says why.
  shards: string | null;
  lost: string;
}

export type Verdict = '1' | '0' | '?';

// The samples of a run or a question, a column each; one that is not known is left out.
interface Columns {
  // A letter a sample.
  verdict: string;
  // Who judged, or why nobody did.
  who: string[];
  answer?: (string | null)[];
  finish_reason?: (string | null)[];
  state?: (string | null)[];
  // What only files beside the page have.
  replica?: number[];
  seed?: (number | null)[];
  output_tokens?: (number | null)[];
  reasoning_tokens?: (number | null)[];
  seconds?: (number | null)[];
  response?: (string | null)[];
  // So many characters at the start of the response are thought; and thought that the engine gave apart from it.
  within?: number[];
  thought?: (string | null)[];
  judge?: ([string, string | null, string | null] | null)[];
}

interface Shard {
  uid: string;
  samples: Columns;
  greedy: Columns | null;
}

export interface Sample {
  // Its replica, as the address names it, or GREEDY.
  key: string;
  verdict: Verdict;
  // Null where it is not on the page.
  answer: string | null;
  who: string;
  cut: boolean;
  // '' for a usual response.
  state: string;
  // Null where the page holds no responses.
  told: Told | null;
}

export interface Told {
  response: string | null;
  // Thought, and what is said after it.
  thought: string;
  said: string;
  // How it was drawn and how it ended, in words.
  how: string;
  judge: { name: string; prompt: string | null; reply: string | null } | null;
}

export const GREEDY = 'greedy';

// Names and remarks are shown as they come; no character of them steers what stands beside it, or cannot be seen.
export const content: Content = JSON.parse(document.getElementById('content')!.textContent!,
  (_, value) => (typeof value === 'string' ? visible(value) : value));

export const { boards } = content;

export const boardNamed = (title: string): Board | undefined => boards.find((board) => board.title === title);

export const entryNamed = (board: Board, name: string): Entry | undefined => board.entries.find((entry) => entry.name === name);

// The score by which a board ranks: mG-Pass@k.
export const ranking = ({ columns }: Board): number => columns[columns.length - 1];

export const rankText = ({ ranks: [best, worst] }: Entry): string => (best === worst ? String(best) : `${best}–${worst}`);

const known = new Map<string, Promise<unknown>>();

// Read deflated JSON in base 64; once, whoever asks.
export function unpacked<T>(packed: string): Promise<T> {
  if (!known.has(packed)) known.set(packed, unpack(packed));
  return known.get(packed) as Promise<T>;
}

async function unpack(packed: string): Promise<unknown> {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return JSON.parse(await new Response(stream).text());
}

// What a promise brings, null until it is there; `keys` say when it is another one.
export function useLoaded<T>(load: () => Promise<T>, keys: unknown[]): T | null {
  const [found, setFound] = useState<{ keys: unknown[]; value: T } | null>(null);
  useEffect(() => {
    let wanted = true;
    load().then((value) => wanted && setFound({ keys, value }));
    return () => { wanted = false; };
  }, keys);
  return found && found.keys.every((key, i) => key === keys[i]) ? found.value : null;
}

export interface Gathered {
  // Null where the page has counts alone.
  samples: Sample[] | null;
  greedy: Sample | null;
  // Why there are no responses, and whether that is a fault; '' where there are.
  problem: string;
  fault: boolean;
}

// The samples of an entry on a question.
export async function gather({ uids }: Board, entry: Entry, position: number): Promise<Gathered> {
  const verdict = entry.greedy?.[position] ? '1' : '0';
  const bare = entry.greedy && samplesOf({ verdict, who: [''] }, 0, 1, () => GREEDY)[0];
  if (entry.shards === null) {
    const all = entry.samples === null ? null : await unpacked<Columns>(entry.samples);
    const answer = entry.answers === null ? undefined : await unpacked<string[]>(entry.answers);
    const samples = all && samplesOf({ ...all, answer }, position * entry.n, entry.n, String);
    return { samples, greedy: bare, problem: `No responses: ${entry.lost}.`, fault: false };
  }
  try {
    const shard = await load(`${entry.shards}/${position}`, uids[position]);
    const greedy = shard.greedy ? samplesOf(shard.greedy, 0, 1, () => GREEDY)[0] : bare;
    const samples = samplesOf(shard.samples, 0, shard.samples.verdict.length, (i) => String(shard.samples.replica![i]));
    return { samples, greedy, problem: '', fault: false };
  } catch (problem) {
    return { samples: null, greedy: bare, problem: `${(problem as Error).message}.`, fault: true };
  }
}

const number = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: 1 });

// `count` samples from one on.
function samplesOf(columns: Columns, from: number, count: number, keyOf: (place: number) => string): Sample[] {
  const at = <T,>(column: (T | null)[] | undefined, i: number): T | null => column?.[from + i] ?? null;
  return Array.from({ length: count }, (_, i): Sample => {
    const [finish, state, response] = [at(columns.finish_reason, i), at(columns.state, i), at(columns.response, i)];
    const [tokens, thoughtTokens, seconds, seed, judge] = [
      at(columns.output_tokens, i), at(columns.reasoning_tokens, i), at(columns.seconds, i), at(columns.seed, i), at(columns.judge, i)];
    const within = columns.within?.[from + i] ?? 0;
    return {
      key: keyOf(i), verdict: columns.verdict[from + i] as Verdict, answer: columns.answer ? at(columns.answer, i) ?? '' : null,
      who: columns.who[from + i], cut: finish === 'length', state: state ?? '',
      told: columns.response ? {
        response,
        thought: [at(columns.thought, i), response?.slice(0, within)].filter(Boolean).join('\n'),
        said: response?.slice(within) ?? '',
        how: [
          tokens !== null && `${number(tokens)} tokens${thoughtTokens ? `, ${number(thoughtTokens)} of them thought` : ''}`,
          seconds !== null && `${number(seconds)} s`, finish && `ended: ${finish === 'length' ? 'cut off' : finish}`, state,
          seed !== null && `seed ${seed}`,
        ].filter(Boolean).join(' · '),
        judge: judge && { name: judge[0], prompt: judge[1], reply: judge[2] },
      } : null,
    };
  });
}

// Files of responses. They are scripts, since no page may fetch from a disk: a script tag loads them from there, and from any host alike.

interface Rules {
  createScriptURL: (url: string) => string;
}

declare global {
  interface Window {
    gpasskShard?: (name: string, packed: string) => void;
    trustedTypes?: { createPolicy: (name: string, rules: Rules) => Rules };
  }
}

// Only names that the page itself gives are ever loaded; the policy is made where one is, as a page without responses may make none.
const rules: Rules = {
  createScriptURL(url) {
    if (!/^responses\/[0-9a-f]{12}\/\d+\.js$/.test(url)) throw new TypeError(`not a file of responses: ${url}`);
    return url;
  },
};
let policy: Rules | undefined;

const arrived = new Map<string, string>();

async function load(name: string, uid: string): Promise<Shard> {
  const file = `responses/${name}.js`;
  window.gpasskShard ??= (own, packed) => { arrived.set(own, packed); };
  policy ??= window.trustedTypes?.createPolicy('gpassk-responses', rules) ?? rules;
  const script = document.createElement('script');
  script.src = policy.createScriptURL(file);
  await new Promise((resolve, reject) => {
    script.onload = resolve;
    script.onerror = () => reject(new Error(
      `${file} is not beside this page: copy the folder responses along with the page, or write both with gpassk report --responses`));
    document.head.append(script);
  }).finally(() => script.remove());
  const packed = arrived.get(name);
  arrived.delete(name);
  const damaged = (how: string) => new Error(`${file} beside this page is damaged (${how}): write it again with gpassk report --responses`);
  if (packed === undefined) throw damaged('it does not hold what its name says');
  const shard = await unpack(packed).catch(() => { throw damaged('it cannot be unpacked'); }) as Shard;
  const right = typeof shard?.uid === 'string' && visible(shard.uid) === uid && shard.samples?.verdict;
  if (!right) throw damaged('it is of another question or report');
  return shard;
}

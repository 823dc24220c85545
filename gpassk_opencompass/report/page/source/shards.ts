// The responses of one question beside the page. They lie in script files, since no page may fetch from a disk:
// a script tag loads them from there, and from any static host alike.

import { unpack, type Board, type Entry, type Verdict } from './content';

export interface Shard {
  uid: string;
  // What the model was asked, as it is recorded.
  prompt: string | null;
  // In the order of their replicas.
  samples: Sample[];
  greedy: Sample | null;
}

export interface Sample {
  replica: number;
  seed: number | null;
  verdict: Verdict;
  answer: string;
  decidedBy: string;
  reason: string;
  finish: string | null;
  state: string | null;
  outputTokens: number | null;
  reasoningTokens: number | null;
  seconds: number | null;
  // Thought and all, as the model gave it; null: none was drawn or it cannot be found, and `lost` says why.
  response: string | null;
  lost: string | null;
  // So many characters at the start of the response are thought.
  thought: number | null;
  // Thought that the engine gave apart from the response.
  separateThought: string | null;
  judge: { name: string; prompt: string | null; reply: string | null } | null;
}

interface Rules {
  createScriptURL: (url: string) => string;
}

declare global {
  interface Window {
    gpasskShard?: (name: string, packed: string) => void;
    trustedTypes?: { createPolicy: (name: string, rules: Rules) => Rules };
  }
}

// The names that the page itself gives: nothing else is ever loaded.
const OWN = /^responses\/[0-9a-f]{12}\/\d+\.js$/;

// Questions whose responses stay in memory: 48 long ones take a few megabytes.
const KEPT = 12;

const opened = new Map<string, Promise<Shard>>();

const arrived = new Map<string, string>();

// What went wrong with a file of responses, and what to do; said in the place of the responses.
export class ShardProblem extends Error {}

// Samples of a question with their responses. Rejected with a ShardProblem where the file is missing or damaged.
export function shardOf(board: Board, entry: Entry, position: number): Promise<Shard> {
  const name = `${entry.shards}/${position}`;
  const known = opened.get(name);
  opened.delete(name);
  const shard = known ?? load(name, board.uids[position], entry.n);
  opened.set(name, shard);
  // What failed is asked for anew: the file may have been put there meanwhile.
  if (!known) shard.catch(() => opened.delete(name));
  for (const oldest of [...opened.keys()].slice(0, -KEPT)) opened.delete(oldest);
  return shard;
}

async function load(name: string, uid: string, n: number): Promise<Shard> {
  const file = `responses/${name}.js`;
  const damaged = (how: string) =>
    new ShardProblem(`${file} beside this page is damaged (${how}): write it again with gpassk report --responses`);
  await run(file);
  const packed = arrived.get(name);
  arrived.delete(name);
  if (packed === undefined) throw damaged('it does not hold what its name says');
  const shard = await unpack<unknown>(packed).catch(() => { throw damaged('it cannot be unpacked'); });
  if (!isShard(shard)) throw damaged('it holds something else than samples');
  if (shard.uid !== uid) throw damaged(`it holds the question ${shard.uid.slice(0, 80)}, not ${uid.slice(0, 80)}: it is of another report`);
  if (shard.samples.length !== n) throw damaged(`it holds ${shard.samples.length} samples, not ${n}`);
  return shard;
}

// Have a file of our own call `gpasskShard`.
function run(file: string): Promise<void> {
  window.gpasskShard ??= (name, packed) => { arrived.set(name, packed); };
  const script = document.createElement('script');
  return new Promise<void>((resolve, reject) => {
    script.onload = () => resolve();
    script.onerror = () => reject(new ShardProblem(
      `${file} is not beside this page: copy the folder responses along with the page, or write both with gpassk report --responses`));
    script.src = allowed(file);
    document.head.append(script);
  }).finally(() => script.remove());
}

let policy: Rules | undefined;

// Made when it is first needed: a page without responses may make none.
function allowed(file: string): string {
  const rules = { createScriptURL: own };
  policy ??= window.trustedTypes?.createPolicy('gpassk-responses', rules) ?? rules;
  return policy.createScriptURL(file);
}

function own(url: string): string {
  if (!OWN.test(url)) throw new TypeError(`not a file of responses: ${url}`);
  return url;
}

const text = (value: unknown): value is string => typeof value === 'string';

const textOrNull = (value: unknown): boolean => value === null || text(value);

const numberOrNull = (value: unknown): boolean => value === null || Number.isFinite(value);

export function isShard(value: unknown): value is Shard {
  const shard = value as Shard | null;
  return typeof shard === 'object' && shard !== null && text(shard.uid) && textOrNull(shard.prompt)
    && Array.isArray(shard.samples) && shard.samples.every(isSample) && (shard.greedy === null || isSample(shard.greedy));
}

function isSample(sample: Sample | null): boolean {
  return typeof sample === 'object' && sample !== null && Number.isInteger(sample.replica)
    && ['1', '0', '?'].includes(sample.verdict) && [sample.answer, sample.decidedBy, sample.reason].every(text)
    && [sample.finish, sample.state, sample.response, sample.lost, sample.separateThought].every(textOrNull)
    && [sample.seed, sample.outputTokens, sample.reasoningTokens, sample.seconds, sample.thought].every(numberOrNull)
    && (sample.judge === null || (text(sample.judge?.name) && textOrNull(sample.judge.prompt) && textOrNull(sample.judge.reply)));
}

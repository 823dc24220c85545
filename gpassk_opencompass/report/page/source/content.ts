// What Python gives the page, `page_content` of content.py: counts of every run, and packed texts that are
// opened when somebody asks for them.

export interface Content {
  version: string;
  limits: Limits;
  // Different answers a question that are on the page: all of them (null), or so many.
  answersShown: number | null;
  // Why the mean over all benchmarks means nothing; '' where it does.
  noAverage: string;
  // A row of the first view each: a model with its settings, on one host.
  runs: Run[];
  boards: Board[];
  chunks: { samples: (string | null)[]; texts: string[] };
}

// Below which there is no interval.
export interface Limits {
  problems: number;
  effective: number;
  inAll: number;
  error: number;
  // Problems that are added to a comparison, half of them with +1 and half with −1.
  added: number;
}

export interface Run {
  // Model, settings, and what tells it from others of this name: alike on all boards.
  name: string;
  model: string;
  // As the names of settings are written: temperature, top_p, …
  settings: Record<string, number | string>;
  host: string;
}

// Runs on one benchmark that may be compared: the same questions and the same judge.
export interface Board {
  title: string;
  benchmark: string;
  // Why it stands apart from other tables of its benchmark, and other notes; '' if there are none.
  reason: string;
  k: number;
  level: number;
  // Student's, by the number of source problems: the degrees of freedom + 1.
  quantiles: Record<number, number>;
  judge: string;
  // Tells boards of the same questions: their digest.
  data: string;
  uids: string[];
  groups: string[];
  // Of each question: its place in `groups`, and its source problem.
  group: number[];
  problem: number[];
  // Best mG-Pass@k first.
  entries: Entry[];
  // Place of a run in `entries` → for each entry '1' where it is worse beyond doubt, of all pairs at once.
  better: string[];
}

// A run on a benchmark. What is a list has an entry a question of the board.
export interface Entry {
  // Place in `Content.runs`.
  run: number;
  name: string;
  n: number;
  c: number[];
  // [] where all are judged.
  unjudged: number[];
  // Samples cut off; [] where it is not known.
  cut: number[];
  inDoubt: number[];
  reasons: Record<string, number>;
  greedy: number[] | null;
  greedyNote: string;
  // Best and worst, right for the whole table at once.
  ranks: [number, number];
  // Metric → limits of its interval for new samples of the same questions; null where it is refused.
  rerun: Record<string, [number, number] | null>;
  signature: string;
  badges: Badge[];
  // What is said beside a score: '' for a run in good health.
  health: string;
  ended: string;
  // All that were generated; null where no engine counted.
  tokens: number | null;
  engine: string;
  warnings: string[];
  // Place in `chunks.samples`.
  chunk: number;
  // Of each question of the board: its place in the chunk; null where it is the same.
  order: number[] | null;
  // Folder of the responses beside the page; null where there are none, and `shardsLost` says why.
  shards: string | null;
  shardsLost: string;
}

// A mark of a run that a reader has to see beside its score.
export interface Badge {
  kind: 'cut off' | 'unanswered' | 'unjudged' | 'copies' | 'limited' | 'unusual';
  text: string;
}

export type Verdict = '1' | '0' | '?';

// The samples of one question without their texts.
export interface QuestionSamples {
  // Text, verdict, who judged or why nobody did, how often; rare ones may be left out.
  answers: [string, Verdict, string, number][];
  // Of each sample: place of its answer; -1 where that is left out.
  of: number[];
  // A letter a sample.
  verdicts: string;
  // 'c' cut off, 's' another state than a usual response, '.' usual or not known.
  ends: string;
}

export interface Texts {
  question: string[];
  reference: string[];
}

export const content: Content = JSON.parse(document.getElementById('content')!.textContent!);

export const boards: Board[] = content.boards;

export const boardNamed = (title: string): Board | undefined =>
  boards.find((board) => board.title === title);

export const entryOf = (board: Board, name: string): Entry | undefined =>
  board.entries.find((entry) => entry.name === name);

// Question and reference of every question of a board.
export const textsOf = (board: Board): Promise<Texts> => opened(content.chunks.texts[boards.indexOf(board)]);

// The samples of an entry on a question; null where the page holds none.
export async function samplesOf(entry: Entry, position: number): Promise<QuestionSamples | null> {
  const packed = content.chunks.samples[entry.chunk];
  if (packed === null) return null;
  const questions = await opened<QuestionSamples[]>(packed);
  return questions[entry.order?.[position] ?? position];
}

const unpacked = new Map<string, Promise<unknown>>();

// One unpacking each, whoever asks and how often.
function opened<T>(packed: string): Promise<T> {
  if (!unpacked.has(packed)) unpacked.set(packed, unpack(packed));
  return unpacked.get(packed) as Promise<T>;
}

// Deflated JSON in base 64, inflated and read.
export async function unpack<T>(packed: string): Promise<T> {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return JSON.parse(await new Response(stream).text());
}

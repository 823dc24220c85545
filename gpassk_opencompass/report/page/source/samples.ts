// The samples of a run on a question, whether their responses lie beside the page or only answers are on it.

import { useEffect, useState } from 'preact/hooks';
import { samplesOf, type Board, type Entry, type QuestionSamples, type Verdict } from './content';
import { shardOf, ShardProblem, type Sample } from './shards';

// A sample as it is shown.
export interface Seen {
  // Its replica, as the address names it; GREEDY is the greedy one.
  key: string;
  verdict: Verdict;
  // Null where it is not on the page.
  answer: string | null;
  // Who judged, or why nobody did.
  decidedBy: string;
  cut: boolean;
  unusual: boolean;
  // Null where the page holds no responses.
  told: Sample | null;
}

export const GREEDY = 'greedy';

export interface Gathered {
  // Null where the page has counts alone.
  samples: Seen[] | null;
  greedy: Seen | null;
  prompt: string | null;
  // Why there are no responses; '' where there are.
  problem: string;
}

// Null while they are loaded.
export function useSamples(board: Board, entry: Entry, position: number): Gathered | null {
  const [found, setFound] = useState<Gathered | null>(null);
  useEffect(() => {
    let wanted = position >= 0;
    setFound(null);
    if (wanted) gather(board, entry, position).then((gathered) => wanted && setFound(gathered));
    return () => { wanted = false; };
  }, [board, entry, position]);
  return found;
}

async function gather(board: Board, entry: Entry, position: number): Promise<Gathered> {
  if (entry.shards === null) return onPage(entry, position, `No responses: ${entry.shardsLost}.`);
  try {
    const shard = await shardOf(board, entry, position);
    const greedy = shard.greedy ? ofSample(shard.greedy, GREEDY) : greedyOnPage(entry, position);
    return { samples: shard.samples.map((sample) => ofSample(sample)), greedy, prompt: shard.prompt, problem: '' };
  } catch (problem) {
    if (!(problem instanceof ShardProblem)) throw problem;
    return onPage(entry, position, problem.message);
  }
}

const CUT_OFF = 'length';

const ofSample = (sample: Sample, key = String(sample.replica)): Seen => ({
  key, verdict: sample.verdict, answer: sample.answer, decidedBy: [sample.decidedBy, sample.reason].filter(Boolean).join(': '),
  cut: sample.finish === CUT_OFF, unusual: Boolean(sample.state), told: sample,
});

// What the page holds without any file beside it.
async function onPage(entry: Entry, position: number, problem: string): Promise<Gathered> {
  const found = await samplesOf(entry, position);
  return { samples: found && ofAnswers(found), greedy: greedyOnPage(entry, position), prompt: null, problem };
}

function greedyOnPage({ greedy }: Entry, position: number): Seen | null {
  return greedy && bare(GREEDY, greedy[position] ? '1' : '0');
}

const bare = (key: string, verdict: Verdict): Seen =>
  ({ key, verdict, answer: null, decidedBy: '', cut: false, unusual: false, told: null });

export function ofAnswers({ answers, of, verdicts, ends }: QuestionSamples): Seen[] {
  return of.map((place, i) => {
    const [answer, , decidedBy] = answers[place] ?? [null, '?', ''];
    return { ...bare(String(i), verdicts[i] as Verdict), answer, decidedBy, cut: ends[i] === 'c', unusual: ends[i] === 's' };
  });
}

// Samples with the same answer, judged alike by the same.
export interface Cluster {
  answer: string | null;
  verdict: Verdict;
  decidedBy: string;
  samples: Seen[];
}

// The most frequent first.
export function clustersOf(samples: Seen[]): Cluster[] {
  const found = new Map<string, Cluster>();
  for (const sample of samples) {
    const { answer, verdict, decidedBy } = sample;
    const key = JSON.stringify([answer, verdict, decidedBy]);
    if (!found.has(key)) found.set(key, { answer, verdict, decidedBy, samples: [] });
    found.get(key)!.samples.push(sample);
  }
  return [...found.values()].sort((first, second) => second.samples.length - first.samples.length);
}

export type Kind = 'right' | 'wrong' | 'unjudged' | 'cut';

// What a sample is drawn as: one that was cut off is never just wrong.
export const kindOf = ({ verdict, cut }: Pick<Seen, 'verdict' | 'cut'>): Kind =>
  (verdict === '1' ? 'right' : cut ? 'cut' : verdict === '0' ? 'wrong' : 'unjudged');

export const KINDS: Record<Kind, { letter: string; name: string }> = {
  right: { letter: 'R', name: 'right' },
  wrong: { letter: 'W', name: 'wrong' },
  unjudged: { letter: '?', name: 'unjudged' },
  cut: { letter: 'C', name: 'cut off' },
};

export const VERDICTS: Record<Verdict, Kind> = { 1: 'right', 0: 'wrong', '?': 'unjudged' };

export const nameOf = ({ key }: Seen): string => (key === GREEDY ? 'Greedy sample' : `Sample ${key}`);

// All that is known of a sample without its response.
export function describe(sample: Seen): string {
  const { verdict, cut, unusual, answer, told } = sample;
  return [
    `${nameOf(sample)}: ${KINDS[VERDICTS[verdict]].name}`, cut && 'cut off', unusual && (told?.state ?? 'no usual response'),
    answer === '' ? 'no answer' : answer && `answer ${answer.slice(0, 80)}`,
  ].filter(Boolean).join(', ');
}

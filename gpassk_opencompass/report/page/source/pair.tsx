// How a sample is drawn; and the responses that are open: one with all that is known of it, or two side by side from where they part.

import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { GREEDY, type Board, type Entry, type Gathered, type Sample, type Told, type Verdict } from './content';
import { usePlace } from './place';
import { answerPlace, LongText, parting, Rich, visible, wordAt, type Marked } from './text';

export type Kind = 'right' | 'wrong' | 'unjudged' | 'cut';

// What a sample is drawn as: one that was cut off is never just wrong.
export const kindOf = ({ verdict, cut }: Pick<Sample, 'verdict' | 'cut'>): Kind =>
  (verdict === '1' ? 'right' : cut ? 'cut' : verdict === '0' ? 'wrong' : 'unjudged');

export const KINDS: Record<Kind, { letter: string; name: string }> = {
  right: { letter: 'R', name: 'right' },
  wrong: { letter: 'W', name: 'wrong' },
  unjudged: { letter: '?', name: 'unjudged' },
  cut: { letter: 'C', name: 'cut off' },
};

export const VERDICTS: Record<Verdict, string> = { 1: 'right', 0: 'wrong', '?': 'unjudged' };

export const VerdictMark = ({ kind }: { kind: Kind }) =>
  <span class={`mark small ${kind}`} aria-hidden="true"><span>{KINDS[kind].letter}</span></span>;

const nameOf = ({ key }: Sample): string => (key === GREEDY ? 'Greedy sample' : `Sample ${key}`);

// All that is known of a sample without its response.
export const describe = (sample: Sample): string => [
  `${nameOf(sample)}: ${VERDICTS[sample.verdict]}`, sample.cut && 'cut off', sample.state,
  sample.answer === '' ? 'no answer' : sample.answer && `answer ${sample.answer.slice(0, 80)}`,
].filter(Boolean).join(', ');

// A run whose samples are shown, and how the address names them: those of the run beside by `with.` before their replica.
export interface Side {
  board: Board;
  entry: Entry;
  position: number;
  prefix: '' | 'with.';
  name: string;
  gathered: Gathered | null;
}

// One more or less; of two the later one makes room for a third.
export const toggled = (samples: string[], key: string): string[] =>
  (samples.includes(key) ? samples.filter((one) => one !== key) : [...samples.slice(0, 1), key]);

type Halves = Pick<Told, 'thought' | 'said'>;

// Where thought and the rest of a response part from those of the other.
interface Apart {
  thought: number | null;
  said: number | null;
}

interface Open {
  // As the address names it.
  key: string;
  sample: Sample;
  run: string;
}

export function Pair({ sides }: { sides: Side[] }) {
  const { address, go } = usePlace();
  const open = address.samples.flatMap((key): Open[] => {
    const side = sides.find(({ prefix }) => prefix === (key.startsWith('with.') ? 'with.' : ''));
    const { samples, greedy } = side?.gathered ?? { samples: null, greedy: null };
    const sample = [...samples ?? [], ...(greedy ? [greedy] : [])].find((one) => side!.prefix + one.key === key);
    return sample ? [{ key, sample, run: sides.length > 1 ? side!.name : '' }] : [];
  }).slice(0, 2);
  const [first, second] = open.map(({ sample }) => sample.told);
  const apart = useMemo((): Apart | null => (first && second
    ? { thought: parting(first.thought, second.thought), said: parting(first.said, second.said) } : null), [first, second]);
  if (!open.length) return null;
  const alone = open.length === 1;
  return (
    <section class="chosen" aria-labelledby="chosen-title">
      <h3 id="chosen-title">{alone ? 'The chosen sample' : 'Two samples'}</h3>
      {alone && <p class="note">Choose another sample to see the two beside each other.</p>}
      {apart && <p class="parting">{partingInWords(first!, second!, apart)}</p>}
      <div class={alone ? 'sides' : 'sides two'}>
        {open.map(({ key, sample, run }) => (
          <OpenSample key={`${key} ${open.length} ${apart?.said} ${apart?.thought}`} sample={sample} run={run} apart={apart} alone={alone}
            onClose={() => go({ samples: toggled(address.samples, key) })} />
        ))}
      </div>
    </section>
  );
}

export function partingInWords(first: Halves, second: Halves, apart: Apart): string {
  const sentence = (what: string, one: string, two: string, at: number | null): string => {
    if (at === null) return `The ${what} are identical.`;
    const count = at.toLocaleString('en');
    if (at === one.length || at === two.length) {
      const [shorter, longer] = at === one.length ? ['first', 'second'] : ['second', 'first'];
      return `Of the ${what}, the ${shorter} is the beginning of the ${longer}, which goes on after ${count} characters.`;
    }
    return at ? `The ${what} part after ${count} characters.` : `The ${what} differ from the first word.`;
  };
  const said = sentence('responses', first.said, second.said, apart.said);
  return first.thought || second.thought ? `${sentence('thoughts', first.thought, second.thought, apart.thought)} ${said}` : said;
}

function OpenSample({ sample, run, apart, alone, onClose }: {
  sample: Sample; run: string; apart: Apart | null; alone: boolean; onClose: () => void;
}) {
  const area = useRef<HTMLDivElement>(null);
  // What comes into sight is laid out only then, so it takes a few frames until the first difference stands where it is to.
  useLayoutEffect(() => {
    let frame = 0;
    const scroll = (left: number) => {
      const box = area.current!;
      const inner = box.querySelector('mark.apart')?.getBoundingClientRect();
      if (inner) box.scrollTop += inner.top - box.getBoundingClientRect().top - box.clientHeight / 3;
      if (left && inner) frame = requestAnimationFrame(() => scroll(left - 1));
    };
    if (!alone) scroll(8);
    return () => cancelAnimationFrame(frame);
  }, []);
  return (
    <article class="side" aria-label={visible(describe(sample))}>
      <h4><VerdictMark kind={kindOf(sample)} /> <span>{nameOf(sample)} <span class="note">{run}</span></span>
        <button type="button" class="close" aria-label={`Close ${nameOf(sample)}`} onClick={onClose}>×</button></h4>
      <div class="text" ref={area}
        {...(alone ? {} : { tabIndex: 0, role: 'region', 'aria-label': `Response: ${visible(describe(sample))}` })}>
        {sample.told ? <Response sample={sample} told={sample.told} apart={apart} />
          : <><p class="note">Its response is not on this page.</p><Final sample={sample} where="" /></>}
      </div>
    </article>
  );
}

function Response({ sample, told, apart }: { sample: Sample; told: Told; apart: Apart | null }) {
  const { thought, said, response, judge } = told;
  const difference = (text: string, at: number | null | undefined): Marked[] =>
    (at == null ? [] : [{ ...wordAt(text, at), kind: 'apart', title: 'the first difference' }]);
  const answer = useMemo(() => answerPlace(said, sample.answer ?? ''), [said, sample.answer]);
  const marks = [...difference(said, apart?.said), ...(answer ? [{ ...answer, kind: 'answer' as const, title: 'the final answer' }] : [])];
  return (
    <div class="response">
      <p class="note">{visible(told.how)}</p>
      {thought && (
        <details open={apart?.thought != null}>
          <summary>Thought, {thought.length.toLocaleString('en')} characters</summary>
          <LongText text={thought} marks={difference(thought, apart?.thought)} />
        </details>
      )}
      {response === null ? <p class="warning">There is no response.</p>
        : said ? <LongText text={said} marks={marks} /> : <p class="note">It says nothing{thought ? ' after its thought' : ''}.</p>}
      <Final sample={sample} where={answer ? ', marked above' : ', not in the text in this form'} />
      {judge && (
        <details>
          <summary>What the judge {visible(judge.name)} was asked and replied</summary>
          {[['Asked', judge.prompt], ['Replied', judge.reply]].map(([name, text]) => (
            <><h5>{name}</h5>{text === null ? <p class="note">It is not known.</p> : <LongText text={text!} />}</>
          ))}
        </details>
      )}
    </div>
  );
}

function Final({ sample: { answer, who }, where }: { sample: Sample; where: string }) {
  if (answer === null) return null;
  if (!answer) return <p class="note">No final answer was found in it. {visible(who)}</p>;
  return <div class="final">Final answer{where}: <Rich text={answer} bare />{who && <span class="note"> · {visible(who)}</span>}</div>;
}

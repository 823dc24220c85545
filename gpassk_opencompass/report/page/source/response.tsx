// A response with all that is known of it, and two of them beside each other.

import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { answerPlace, divergence, wordAt, type Divergence } from './divergence';
import { LongText, type Marked } from './longtext';
import { Rich, visible } from './mathematics';
import { Folded } from './elements';
import { describe, kindOf, nameOf, type Seen } from './samples';
import type { Sample } from './shards';
import { VerdictMark } from './strip';

// Thought and what is said after it.
export interface Halves {
  thought: string;
  said: string;
}

export function halves({ response, thought, separateThought }: Pick<Sample, 'response' | 'thought' | 'separateThought'>): Halves {
  const within = (response ?? '').slice(0, thought ?? 0);
  return { thought: [separateThought, within].filter(Boolean).join('\n'), said: (response ?? '').slice(thought ?? 0) };
}

const count = (value: number): string => value.toLocaleString('en');

// How it was drawn and how it ended.
export function circumstances({ outputTokens, reasoningTokens, seconds, finish, state, seed }: Sample): string {
  return [
    outputTokens !== null && `${count(outputTokens)} tokens${reasoningTokens ? `, ${count(reasoningTokens)} of them thought` : ''}`,
    seconds !== null && `${seconds.toLocaleString('en', { maximumFractionDigits: 1 })} s`,
    finish && `ended: ${finish === 'length' ? 'cut off' : finish}`, state, seed !== null && `seed ${seed}`,
  ].filter(Boolean).join(' · ');
}

// Where its thought and the rest part from another; see `Pair`.
interface Parting {
  thought: Marked[];
  said: Marked[];
}

const NOWHERE: Parting = { thought: [], said: [] };

export function Response({ seen, parting = NOWHERE, onDrawn, children }: {
  seen: Seen; parting?: Parting; onDrawn?: () => void; children?: ComponentChildren;
}) {
  const { told } = seen;
  const { thought, said } = useMemo(() => (told ? halves(told) : { thought: '', said: '' }), [told]);
  const marks = useMemo(() => [...parting.said, ...answerMark(said, seen.answer)], [said, parting]);
  if (!told) return <><p class="note">Its response is not on this page.</p><Final seen={seen} found={null} />{children}</>;
  return (
    <div class="response">
      <p class="note">{visible(circumstances(told))}</p>
      {children}
      {thought && (
        <Folded summary={`Thought, ${count(thought.length)} characters`} open={parting.thought.length > 0}>
          {() => <LongText text={thought} marks={parting.thought} onDrawn={onDrawn} />}
        </Folded>
      )}
      {told.response === null
        ? <p class="warning">No response: {visible(told.lost ?? 'none was kept')}.</p>
        : said ? <LongText text={said} marks={marks} onDrawn={onDrawn} /> : <p class="note">It says nothing{thought ? ' after its thought' : ''}.</p>}
      <Final seen={seen} found={marks.some(({ kind }) => kind === 'answer')} />
      <Judged sample={told} />
    </div>
  );
}

function answerMark(said: string, answer: string | null): Marked[] {
  const place = answerPlace(said, answer ?? '');
  return place ? [{ ...place, kind: 'answer', title: 'the final answer' }] : [];
}

// `found`: whether it is marked in the response; null where there is none to see.
function Final({ seen: { answer, decidedBy }, found }: { seen: Seen; found: boolean | null }) {
  if (answer === null) return null;
  if (!answer) return <p class="note">No final answer was found in it. {visible(decidedBy)}</p>;
  const where = { true: ', marked above', false: ', not in the text in this form', null: '' }[String(found)];
  return (
    <div class="final">
      Final answer{where}: <Rich text={answer} bare />
      {decidedBy && <span class="note"> · {visible(decidedBy)}</span>}
    </div>
  );
}

function Judged({ sample: { judge } }: { sample: Sample }) {
  if (!judge) return null;
  const told: [string, string | null][] = [['Asked', judge.prompt], ['Replied', judge.reply]];
  return (
    <Folded summary={`What the judge ${visible(judge.name)} was asked and replied`}>
      {() => told.map(([name, text]) => (
        <>
          <h5>{name}</h5>
          {text === null ? <p class="note">It is not kept.</p> : <LongText text={text} />}
        </>
      ))}
    </Folded>
  );
}

// A sample of one of the runs that are shown.
export interface Chosen {
  seen: Seen;
  run: string;
}

// One response, or two with the place where they part.
export function ChosenResponses({ chosen, onClose, children }: {
  chosen: Chosen[]; onClose: (one: Chosen) => void; children: (one: Chosen) => ComponentChildren;
}) {
  const area = useRef<HTMLDivElement>(null);
  const both = chosen.length === 2 && chosen.every(({ seen }) => seen.told);
  const parting = useMemo(() => (both ? partings(chosen.map(({ seen }) => halves(seen.told!))) : null), chosen.map(({ seen }) => seen));
  const one = chosen.length === 1;
  return (
    <section class="chosen" aria-labelledby="chosen-title">
      <h3 id="chosen-title">{one ? 'The chosen sample' : 'Two samples'}</h3>
      {parting ? <p class="parting">{parting.line}</p> : one && <p class="note">Choose another sample to see the two beside each other.</p>}
      <div class={one ? 'sides' : 'sides two'} ref={area}>
        {chosen.map((each, i) => (
          <Side key={`${each.run} ${each.seen.key} ${chosen.length}`} chosen={each} parting={parting?.of[i]} alone={one}
            onClose={() => onClose(each)}>
            {children(each)}
          </Side>
        ))}
      </div>
    </section>
  );
}

function Side({ chosen: { seen, run }, parting, alone, onClose, children }: {
  chosen: Chosen; parting?: Parting; alone: boolean; onClose: () => void; children: ComponentChildren;
}) {
  const area = useRef<HTMLDivElement>(null);
  const [drawn, setDrawn] = useState(0);
  useLayoutEffect(() => {
    if (!alone) return intoSight(area.current!, 'mark.apart');
    return undefined;
  }, [drawn]);
  const title = describe(seen);
  return (
    <article class="side" aria-label={visible(title)}>
      <h4><VerdictMark kind={kindOf(seen)} /> <span>{nameOf(seen)} <span class="note">{run}</span></span>
        <button type="button" class="close" aria-label={`Close ${nameOf(seen)}`} onClick={onClose}>×</button></h4>
      <div class="text" ref={area} {...(alone ? {} : { tabIndex: 0, role: 'region', 'aria-label': `Response of ${visible(nameOf(seen))}` })}>
        <Response seen={seen} parting={parting} onDrawn={() => setDrawn((times) => times + 1)}>{children}</Response>
      </div>
    </article>
  );
}

// Scroll an area to what is in it. What comes into sight is measured only then, so it takes a few frames.
function intoSight(area: HTMLElement, selector: string): () => void {
  let frame = 0;
  const step = (left: number) => {
    const inner = area.querySelector(selector)?.getBoundingClientRect();
    if (inner) area.scrollTop += inner.top - area.getBoundingClientRect().top - area.clientHeight / 3;
    if (left) frame = requestAnimationFrame(() => step(left - 1));
  };
  step(8);
  return () => cancelAnimationFrame(frame);
}

// Where two responses part, in words, and what is marked in each: their thoughts apart from the rest.
export function partings([first, second]: Halves[]): { line: string; of: [Parting, Parting] } {
  const [thought, said] = [divergence(first.thought, second.thought), divergence(first.said, second.said)];
  const marks = (text: string, found: Divergence): Marked[] =>
    (found.kind === 'identical' ? [] : [{ ...wordAt(text, found.at), kind: 'apart' as const, title: 'the first difference' }]);
  const of = (half: Halves): Parting => ({ thought: marks(half.thought, thought), said: marks(half.said, said) });
  const lines = first.thought || second.thought ? [sentence('thoughts', thought), sentence('responses', said)] : [sentence('responses', said)];
  return { line: lines.join(' '), of: [of(first), of(second)] };
}

function sentence(what: string, found: Divergence): string {
  if (found.kind === 'identical') return `The ${what} are identical.`;
  if (found.kind === 'apart') return found.at ? `The ${what} part after ${count(found.at)} characters.` : `The ${what} differ from the first word.`;
  const [shorter, longer] = found.shorter === 0 ? ['first', 'second'] : ['second', 'first'];
  return `Of the ${what}, the ${shorter} is the beginning of the ${longer}, which goes on after ${count(found.at)} characters.`;
}

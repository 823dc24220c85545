// A question: what was asked, what a run answered and how it was judged, and what the other runs did.

import './question.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Answers } from './answers';
import { textsOf, type Board, type Entry, type Texts } from './content';
import { Downloads, type Sheet } from './downloads';
import { LabelButtons, labelledBy, LabelPanel, type Asked } from './labelling';
import { LongText } from './longtext';
import type { Other } from './main';
import { LONGEST_FORMULA, Rich, visible } from './mathematics';
import { Link, usePlace } from './navigation';
import { Folded } from './elements';
import { ChosenResponses, type Chosen } from './response';
import { KINDS, useSamples, VERDICTS, type Gathered, type Seen } from './samples';
import { percent, type Choice } from './scores';
import { Legend, Strip } from './strip';
import { sorted, VirtualTable, type Column } from './virtual';

// A run whose samples are shown, and how the address names them: those of the other run by `with.` before their replica.
interface Side {
  board: Board;
  entry: Entry;
  position: number;
  prefix: string;
  // Told apart from the other.
  name: string;
  gathered: Gathered | null;
  asked: Asked;
}

const OTHERS = 'with.';

export function QuestionView({ choice, entry, position, other }: { choice: Choice; entry: Entry; position: number; other: Other | null }) {
  const { board } = choice;
  const uid = board.uids[position];
  const texts = useTexts(board);
  const there = other ? other.board.uids.indexOf(uid) : -1;
  const [own, theirs] = [useSamples(board, entry, position), useSamples(other?.board ?? board, other?.entry ?? entry, there)];
  const title = useHeading();
  const asked = (of: Board, run: Entry): Asked => ({
    run: labelledBy(of, run), uid, question: texts?.question[position] ?? '', reference: texts?.reference[position] ?? '',
    language: languageOf(board, position),
  });
  const sides: Side[] = [{ board, entry, position, prefix: '', name: entry.name, gathered: own, asked: asked(board, entry) }];
  if (other && there >= 0) {
    const name = other.board === board ? other.entry.name : `${other.entry.name} (${other.board.title})`;
    sides.push({ ...other, position: there, prefix: OTHERS, name, gathered: theirs, asked: asked(other.board, other.entry) });
  }
  const columns = sides.length > 1 ? 'sides two' : 'sides';
  return (
    <article class="question" aria-labelledby="question-title">
      <Steps choice={choice} position={position} />
      <h2 id="question-title" tabIndex={-1} ref={title}>Question {visible(uid)}</h2>
      <Asking texts={texts} position={position} prompt={own?.prompt ?? null} />
      <Differing sides={sides} />
      <div class={columns}>{sides.map((side) => <Strips key={side.prefix} side={side} alone={sides.length === 1} />)}</div>
      {other && there < 0 && <p class="warning">{other.board.title} does not have this question.</p>}
      <Open sides={sides} />
      <div class={columns}>{sides.map((side) => <Clusters key={side.prefix} side={side} />)}</div>
      <Runs board={board} position={position} />
      <LabelPanel board={board} entry={entry} />
      <Downloads sheet={() => sheetOf(uid, sides)} />
    </article>
  );
}

function useTexts(board: Board): Texts | null {
  const [texts, setTexts] = useState<Texts | null>(null);
  useEffect(() => {
    let wanted = true;
    textsOf(board).then((found) => wanted && setTexts(found));
    return () => { wanted = false; };
  }, [board]);
  return texts;
}

// A reader who comes from a link that is gone goes on from the heading.
function useHeading() {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (document.activeElement === document.body) heading.current!.focus();
  }, []);
  return heading;
}

// 'cn' or 'en' of a group such as AMC_cn; '' where it does not say.
const languageOf = (board: Board, position: number): string => /_(cn|zh|en)$/.exec(board.groups[board.group[position]])?.[1] ?? '';

const FIELD = 'input, select, textarea, [contenteditable]';
// Where arrows have a meaning of their own.
const ARROWED = `${FIELD}, [role=listbox], [role=toolbar], [role=region]`;

// The questions before and after this one, by link or key.
function Steps({ choice: { board, questions, group }, position }: { choice: Choice; position: number }) {
  const { go } = usePlace();
  const place = questions.indexOf(position);
  const [before, after] = place < 0 ? [undefined, questions[0]] : [questions[place - 1], questions[place + 1]];
  const change = (to: number) => ({ question: board.uids[to], samples: [] });
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
      const within = (event.target as Element).closest?.(event.key.length > 1 ? ARROWED : FIELD);
      const to = ['j', 'ArrowRight'].includes(event.key) ? after : ['k', 'ArrowLeft'].includes(event.key) ? before : undefined;
      if (to !== undefined && !within) go(change(to));
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });
  const step = (to: number | undefined, name: string, hint: string) =>
    (to === undefined ? <span class="note">{name}</span> : <Link change={change(to)} title={`${visible(board.uids[to])} (${hint})`}>{name}</Link>);
  return (
    <nav class="steps" aria-label="Questions">
      {step(before, '← Previous', 'key ← or k')}
      <span>{place < 0 ? `not among the ${questions.length} of ${visible(group)}` : `${place + 1} of ${questions.length}`}</span>
      {step(after, 'Next →', 'key → or j')}
      <span class="note">Keys: ← → or k j</span>
    </nav>
  );
}

function Asking({ texts, position, prompt }: { texts: Texts | null; position: number; prompt: string | null }) {
  const question = texts?.question[position] ?? '';
  const reference = texts?.reference[position] ?? '';
  return (
    <section class="asking" aria-label="The question">
      {question ? <LongText key="question" text={question} /> : texts && <p class="note">Its text is not in the results.</p>}
      {reference && <div class="reference"><span class="note">Reference</span> <Reference text={reference} /></div>}
      {prompt !== null && <Folded summary="What the model was asked">{() => <LongText text={prompt} />}</Folded>}
    </section>
  );
}

const Reference = ({ text }: { text: string }) =>
  (text.length > LONGEST_FORMULA ? <LongText text={text} /> : <div class="answer-text"><Rich text={text} bare /></div>);

// Two verdicts on the same responses.
function Differing({ sides }: { sides: Side[] }) {
  const [first, second] = sides.map(({ gathered }) => gathered?.samples);
  if (!first || !second || sides[0].entry.name !== sides[1].entry.name || first.length !== second.length) return null;
  const differ = first.filter(({ verdict }, i) => verdict !== second[i].verdict).map(({ key }) => key);
  if (!differ.length) return <p>The verdicts are the same.</p>;
  return <p>The verdicts differ on {differ.length} of {first.length} samples: {differ.join(', ')}.</p>;
}

function Strips({ side: { entry, position, prefix, name, gathered, board }, alone }: { side: Side; alone: boolean }) {
  const { address, go } = usePlace();
  const samples = gathered?.samples;
  const mine = chosenOf(address.samples, prefix);
  const choose = (key: string) => go({ samples: toggled(address.samples, prefix + key) });
  const right = entry.c[position];
  return (
    <section class="run" aria-label={`Samples of ${name}`}>
      <h3>
        {!alone && <><Link change={{ run: entry.name, board: board.title, with: '', withBoard: '', samples: [] }}>{name}</Link>: </>}
        {right} of {entry.n} right
      </h3>
      {!gathered && <p class="note" role="status">Loading the responses…</p>}
      {gathered?.problem && <Problem text={gathered.problem} damaged={entry.shards !== null} />}
      {samples && (
        <Strip samples={samples} chosen={mine} onChoose={choose} label={`${samples.length} samples of ${name}, arrows move, Enter opens`} />
      )}
      {samples && <Legend samples={samples} />}
      {gathered && !samples && <p class="note">Which sample was right is not on this page: the answers of so many runs do not fit into one.</p>}
      {gathered?.greedy && <Greedy seen={gathered.greedy} chosen={mine} onChoose={choose} />}
    </section>
  );
}

function Problem({ text, damaged }: { text: string; damaged: boolean }) {
  if (damaged) return <p class="warning" role="alert">{visible(text)}.</p>;
  return (
    <p class="note">
      {visible(text)} To read them: <code>gpassk report --responses</code> writes them beside the page.
    </p>
  );
}

function Greedy({ seen, chosen, onChoose }: { seen: Seen; chosen: string[]; onChoose: (key: string) => void }) {
  return (
    <p class="greedy">
      Greedy run: <Strip samples={[seen]} chosen={chosen} onChoose={onChoose} label="The greedy sample, Enter opens" />{' '}
      {KINDS[VERDICTS[seen.verdict]].name}
    </p>
  );
}

const chosenOf = (samples: string[], prefix: string): string[] =>
  samples.filter((sample) => sample.startsWith(OTHERS) === (prefix === OTHERS)).map((sample) => sample.slice(prefix.length));

// One more or less; of two the later one makes room for a third.
function toggled(samples: string[], key: string): string[] {
  if (samples.includes(key)) return samples.filter((sample) => sample !== key);
  return [...samples.slice(0, 1), key];
}

// The responses that the address names.
function Open({ sides }: { sides: Side[] }) {
  const { address, go } = usePlace();
  const found = address.samples.flatMap((name): (Chosen & { name: string; side: Side })[] => {
    const side = sides.find(({ prefix }) => prefix === (name.startsWith(OTHERS) ? OTHERS : ''));
    const every = [...(side?.gathered?.samples ?? []), ...(side?.gathered?.greedy ? [side.gathered.greedy] : [])];
    const seen = every.find(({ key }) => key === name.slice(side!.prefix.length));
    return side && seen ? [{ seen, run: sides.length > 1 ? side.name : '', name, side }] : [];
  }).slice(0, 2);
  if (!found.length) return null;
  return (
    <ChosenResponses chosen={found} onClose={(one) => go({ samples: toggled(address.samples, (one as typeof found[number]).name) })}>
      {(one) => {
        const { side, seen } = one as typeof found[number];
        return <LabelButtons asked={side.asked} of={seen} sample={seen.answer === '' ? seen.key : null} />;
      }}
    </ChosenResponses>
  );
}

function Clusters({ side: { gathered, asked, prefix, name } }: { side: Side }) {
  const { address, go } = usePlace();
  if (!gathered?.samples) return null;
  return (
    <section aria-label={`Answers of ${name}`}>
      <h3>Answers</h3>
      <Answers samples={gathered.samples} asked={asked} chosen={chosenOf(address.samples, prefix)}
        onChoose={(key) => go({ samples: toggled(address.samples, prefix + key) })} />
    </section>
  );
}

// Every run of the table on this question.
function Runs({ board, position }: { board: Board; position: number }) {
  const { address, go } = usePlace();
  const share = (entry: Entry) => entry.c[position] / entry.n;
  const unjudgedOf = ({ unjudged }: Entry) => unjudged[position] ?? 0;
  const cutOf = ({ cut }: Entry) => cut[position] ?? null;
  const columns: Column<Entry>[] = [
    { key: 'name', head: 'Run', heads: true, by: ({ name }) => name,
      cell: ({ name }) => <Link change={{ run: name, with: '', withBoard: '', samples: [] }} title={name}>{name}</Link> },
    { key: 'right', head: 'Right', numeric: true, by: share, cell: (entry) => `${entry.c[position]} of ${entry.n}` },
    { key: 'share', head: '%', numeric: true, by: share, cell: (entry) => percent(share(entry), 1) },
    { key: 'greedy', head: 'Greedy', by: ({ greedy }) => greedy?.[position] ?? null,
      cell: ({ greedy }) => (greedy ? KINDS[greedy[position] ? 'right' : 'wrong'].name : '–') },
    { key: 'unjudged', head: 'Unjudged', numeric: true, by: unjudgedOf, cell: unjudgedOf },
    { key: 'cut', head: 'Cut off', numeric: true, by: cutOf, cell: (entry) => cutOf(entry) ?? '–' },
    { key: 'beside', head: 'Beside', cell: ({ name }) => (name === address.run ? 'this one'
      : <Link change={{ with: name, withBoard: '', samples: [] }} label={`beside ${name}`}>beside</Link>) },
  ];
  const sort = { key: columns.some(({ key, by }) => by && key === address.sort) ? address.sort : 'right', descending: address.descending };
  const rows = sorted(board.entries, columns.find(({ key }) => key === sort.key), sort.descending);
  return (
    <section>
      <VirtualTable id="runs-of-question" caption={`All ${board.entries.length} runs on this question`} columns={columns} rows={rows}
        keyOf={({ name }) => name} sort={sort}
        onSort={({ key }) => go({ sort: key, descending: sort.key === key ? !sort.descending : key !== 'name' }, true)} />
    </section>
  );
}

function sheetOf(uid: string, sides: Side[]): Sheet {
  const rows = sides.flatMap(({ name, gathered }) => [...(gathered?.samples ?? []), ...(gathered?.greedy ? [gathered.greedy] : [])]
    .map((seen) => [
      name, seen.key, KINDS[VERDICTS[seen.verdict]].name, seen.answer, seen.decidedBy, seen.cut ? 'yes' : 'no',
      seen.told?.finish ?? null, seen.told?.state ?? null, seen.told?.outputTokens ?? null, seen.told?.reasoningTokens ?? null,
      seen.told?.seconds ?? null, seen.told?.seed ?? null,
    ]));
  return {
    title: `Samples of question ${uid}`, rows,
    columns: ['run', 'sample', 'verdict', 'answer', 'decided by', 'cut off', 'finish', 'state', 'output tokens', 'reasoning tokens',
      'seconds', 'seed'],
  };
}

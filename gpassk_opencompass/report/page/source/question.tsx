// A question: what was asked, what a run answered and how that was judged, and how all other runs did.

import { useEffect, useMemo, useRef } from 'preact/hooks';
import { gather, unpacked, useLoaded, type Board, type Entry, type Sample, type Verdict } from './content';
import { describe, KINDS, kindOf, Pair, toggled, VerdictMark, VERDICTS, type Kind, type Side } from './pair';
import { FRESH, Link, usePlace } from './place';
import type { Other } from './run';
import { LONGEST_FORMULA, LongText, Rich, visible } from './text';
import { Marks, percent, Table, type Column, type Mark } from './widgets';

export function QuestionView({ board, entry, position, other }: { board: Board; entry: Entry; position: number; other: Other | null }) {
  const uid = board.uids[position];
  const there = other ? other.board.uids.indexOf(uid) : -1;
  const texts = useLoaded(() => unpacked<{ question?: (string | null)[]; reference?: (string | null)[] }>(board.texts), [board]);
  const own = useLoaded(() => gather(board, entry, position), [entry, position]);
  const theirs = useLoaded(async () => (other && there >= 0 ? gather(other.board, other.entry, there) : null), [other?.entry, there]);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => { if (document.activeElement === document.body) heading.current!.focus(); }, []);
  const sides: Side[] = [{ board, entry, position, prefix: '', name: entry.name, gathered: own }];
  if (other && there >= 0) {
    const name = other.board === board ? other.entry.name : `${other.entry.name} (${other.board.title})`;
    sides.push({ ...other, position: there, prefix: 'with.', name, gathered: theirs });
  }
  const [question, reference] = [texts?.question?.[position], texts?.reference?.[position]];
  const columns = sides.length > 1 ? 'sides two' : 'sides';
  return (
    <article class="question" aria-labelledby="question-title">
      <Steps board={board} position={position} />
      <h2 id="question-title" tabIndex={-1} ref={heading}>Question {visible(uid)}</h2>
      <section class="asking" aria-label="The question">
        {question ? <LongText text={question} /> : texts && <p class="note">Its text is not in the results.</p>}
        {reference && (
          <div class="reference"><span class="note">Reference</span>{' '}
            {reference.length > LONGEST_FORMULA ? <LongText text={reference} />
              : <span class="answer-text"><Rich text={reference} bare /></span>}</div>
        )}
      </section>
      {other && there < 0 && <p class="warning">{other.board.title} does not have this question.</p>}
      <Differing sides={sides} />
      <div class={columns}>{sides.map((side) => <Samples key={side.prefix} side={side} alone={sides.length === 1} />)}</div>
      <Pair sides={sides} />
      <div class={columns}>
        {sides.map((side) => side.gathered?.samples && <Answers key={side.prefix} side={side} samples={side.gathered.samples} />)}
      </div>
      <Runs board={board} position={position} />
    </article>
  );
}

// Where arrows, or j and k, have a meaning of their own.
const TYPED = 'input, select, textarea';
const ARROWED = `${TYPED}, [role=listbox], [role=region]`;

// The questions before and after this one, by link or key.
function Steps({ board, position }: { board: Board; position: number }) {
  const { go } = usePlace();
  const change = (to: number) => ({ question: board.uids[to], samples: [] });
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
      const to = position + ({ j: 1, ArrowRight: 1, k: -1, ArrowLeft: -1 }[event.key] ?? NaN);
      const own = (event.target as Element).closest?.(event.key.length > 1 ? ARROWED : TYPED);
      if (board.uids[to] !== undefined && !own) go(change(to));
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });
  const step = (to: number, name: string, keys: string) => (board.uids[to] === undefined ? <span class="note">{name}</span>
    : <Link change={change(to)} title={`${visible(board.uids[to])} (key ${keys})`}>{name}</Link>);
  return (
    <nav class="steps" aria-label="Questions">
      {step(position - 1, '← Previous', '← or k')}
      <span>{position + 1} of {board.uids.length}</span>
      {step(position + 1, 'Next →', '→ or j')}
      <span class="note">Keys: ← → or k j</span>
    </nav>
  );
}

// Two verdicts on the same responses.
function Differing({ sides }: { sides: Side[] }) {
  const [first, second] = sides.map(({ gathered }) => gathered?.samples);
  if (!first || !second || sides[0].entry.name !== sides[1].entry.name || first.length !== second.length) return null;
  const differ = first.filter(({ verdict }, i) => verdict !== second[i].verdict).map(({ key }) => key);
  if (!differ.length) return <p>The verdicts are the same.</p>;
  return <p>The verdicts differ on {differ.length} of {first.length} samples: {differ.join(', ')}.</p>;
}

function Samples({ side: { board, entry, position, prefix, name, gathered }, alone }: { side: Side; alone: boolean }) {
  const { address, go } = usePlace();
  const choose = (key: string) => go({ samples: toggled(address.samples, prefix + key) });
  const markOf = (sample: Sample): Mark => ({
    key: sample.key, class: kindOf(sample), letter: KINDS[kindOf(sample)].letter, label: describe(sample),
    chosen: address.samples.includes(prefix + sample.key),
  });
  const { samples, greedy, problem, fault } = gathered ?? { samples: null, greedy: null, problem: '', fault: false };
  const countOf = (kind: Kind) => samples?.filter((sample) => kindOf(sample) === kind).length ?? 0;
  return (
    <section class="run" aria-label={`Samples of ${name}`}>
      <h3>{!alone && <><Link change={{ ...FRESH, board: board.title, run: entry.name }}>{name}</Link>: </>}
        {entry.c[position]} of {entry.n} right</h3>
      {!gathered && <p class="note" role="status">Loading…</p>}
      {problem && <p class={fault ? 'warning' : 'note'} role={fault ? 'alert' : undefined}>
        {visible(problem)}{!fault && <> To read them: <code>gpassk report --responses</code>.</>}</p>}
      {samples && <Marks class="strip" label={`${samples.length} samples of ${name}, arrows move, Enter opens`}
        marks={samples.map(markOf)} onChoose={choose} />}
      {samples && <p class="legend">{(Object.keys(KINDS) as Kind[]).filter(countOf).map((kind) =>
        <span><VerdictMark kind={kind} /> {countOf(kind)} {KINDS[kind].name}</span>)}</p>}
      {gathered && !samples && !fault && <p class="note">Which sample was right is not known here.</p>}
      {greedy && <div class="greedy">Greedy run: <Marks class="strip" label="The greedy sample, Enter opens" marks={[markOf(greedy)]}
        onChoose={choose} /> {VERDICTS[greedy.verdict]}</div>}
    </section>
  );
}

interface Cluster {
  answer: string | null;
  verdict: Verdict;
  who: string;
  samples: Sample[];
}

// Samples with the same answer, judged alike by the same; the most frequent first.
export function clustersOf(samples: Sample[]): Cluster[] {
  const found = new Map<string, Cluster>();
  for (const sample of samples) {
    const { answer, verdict, who } = sample;
    const key = JSON.stringify([answer, verdict, who]);
    if (!found.has(key)) found.set(key, { answer, verdict, who, samples: [] });
    found.get(key)!.samples.push(sample);
  }
  return [...found.values()].sort((first, second) => second.samples.length - first.samples.length);
}

function Answers({ side: { prefix, name }, samples }: { side: Side; samples: Sample[] }) {
  const { address, go } = usePlace();
  const clusters = useMemo(() => clustersOf(samples), [samples]);
  return (
    <section aria-label={`Answers of ${name}`}>
      <h3>Answers</h3>
      <ol class="clusters">
        {clusters.map(({ answer, verdict, who, samples: members }) => {
          const cut = members.filter((sample) => sample.cut).length;
          return (
            <li class="cluster">
              <VerdictMark kind={kindOf({ verdict, cut: cut === members.length })} />{' '}
              <span class="answer-text">
                {answer ? <Rich text={answer} bare /> : <em>{answer === null ? 'answers are not on this page' : 'no answer'}</em>}
              </span>{' '}
              <span class="note">
                {VERDICTS[verdict]}, {members.length} of {samples.length}{cut > 0 && `, ${cut} cut off`}{who && ` · ${visible(who)}`}
              </span>{' '}
              <span class="members">{members.map(({ key }) => (
                <button type="button" class="plain" aria-pressed={address.samples.includes(prefix + key)} aria-label={`Sample ${key}`}
                  onClick={() => go({ samples: toggled(address.samples, prefix + key) })}>{key}</button>
              ))}</span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

// Every run of the table on this question.
function Runs({ board, position }: { board: Board; position: number }) {
  const { address } = usePlace();
  const columns = useMemo((): Column<Entry>[] => {
    const share = (entry: Entry) => entry.c[position] / entry.n;
    return [
      { key: 'name', head: 'Run', heads: true, by: ({ name }) => name,
        cell: ({ name }) => <Link change={{ run: name, with: '', withBoard: '', samples: [] }}>{name}</Link> },
      { key: 'right', head: 'Right', numeric: true, by: share, cell: (entry) => `${entry.c[position]} of ${entry.n}` },
      { key: 'share', head: '%', numeric: true, by: share, cell: (entry) => percent(100 * share(entry), 1) },
      { key: 'greedy', head: 'Greedy', by: ({ greedy }) => greedy?.[position] ?? null,
        cell: ({ greedy }) => (greedy ? VERDICTS[greedy[position] ? '1' : '0'] : '–') },
      { key: 'unjudged', head: 'Unjudged', numeric: true, by: ({ unjudged }) => unjudged[position] ?? 0,
        cell: ({ unjudged }) => unjudged[position] ?? 0 },
      { key: 'cut', head: 'Cut off', numeric: true, by: ({ cut }) => cut[position] ?? 0, cell: ({ cut }) => cut[position] ?? 0 },
      { key: 'beside', head: 'Beside', cell: ({ name }) => (name === address.run ? 'this one'
        : <Link change={{ with: name, withBoard: '', samples: [] }} label={`beside ${name}`}>beside</Link>) },
    ];
  }, [board, position, address.run]);
  return <Table id="runs" caption={`All ${board.entries.length} runs on this question`} columns={columns} rows={board.entries}
    keyOf={({ name }) => name} usual="right" />;
}

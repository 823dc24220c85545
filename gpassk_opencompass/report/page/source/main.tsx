// The frame of the page: where one is, the controls, and the view of the address.

import './base.css';
import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { thresholds, type Address } from './address';
import { BoardView } from './board';
import { boardNamed, boards, content, entryOf, type Board, type Entry } from './content';
import { Choose, Labelled } from './elements';
import { ModelView } from './model';
import { visible } from './mathematics';
import { BOARD_ONLY, Link, Navigation, say, usePlace } from './navigation';
import { Overview } from './overview';
import { PairView } from './pair';
import { QuestionView } from './question';
import { choose, decimal } from './scores';
import * as statistics from './statistics';

function App() {
  const { address } = usePlace();
  useTitle(address);
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')!.focus()}>Skip to the content</button>
      <Trail />
      <Controls />
      <main id="main" tabIndex={-1}><View /></main>
    </>
  );
}

// What the address names: a question, a pair, a model, a benchmark, or all.
function View() {
  const { address } = usePlace();
  if (!address.board && boards.length > 1) return <Overview />;
  const board = address.board ? boardNamed(address.board) : boards[0];
  if (!board) return <Missing what={`the benchmark ${address.board}`} />;
  const entry = address.run ? entryOf(board, address.run) : undefined;
  if (address.run && !entry) return <Missing what={`the run ${address.run}`} />;
  const choice = choose(board, address);
  if (!entry) return boards.length > 1 ? <BoardView choice={choice} /> : <><Overview /><BoardView choice={choice} /></>;
  const other = pairOf(board, address);
  if (address.with && !other) return <Missing what={`the run ${address.with}`} />;
  const position = board.uids.indexOf(address.question);
  if (address.question && position < 0) return <Missing what={`the question ${address.question}`} />;
  if (address.question) return <QuestionView key={`${address.run} ${address.question}`} choice={choice} entry={entry} position={position} other={other} />;
  if (other) return <PairView choice={choice} first={entry} other={other} />;
  return <ModelView key={address.run} choice={choice} entry={entry} />;
}

// A run beside another, maybe of a board of another judge.
export interface Other {
  board: Board;
  entry: Entry;
}

function pairOf(board: Board, address: Address): Other | null {
  if (!address.with) return null;
  const theirs = address.withBoard ? boards.find(({ title }) => title === address.withBoard) : board;
  const entry = theirs && entryOf(theirs, address.with);
  return entry ? { board: theirs, entry } : null;
}

function Missing({ what }: { what: string }) {
  return <p role="alert">This report has nothing of {visible(what)}. <a href="#">To the first view</a></p>;
}

// The way from the first view to here.
function Trail() {
  const { address } = usePlace();
  const steps: [string, Partial<Address>][] = [
    ['All benchmarks', { ...BOARD_ONLY, board: '' }],
    [address.board || (boards.length === 1 ? boards[0].title : ''), BOARD_ONLY],
    [address.with ? `${address.run} beside ${address.with}` : address.run, { question: '', samples: [] }],
    [address.question, { samples: [] }],
  ];
  const shown = steps.filter(([name], i) => name && (i > 0 || boards.length > 1));
  if (shown.length < 2 && !address.run) return null;
  return (
    <nav aria-label="Where you are"><ol class="trail">
      {shown.map(([name, change], i) => (
        <li>{i === shown.length - 1 ? <span aria-current="page">{visible(name)}</span> : <Link change={change}>{visible(name)}</Link>}</li>
      ))}
    </ol></nav>
  );
}

// What all numbers of a benchmark hang on: its questions, k and τ.
function Controls() {
  const { address, go } = usePlace();
  const board = boardNamed(address.board) ?? (boards.length === 1 ? boards[0] : undefined);
  const titles: [string, string][] = boards.map(({ title }) => [title, title]);
  return (
    <div class="controls" role="region" aria-label="What is shown">
      {boards.length > 1 && (
        <Choose label="Benchmark" id="board-choice" value={address.board} values={[['', 'all'], ...titles]}
          onChange={(title) => go({ ...BOARD_ONLY, board: title, group: '', sort: '', run: boardHas(title, address.run) ? address.run : '' })} />
      )}
      {board && <BoardControls board={board} />}
    </div>
  );
}

const boardHas = (title: string, run: string): boolean => {
  const board = boardNamed(title);
  return board !== undefined && entryOf(board, run) !== undefined;
};

function BoardControls({ board }: { board: Board }) {
  const { address, go } = usePlace();
  const most = Math.max(...board.entries.map(({ n }) => n));
  const readK = (field: HTMLInputElement) => {
    const k = Number(field.value);
    const right = Number.isInteger(k) && k >= 1 && k <= most;
    answer(field, right ? '' : `k must be a whole number from 1 to ${most}`);
    if (right) go({ k: k === board.k ? null : k });
  };
  const readTaus = (field: HTMLInputElement) => {
    const taus = thresholds(field.value);
    answer(field, taus ? '' : 'Thresholds are numbers from 0 to 1, at most 11 of them, for example 0.5, 0.75, 1');
    if (taus) go({ taus });
  };
  return (
    <>
      {board.groups.length > 1 && (
        <Choose label="Questions" id="group" value={address.group} values={[['', 'all'], ...board.groups]} onChange={(group) => go({ group })} />
      )}
      <Labelled label="k">
        <input id="k" type="number" min={1} max={most} step={1} value={address.k ?? board.k} aria-describedby="problem"
          onChange={(event) => readK(event.currentTarget)} />
      </Labelled>
      <Labelled label="Thresholds τ">
        <input id="taus" value={address.taus.map(decimal).join(', ')} inputMode="decimal" aria-describedby="problem"
          onChange={(event) => readTaus(event.currentTarget)} />
      </Labelled>
      <p id="problem" role="alert" />
    </>
  );
}

// Say beside a field what is wrong with what was typed; '' takes it back.
function answer(field: HTMLInputElement, problem: string): void {
  if (problem) field.setAttribute('aria-invalid', 'true');
  else field.removeAttribute('aria-invalid');
  document.getElementById('problem')!.textContent = problem;
}

function useTitle({ board, run, question }: Address): void {
  const title = visible([question, run, board].filter(Boolean).join(' · ')) || 'G-Pass@k: how stable are the models?';
  useEffect(() => {
    document.title = title;
    say(title);
  }, [title]);
}

// For who wants to compute on in the console of the browser.
Object.assign(globalThis, { gpassk: { content, statistics } });

render(<Navigation><App /></Navigation>, document.getElementById('app')!);

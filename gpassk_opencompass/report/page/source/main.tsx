// The frame of the page: where one is, and the view of the address.

import './page.css';
import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { boardNamed, boards, content, entryNamed } from './content';
import { BoardView, Overview } from './leaderboard';
import { FRESH, Link, Navigation, say, usePlace, type Address } from './place';
import { QuestionView } from './question';
import { otherOf, RunView } from './run';
import { visible } from './text';

function App() {
  const { address: { board, run, question } } = usePlace();
  const title = visible([question, run, board].filter(Boolean).join(' · ')) || 'G-Pass@k: how stable are the models?';
  useEffect(() => {
    document.title = title;
    say(title);
  }, [title]);
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')!.focus()}>Skip to the content</button>
      <Trail />
      <main id="main" tabIndex={-1}><View /></main>
    </>
  );
}

// What the address names: a question, a run, a benchmark, or all.
function View() {
  const { address } = usePlace();
  const missing = (what: string) => <p role="alert">This report has nothing of {visible(what)}. <a href="#">To the first view</a></p>;
  if (!address.board && boards.length > 1) return <Overview />;
  const board = address.board ? boardNamed(address.board) : boards[0];
  if (!board) return missing(`the benchmark ${address.board}`);
  const entry = entryNamed(board, address.run);
  if (address.run && !entry) return missing(`the run ${address.run}`);
  if (!entry) return boards.length > 1 ? <BoardView board={board} /> : <><Overview /><BoardView board={board} /></>;
  const other = otherOf(board, address.with, address.withBoard);
  if (address.with && !other) return missing(`the run ${address.with}`);
  if (!address.question) return <RunView key={address.run} board={board} entry={entry} other={other} />;
  const position = board.uids.indexOf(address.question);
  if (position < 0) return missing(`the question ${address.question}`);
  return <QuestionView key={`${address.run} ${address.question}`} board={board} entry={entry} position={position} other={other} />;
}

// The way from the first view to here.
function Trail() {
  const { address } = usePlace();
  const steps: [string, Partial<Address>][] = [
    ['All benchmarks', { ...FRESH, board: '' }],
    [address.board || (boards.length === 1 ? boards[0].title : ''), FRESH],
    [address.run + (address.with && ` beside ${address.with}`), { question: '', samples: [], sort: '' }],
    [address.question, { samples: [] }],
  ];
  const shown = steps.filter(([name], i) => name && (i > 0 || boards.length > 1));
  if (shown.length < 2) return null;
  return (
    <nav aria-label="Where you are"><ol class="trail">
      {shown.map(([name, change], i) => (
        <li>{i === shown.length - 1 ? <span aria-current="page">{visible(name)}</span> : <Link change={change}>{visible(name)}</Link>}</li>
      ))}
    </ol></nav>
  );
}

// Paper cannot be unfolded: what is folded in an open response is printed.
addEventListener('beforeprint', () => {
  for (const folded of document.querySelectorAll<HTMLDetailsElement>('.response details')) folded.open = true;
});

// For who wants to compute on in the console of the browser.
Object.assign(globalThis, { gpassk: { content } });

render(<Navigation><App /></Navigation>, document.getElementById('app')!);

// The buttons that say what a reader thinks of a verdict, and what becomes of all that was said.

import { useEffect, useState } from 'preact/hooks';
import type { Board, Entry } from './content';
import { fileName, save } from './downloads';
import { asLines, browserStorage, Labels, type Label, type Labelled } from './labels';
import { say } from './navigation';
import { KINDS, VERDICTS, type Cluster } from './samples';

const labels = new Labels(browserStorage());

function useLabels(): Labels {
  const [, again] = useState(0);
  useEffect(() => {
    const elsewhere = () => labels.reread();
    addEventListener('storage', elsewhere);
    const end = labels.listen(() => again((times) => times + 1));
    return () => {
      removeEventListener('storage', elsewhere);
      end();
    };
  }, []);
  return labels;
}

export const labelledBy = (board: Board, entry: Entry): Labelled => ({ data: board.data, board: board.title, run: entry.name });

// A question as a label has to tell it.
export interface Asked {
  run: Labelled;
  uid: string;
  question: string;
  reference: string;
  language: string;
}

// As answers.py ends what it shortened: such a text is not what was judged.
const SHORTENED = /… \(\d+ characters\)$/;

// Why the answer of a cluster cannot be labelled here; '' where it can.
function refusal({ reference, question }: Asked, answer: string | null): string {
  if (answer === null) return 'the answer is not on this page';
  if (answer.length > 400 && SHORTENED.test(answer)) return 'the answer is shortened on this page';
  return question || reference ? '' : 'neither question nor reference is on this page';
}

// `sample`: of a response without an answer, which has a label of its own.
export function LabelButtons({ asked, of, sample = null }: { asked: Asked; of: Omit<Cluster, 'samples'>; sample?: string | null }) {
  const found = useLabels();
  const refused = refusal(asked, of.answer);
  if (refused) return <p class="note labelling">No label: {refused}. Make the report with --responses to label it.</p>;
  const { run, ...texts } = asked;
  const place = { uid: asked.uid, answer: of.answer!, sample };
  const now = found.find(run, place);
  const judged = of.verdict !== '?';
  const choices: [string, boolean | null][] = [
    [judged ? 'Verdict is right' : 'Answer is right', judged ? of.verdict === '1' : true],
    [judged ? 'Verdict is wrong' : 'Answer is wrong', judged ? of.verdict === '0' : false],
    ['Unsure', null],
  ];
  const press = (name: string, right: boolean | null) => {
    if (now?.right === right) found.remove(run, place);
    else found.set(run, { ...texts, ...place, right, verdict: of.verdict, decidedBy: of.decidedBy } satisfies Label);
    say(now?.right === right ? 'Label taken back' : `Labelled: ${name}`);
  };
  const pressed = now === undefined ? -1 : choices.findIndex(([, right]) => right === now.right);
  return (
    <div class="labelling" role="toolbar" aria-label={`Your label of the verdict “${KINDS[VERDICTS[of.verdict]].name}”`} onKeyDown={walk}>
      {choices.map(([name, right], i) => (
        <button type="button" aria-pressed={i === pressed} tabIndex={i === Math.max(pressed, 0) ? 0 : -1} onClick={() => press(name, right)}>
          {name}
        </button>
      ))}
    </div>
  );
}

// One tab stop: arrows go from button to button.
function walk(event: KeyboardEvent): void {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const buttons = [...(event.currentTarget as HTMLElement).querySelectorAll('button')];
  const at = buttons.indexOf(event.target as HTMLButtonElement);
  buttons[(at + step + buttons.length) % buttons.length].focus();
  event.preventDefault();
}

// How many labels there are of these runs, and the file of them.
export function LabelPanel({ board, entry }: { board: Board; entry: Entry }) {
  const found = useLabels();
  const runs = board.entries.map((one) => labelledBy(board, one));
  const all = runs.flatMap((run) => found.of(run));
  const unsure = all.filter(({ right }) => right === null).length;
  const here = found.of(labelledBy(board, entry)).length;
  const give = () => save(fileName(`labels ${board.title}`, 'jsonl'), 'application/jsonl', runs.map((run) => asLines(run, found.of(run))).join(''));
  const clear = () => {
    if (!confirm(`Forget all ${all.length} labels of ${board.title}? They cannot be brought back.`)) return;
    for (const run of runs) if (found.of(run).length) found.clear(run);
  };
  return (
    <section aria-labelledby="labels-title" class="labels">
      <h3 id="labels-title">Your labels</h3>
      <p>
        <strong>{all.length}</strong> {all.length === 1 ? 'label' : 'labels'} on this benchmark{all.length > 0 && `, ${here} of this run`}
        {unsure > 0 && `; ${unsure} unsure, not in the file`}. With the file, <code>gpassk judge-agreement labels.jsonl</code> tells how often
        a judge agrees with you. Label right verdicts as well as wrong ones.
      </p>
      {!found.keeps && <p class="warning">This browser keeps nothing for this page: export the labels before you close it.</p>}
      <p class="actions">
        <button type="button" disabled={all.length === unsure} onClick={give}>Export as JSON lines</button>
        <button type="button" disabled={!all.length} onClick={clear}>Clear all</button>
      </p>
    </section>
  );
}

// The map of a run: a cell a question, filled by how often it was right, marked by what is remarkable, brushed and opened.

import './map.css';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { BARS, BRUSHES, brushesOf, inWords, stepOf, STEPS, toggled, type Brush, type Marked } from './marks';
import { visible } from './mathematics';
import { usePlace } from './navigation';
import { Picking, Toolbar, useWidth, type Spot } from './picking';
import { percent } from './scores';

const HEAD = 24; // a line of letters above a block

// Of `address.order`.
export const ORDERS: [string, string][] = [['', 'contest and language'], ['share', 'how often right']];

interface Block {
  label: string;
  y: number;
  cells: { x: number; y: number; one: Marked }[];
}

const sizeOf = (count: number): number => (count <= 400 ? 26 : count <= 1_500 ? 18 : 13);

const collator = new Intl.Collator('en', { numeric: true });

// Where each question stands on so much width: a block a group in the order of the board, or one block from always right to never.
export function arranged(questions: readonly Marked[], order: string, width: number): { blocks: Block[]; side: number; height: number } {
  const side = sizeOf(questions.length);
  const columns = Math.max(1, Math.floor(width / side));
  let y = 0;
  const blocks = blocksOf(questions, order).map(([label, members]): Block => {
    const top = y + HEAD;
    y = top + Math.ceil(members.length / columns) * side + 6;
    const cells = members.map((one, i) => ({ x: (i % columns) * side, y: top + Math.floor(i / columns) * side, one }));
    return { label: `${label} (${members.length})`, y: top - 7, cells };
  });
  return { blocks, side, height: y };
}

function blocksOf(questions: readonly Marked[], order: string): [string, Marked[]][] {
  if (order === 'share') {
    const byShare = [...questions].sort((one, two) => two.c - one.c || collator.compare(one.uid, two.uid));
    return [['From always right to never', byShare]];
  }
  const groups = new Map<string, Marked[]>();
  for (const one of questions) groups.set(one.group, [...groups.get(one.group) ?? [], one]);
  return [...groups];
}

const idOf = ({ position }: Marked): string => `cell-${position}`;

// Strokes in a cell of side 1: a cross, a wave, a tick; in its corners a triangle, a dot, a bar.
const MIDDLE: Record<number, string> = {
  0: 'M.36 .36L.64 .64M.64 .36L.36 .64', 6: 'M.3 .52L.45 .66L.7 .36',
  ...Object.fromEntries([2, 3, 4].map((step) => [step, 'M.28 .54Q.39 .38 .5 .5T.72 .46'])),
};
const CUT = 'M.92 .92H.6L.92 .6Z';
const UNJUDGED = 'M.92 .2A.12 .12 0 1 1 .68 .2A.12 .12 0 1 1 .92 .2Z';
const LANGUAGES = 'M.08 .1H.2V.9H.08Z';

function Cell({ one, x, y, side, dim }: { one: Marked; x: number; y: number; side: number; dim: boolean }) {
  const corners = [one.cut ? CUT : '', one.unjudged ? UNJUDGED : '', one.disagrees ? LANGUAGES : ''].join('');
  return (
    <g role="option" id={idOf(one)} aria-label={`${visible(one.uid)}, ${one.c} of ${one.n}`} aria-selected="false"
      class={`cell step-${one.step}${dim ? ' dim' : ''}`} transform={`translate(${x} ${y}) scale(${side})`}>
      <Shape step={one.step} corners={corners} />
    </g>
  );
}

const Shape = ({ step, corners }: { step: number; corners: string }) => (
  <>
    <rect class="fill" x=".03" y=".03" width=".94" height=".94" rx=".1" />
    {MIDDLE[step] && <path class="stroke" d={MIDDLE[step]} />}
    {corners && <path class="corner" d={corners} />}
  </>
);

export function QuestionMap({ name, questions, picture }: {
  name: string; questions: Marked[]; picture: { current: SVGSVGElement | null };
}) {
  const { address, go } = usePlace();
  const [place, width] = useWidth(200);
  const brushes = brushesOf(address.brush);
  const { blocks, side, height } = useMemo(() => arranged(questions, address.order, width), [questions, address.order, width]);
  const cells = useMemo(() => blocks.flatMap((block) => block.cells), [blocks]);
  const spots = useMemo(() => cells.map(({ x, y, one }): Spot => ({ id: idOf(one), x, y })), [cells]);
  const drawn = useMemo(() => blocks.map((block) => (
    <g role="group" aria-label={block.label}>
      <text x="0" y={block.y} aria-hidden="true">{block.label}</text>
      {block.cells.map(({ x, y, one }) => (
        <Cell one={one} x={x} y={y} side={side} dim={!brushes.every((brush) => brush.of(one))} />
      ))}
    </g>
  )), [blocks, side, address.brush]);
  const legend = legendOf(width);
  return (
    <div class="map" ref={place}>
      <Picking label={`Questions of ${name}`} hint="Point at a cell, or move with the arrow keys; a click or Enter opens its question."
        spots={spots} open={(i) => go({ question: cells[i].one.uid })} line={(i) => visible(`${cells[i].one.group} · ${inWords(cells[i].one)}`)}>
        {(active) => (
          <svg ref={picture} role="presentation" viewBox={`0 0 ${width} ${height + legend.height}`} width={width} height={height + legend.height}>
            <g class={brushes.length ? 'brushed' : ''}>{drawn}</g>
            {active !== null && <rect class="active" x={cells[active].x} y={cells[active].y} width={side} height={side} rx="2" />}
            <g transform={`translate(0 ${height + 4})`} aria-hidden="true">{legend.drawn}</g>
          </svg>
        )}
      </Picking>
    </div>
  );
}

const LEGEND: [number, string, string][] = [
  ...STEPS.map((name, step): [number, string, string] => [step, '', name]),
  [2, CUT, 'cut off'], [2, UNJUDGED, 'unjudged'], [2, LANGUAGES, 'languages disagree'],
];

// What fills and marks mean, in lines of this width.
function legendOf(width: number) {
  let [x, y] = [0, 0];
  const drawn = LEGEND.map(([step, corners, name]) => {
    const long = 30 + 7.2 * name.length;
    if (x > 0 && x + long > width) [x, y] = [0, y + 24];
    const at = `translate(${x} ${y})`;
    x += long + 6;
    return (
      <g transform={at}>
        <g class={`cell step-${step}`} transform="scale(20)"><Shape step={corners ? 1 : step} corners={corners} /></g>
        <text x="25" y="15">{name}</text>
      </g>
    );
  });
  return { drawn, height: y + 30 };
}

// How many questions there are of each share of right samples; a bar marks its own.
export function Histogram({ questions }: { questions: Marked[] }) {
  const counts = BARS.map((bar) => questions.filter(bar.of).length);
  const most = Math.max(...counts, 1);
  return (
    <div class="histogram">
      <h3 id="histogram-title">How often right</h3>
      <Toolbar label="Questions by how often they are right" class="bars">
        {BARS.map((bar, step) => (
          <BrushButton brush={bar} class="bar plain">
            <span class="of">{STEPS[step]}</span>
            <span class="track"><span class={`length step-${step}`} style={{ width: `${(100 * counts[step]) / most}%` }} /></span>
            <span class="count">{counts[step]}<span class="unseen"> questions</span></span>
          </BrushButton>
        ))}
      </Toolbar>
    </div>
  );
}

// What can be marked in the map, and what is said of it.
export function Brushes({ questions }: { questions: Marked[] }) {
  const { address, go } = usePlace();
  const held = brushesOf(address.brush);
  const offered = BRUSHES.map((brush) => ({ brush, count: questions.filter(brush.of).length }))
    .filter(({ brush, count }) => count > 0 || held.includes(brush));
  const matching = questions.filter((one) => held.every((brush) => brush.of(one))).length;
  return (
    <>
      <Toolbar label="Mark questions" class="brushes">
        {offered.map(({ brush, count }) => <BrushButton brush={brush}>{brush.name} <span class="count">{count}</span></BrushButton>)}
        {held.length > 0 && <button type="button" onClick={() => go({ brush: '' }, true)}>mark none</button>}
      </Toolbar>
      <p id="brushed" aria-live="polite">{brushedInWords(held, matching, questions.length)}</p>
    </>
  );
}

export function brushedInWords(held: Brush[], matching: number, all: number): string {
  if (!held.length) return `${all} questions. Mark some of them with the buttons or the bars; several marks ask for all of them.`;
  return `${matching} of ${all} questions (${percent(all ? matching / all : 0, 1)} %): ${held.map(({ name }) => name).join(', and ')}.`;
}

function BrushButton({ brush, children, class: name }: { brush: Brush; children: ComponentChildren; class?: string }) {
  const { address, go } = usePlace();
  return (
    <button type="button" class={name} aria-pressed={brushesOf(address.brush).some(({ key }) => key === brush.key)}
      onClick={() => go({ brush: toggled(address.brush, brush) }, true)}>{children}</button>
  );
}

// c of n as a bar, for a row of a table.
export const ShareBar = ({ c, n }: { c: number; n: number }) => (
  <span class="share" role="img" aria-label={`${c} of ${n}`}>
    <span class={`length step-${stepOf(c, n)}`} style={{ width: `${(100 * c) / n}%` }} />
  </span>
);

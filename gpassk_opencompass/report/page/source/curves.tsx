// G-Pass@k over the threshold τ for any number of runs: six in colour, with markers; more of them in grey. Names stand at the ends.

import './curves.css';
import { useMemo, useRef } from 'preact/hooks';
import { inFull } from './board';
import { content, type Entry } from './content';
import { Downloads, type Sheet } from './downloads';
import { Folded, Footnotes, Notes, Score, Table } from './elements';
import { ends, lines, MARKERS, scales, type Frame } from './drawing';
import { useWidth } from './picking';
import { shortNames } from './runs';
import { decimal, intervalOf, levelName, percent, type Choice } from './scores';
import type { Interval } from './statistics';

// As many as there are colours and markers.
export const IN_COLOUR = 6;

interface Curve {
  name: string;
  // Place among the colours; null is grey.
  series: number | null;
  // At τ = 1/k, 2/k, …, 1: only there can the score change.
  points: (Interval & { tau: number })[];
}

export function Curves({ choice, entries }: { choice: Choice; entries: Entry[] }) {
  const { k, board } = choice;
  const able = entries.filter(({ n }) => n >= k);
  const curves = useMemo(() => curvesOf(choice, able), [choice, able.map(({ name }) => name).join('\n')]);
  const drawing = useRef<SVGSVGElement>(null);
  const title = `G-Pass@${k} over the threshold τ`;
  return (
    <section aria-labelledby="curves-title" id="curves">
      <h3 id="curves-title">{title}</h3>
      {!curves.length && <p class="note">Tick runs in the table to see their curves.</p>}
      {curves.length > 0 && <Drawing title={title} k={k} curves={curves} drawing={drawing} />}
      {curves.length > 0 && (
        <p class="note">Bands are {levelName(board)} intervals for new questions of this kind; where there is none, the line is alone.</p>
      )}
      {curves.length > IN_COLOUR && (
        <p class="note" id="in-grey">
          {curves.length} curves: the first {IN_COLOUR} that were ticked have colours, markers and bands, the other{' '}
          {curves.length - IN_COLOUR} are grey.
        </p>
      )}
      {able.length < entries.length && (
        <p class="note">
          Without a curve, with fewer than {k} samples a question: {entries.filter(({ n }) => n < k).map(({ name }) => name).join(', ')}.
        </p>
      )}
      {curves.length > 0 && <Values curves={curves} k={k} />}
      {curves.length > 0 && <Downloads sheet={() => sheetOf(choice, curves)} drawing={() => drawing.current} />}
    </section>
  );
}

function curvesOf(choice: Choice, entries: readonly Entry[]): Curve[] {
  const { k } = choice;
  const names = shortNames(choice.board.entries.map(({ run }) => content.runs[run]));
  return entries.map((entry, i) => ({
    name: names.get(content.runs[entry.run])!,
    series: i < IN_COLOUR ? i : null,
    points: Array.from({ length: k }, (_, j) => {
      const tau = (j + 1) / k;
      return { ...intervalOf(choice, entry, { family: 'G-Pass', k, tau })!, tau };
    }),
  }));
}

function Drawing({ title, k, curves, drawing }: { title: string; k: number; curves: Curve[]; drawing: { current: SVGSVGElement | null } }) {
  const [holder, width] = useWidth(280);
  const frame = scales(Math.min(WIDEST, width), curves.map(({ name }) => name));
  const last = curves.map(({ points }) => points[points.length - 1].estimate);
  const places = ends(last.map(frame.y), frame);
  const grey = curves.map((curve, i) => ({ curve, i })).sort((a, b) => Number(b.curve.series === null) - Number(a.curve.series === null));
  return (
    <div ref={holder} class="curves">
      <svg ref={drawing} viewBox={`0 0 ${frame.width} ${frame.height}`} width={frame.width} height={frame.height} role="img"
        aria-label={`${title} of ${curves.length} runs; its numbers are in the table below it`}>
        <Axes frame={frame} k={k} />
        {curves.filter(({ series }) => series !== null).map((curve) => <Band curve={curve} frame={frame} />)}
        {grey.map(({ curve, i }) => <Line curve={curve} number={i + 1} frame={frame} label={places[i]} />)}
      </svg>
    </div>
  );
}

// Wider than this a curve says no more.
const WIDEST = 1100;

const TICKS = [0, 0.25, 0.5, 0.75, 1];

function Axes({ frame: { x, y, left, bottom }, k }: { frame: Frame; k: number }) {
  const middle = (y(0) + y(1)) / 2;
  return (
    <g class="axes">
      {TICKS.map((tick) => <line class="grid" x1={x(0)} x2={x(1)} y1={y(tick)} y2={y(tick)} />)}
      {TICKS.map((tick) => <text x={left - 8} y={y(tick) + 4} text-anchor="end">{percent(tick, 0)}</text>)}
      {TICKS.map((tick) => <text x={x(tick)} y={bottom + 20} text-anchor="middle">{decimal(tick)}</text>)}
      <text x={x(0.5)} y={bottom + 42} text-anchor="middle">threshold τ</text>
      <text transform={`translate(14 ${middle}) rotate(-90)`} text-anchor="middle">G-Pass@{k}_τ in percent</text>
    </g>
  );
}

// The interval, with gaps where it is refused.
function Band({ curve: { series, points }, frame: { x, y } }: { curve: Curve; frame: Frame }) {
  const parts = lines(points, ({ refused }) => !refused).filter((part) => part.length > 1);
  const at = (part: Curve['points'], end: 'low' | 'high') => part.map((point) => `${x(point.tau).toFixed(1)},${y(point[end]!).toFixed(1)}`);
  return (
    <g class={`band series-${series}`}>
      {parts.map((part) => <polygon points={[...at(part, 'high'), ...at(part, 'low').reverse()].join(' ')} />)}
    </g>
  );
}

function Line({ curve: { name, series, points }, number, frame, label }: { curve: Curve; number: number; frame: Frame; label: number }) {
  const { x, y } = frame;
  const end = points[points.length - 1];
  // Where names stand below, grey curves are told apart by numbers, each at another place.
  const numbered = series === null && !frame.beside ? Math.floor((number * 3) % points.length) : 0;
  return (
    <g class={series === null ? 'line grey' : `line series-${series}`}>
      <title>{name}</title>
      <polyline points={points.map(({ tau, estimate }) => `${x(tau).toFixed(1)},${y(estimate).toFixed(1)}`).join(' ')} />
      {series !== null && points.map(({ tau, estimate }) =>
        <path d={MARKERS[series]} transform={`translate(${x(tau).toFixed(1)} ${y(estimate).toFixed(1)})`} />)}
      {frame.beside && <line class="lead-line" x1={x(1) + 6} x2={x(1) + 16} y1={y(end.estimate)} y2={label} />}
      {series !== null && <path d={MARKERS[series]} transform={`translate(${frame.labels - 10} ${label})`} />}
      {numbered && <text class="number" x={x(points[numbered].tau)} y={y(points[numbered].estimate) + 4} text-anchor="middle">{number}</text>}
      {numbered && <text class="number" x={frame.labels - 10} y={label + 4} text-anchor="middle">{number}</text>}
      <text x={frame.labels} y={label + 4}>{frame.short(name)}</text>
    </g>
  );
}

// Drawn when somebody opens it: it may be thousands of numbers.
function Values({ curves, k }: { curves: Curve[]; k: number }) {
  const notes = new Footnotes();
  return (
    <Folded id="curve-values" summary="The numbers of the curves">
      {() => (
        <>
          <Table caption={`G-Pass@${k}_τ in percent`} heads={['τ', ...curves.map(({ name }) => name)]}
            rows={Array.from({ length: k }, (_, j) => [`${j + 1}/${k}`, ...curves.map(({ points }) => <Score interval={points[j]} notes={notes} />)])}
            numeric={curves.map((_, i) => i + 1)} />
          <Notes notes={notes} />
        </>
      )}
    </Folded>
  );
}

// A row a point: what a plotting program takes.
const sheetOf = ({ board, k, group }: Choice, curves: Curve[]): Sheet => ({
  title: `${board.title}${group && ` ${group}`} G-Pass@${k} over τ`,
  columns: ['run', 'τ', `G-Pass@${k}_τ`, 'low', 'high', 'no interval'],
  rows: curves.flatMap(({ name, points }) => points.map((point) => [name, point.tau, ...inFull(point)])),
});

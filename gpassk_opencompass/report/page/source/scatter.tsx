// c/n of one run against c/n of another: a dot stands for all questions of the same counts, by its area.

import { useMemo } from 'preact/hooks';
import { Picking, useWidth, type Spot } from './picking';
import { dotsOf, type Dot, type Twin } from './twins';

const [LEFT, RIGHT, TOP, BOTTOM] = [52, 16, 12, 46];
const TICKS = [0, 0.25, 0.5, 0.75, 1];

interface Sides {
  twins: Twin[];
  names: [string, string];
  sizes: [number, number];
}

export function Scatter({ twins, names, sizes, picked, pick, picture }: Sides & {
  picked: string; pick: (key: string) => void; picture: { current: SVGSVGElement | null };
}) {
  const [place, width] = useWidth(240);
  const side = Math.min(width, 620) - LEFT - RIGHT;
  const dots = useMemo(() => dotsOf(twins), [twins]);
  const [x, y] = [(share: number) => LEFT + share * side, (share: number) => TOP + (1 - share) * side];
  const radius = radiusOf(dots, side, sizes);
  const spots = dots.map((dot): Spot => ({ id: `dot-${dot.key}`, x: x(dot.first / sizes[0]), y: y(dot.second / sizes[1]) }));
  return (
    <div class="scatter-and-words">
      <div ref={place}>
        <Picking label={`Questions by how often they are right, ${names[0]} against ${names[1]}`} spots={spots}
          hint="Point at a dot, or move with the arrow keys; a click or Enter lists its questions."
          open={(i) => pick(dots[i].key)} line={(i) => dotInWords(dots[i], sizes)}>
          {(active) => (
            <svg ref={picture} class="scatter" role="presentation" viewBox={`0 0 ${LEFT + side + RIGHT} ${TOP + side + BOTTOM}`}
              width={LEFT + side + RIGHT} height={TOP + side + BOTTOM}>
              <g aria-hidden="true"><Axes side={side} names={names} x={x} y={y} /></g>
              {dots.map((dot, i) => (
                <circle role="option" id={spots[i].id} aria-label={dotInWords(dot, sizes)} aria-selected={dot.key === picked ? 'true' : 'false'}
                  class={`dot${dot.key === picked ? ' picked' : ''}`} cx={spots[i].x} cy={spots[i].y} r={radius(dot.count)} />
              ))}
              {active !== null && <circle class="active" cx={spots[active].x} cy={spots[active].y} r={radius(dots[active].count) + 3} />}
            </svg>
          )}
        </Picking>
      </div>
      <Corners twins={twins} sizes={sizes} />
    </div>
  );
}

// The largest dot just does not hide its neighbours on the grid of counts, as long as it can still be seen and hit.
function radiusOf(dots: Dot[], side: number, sizes: [number, number]): (count: number) => number {
  const most = Math.max(1, ...dots.map(({ count }) => count));
  const largest = Math.min(22, Math.max(9, (0.62 * side) / Math.max(...sizes)));
  return (count) => Math.max(2.5, largest * Math.sqrt(count / most));
}

const dotInWords = ({ first, second, count }: Dot, [n, m]: [number, number]): string =>
  `${count === 1 ? '1 question' : `${count} questions`}: first ${first} of ${n} right, second ${second} of ${m}`;

const short = (name: string, side: number): string => {
  const fits = Math.max(12, Math.floor(side / 7.5) - 16);
  return name.length > fits ? `${name.slice(0, fits - 1)}…` : name;
};

function Axes({ side, names, x, y }: { side: number; names: [string, string]; x: (share: number) => number; y: (share: number) => number }) {
  return (
    <>
      <rect class="half" x={x(0)} y={y(1)} width={side / 2} height={side / 2} />
      <rect class="half" x={x(0.5)} y={y(0.5)} width={side / 2} height={side / 2} />
      {TICKS.map((share) => (
        <>
          <line class="grid" x1={x(share)} x2={x(share)} y1={y(0)} y2={y(1)} />
          <line class="grid" x1={x(0)} x2={x(1)} y1={y(share)} y2={y(share)} />
          <text x={x(share)} y={y(0) + 17} text-anchor="middle">{100 * share}</text>
          <text x={x(0) - 7} y={y(share) + 4} text-anchor="end">{100 * share}</text>
        </>
      ))}
      <line class="diagonal" x1={x(0)} y1={y(0)} x2={x(1)} y2={y(1)} />
      <text x={x(0) + 8} y={y(1) + 18}>second more often right</text>
      <text x={x(1) - 8} y={y(0) - 9} text-anchor="end">first more often right</text>
      <text class="axis" x={x(0.5)} y={y(0) + 38} text-anchor="middle">first: {short(names[0], side)}, % right</text>
      <text class="axis" transform={`translate(13 ${y(0.5)}) rotate(-90)`} text-anchor="middle">second: {short(names[1], side)}, % right</text>
    </>
  );
}

// What the corners of the drawing mean, and how much is in each.
function Corners({ twins, sizes }: { twins: Twin[]; sizes: [number, number] }) {
  const count = (first: boolean, second: boolean) =>
    twins.filter((twin) => (2 * twin.first > sizes[0]) === first && (2 * twin.second > sizes[1]) === second).length;
  const corners: [string, string, number][] = [
    ['top right', 'both', count(true, true)],
    ['bottom right', 'only the first', count(true, false)],
    ['top left', 'only the second', count(false, true)],
    ['bottom left', 'neither', count(false, false)],
  ];
  return (
    <div class="corners">
      <p class="note">A dot stands for all questions of the same counts, by its area; on the dashed line both are as often right.</p>
      <table>
        <caption><span>Questions by corner: which of the two is right in more than half of its samples</span></caption>
        <thead><tr><th scope="col">Corner</th><th scope="col">Mostly right</th><th scope="col" class="number">Questions</th></tr></thead>
        <tbody>
          {corners.map(([where, what, many]) => <tr><th scope="row">{where}</th><td>{what}</td><td class="number">{many}</td></tr>)}
        </tbody>
      </table>
    </div>
  );
}

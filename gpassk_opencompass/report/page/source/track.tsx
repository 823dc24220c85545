// A run on a scale from 0 to 100: mG-Pass@k with its interval as a bar, and below it greedy accuracy and G-Pass@k_1.0 as the two
// ends of a dumbbell. Shapes tell them apart, colours only help.

import './track.css';
import type { Entry } from './content';
import { greedyInterval, intervalOf, levelName, metricName, percent, scoreMetric, stable, type Choice } from './scores';
import type { Interval } from './statistics';

const WIDTH = 120;
const EDGE = 6;
const HEIGHT = 28;
const at = (value: number): number => EDGE + value * (WIDTH - 2 * EDGE);

export interface Standing {
  score: Interval | null;
  stable: Interval | null;
  greedy: Interval | null;
}

export const standingIn = (choice: Choice, entry: Entry): Standing => ({
  score: intervalOf(choice, entry, scoreMetric(choice.k)),
  stable: intervalOf(choice, entry, stable(choice.k)),
  greedy: greedyInterval(choice, entry),
});

export function Track({ choice, standing }: { choice: Choice; standing: Standing }) {
  return (
    <svg class="track" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} role="img" aria-label={inWords(choice, standing)}>
      <title>{inWords(choice, standing)}</title>
      {[0, 0.5, 1].map((tick) => <line class="grid" x1={at(tick)} x2={at(tick)} y1={0} y2={HEIGHT} />)}
      <Bar interval={standing.score} />
      <Dumbbell {...standing} />
    </svg>
  );
}

function Bar({ interval }: { interval: Interval | null }) {
  if (!interval) return null;
  const { estimate, low, high } = interval;
  return (
    <g class="bar">
      {low !== undefined && <rect x={at(low)} y={5} width={at(high) - at(low)} height={6} rx={3} />}
      <circle cx={at(estimate)} cy={8} r={3.5} />
    </g>
  );
}

function Dumbbell({ greedy, stable: all }: { greedy: Interval | null; stable: Interval | null }) {
  return (
    <g class="dumbbell">
      {greedy && all && <line x1={at(greedy.estimate)} x2={at(all.estimate)} y1={20} y2={20} />}
      {all && <path d="M0-4.5 4.5 0 0 4.5-4.5 0z" transform={`translate(${at(all.estimate).toFixed(1)} 20)`} />}
      {greedy && <circle cx={at(greedy.estimate)} cy={20} r={3.5} />}
    </g>
  );
}

export function inWords({ k, board }: Choice, { score, stable: all, greedy }: Standing): string {
  const range = ({ low, high }: Interval) => `${levelName(board)} from ${percent(low!, 1)} to ${percent(high!, 1)}`;
  const parts = [
    score && `${metricName(scoreMetric(k))} ${percent(score.estimate)}`,
    score && (score.refused ? `no interval: ${score.refused}` : range(score)),
    greedy && `greedy ${percent(greedy.estimate)}`,
    all && k > 1 && `${metricName(stable(k))} ${percent(all.estimate)}`,
  ];
  return parts.filter(Boolean).join(', ') || `fewer than ${k} samples a question`;
}

// The scale above a column of tracks.
export function Scale() {
  return (
    <svg class="track" viewBox={`0 0 ${WIDTH} 14`} width={WIDTH} height={14} aria-hidden="true">
      {[0, 0.5, 1].map((tick) => <text x={at(tick)} y={11} text-anchor="middle">{100 * tick}</text>)}
    </svg>
  );
}

// What is what in a track.
export function Key({ k, level }: { k: number | null; level: string }) {
  const of = k === null ? 'k' : String(k);
  return (
    <ul class="key" aria-label="Key">
      <li><Sample><g class="bar"><rect x={4} y={4} width={32} height={6} rx={3} /><circle cx={18} cy={7} r={3.5} /></g></Sample>
        {k === 1 ? 'G-Pass@1' : `mG-Pass@${of}`} with its {level} interval</li>
      <li><Sample><g class="dumbbell"><circle cx={20} cy={7} r={3.5} /></g></Sample>greedy accuracy</li>
      <li><Sample><g class="dumbbell"><path d="M0-4.5 4.5 0 0 4.5-4.5 0z" transform="translate(20 7)" /></g></Sample>
        G-Pass@{of}_1.0: {k === 1 ? 'right' : `all ${of === 'k' ? 'k' : of} answers right`}</li>
      <li><span class="rank-key">1–3</span> ranks that the data allow, of all runs at once</li>
    </ul>
  );
}

const Sample = ({ children }: { children: preact.ComponentChildren }) =>
  <svg class="track" viewBox="0 0 40 14" width={40} height={14} aria-hidden="true">{children}</svg>;

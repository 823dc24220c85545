import assert from 'node:assert/strict';
import test from 'node:test';
import { BARS, BRUSHES, brushesOf, disagreements, stepOf, toggled, type Marked } from '../marks';

const question = (c: number, n: number): Marked =>
  ({ position: 0, uid: 'q', group: 'g', c, n, step: stepOf(c, n), cut: null, unjudged: 0, disagrees: false });

const brush = (key: string) => [...BRUSHES, ...BARS].find((one) => one.key === key)!;

test('every count has one bar, higher counts never a lower one, and both ends stand alone', () => {
  for (let n = 1; n <= 100; n++) {
    const steps = Array.from({ length: n + 1 }, (_, c) => stepOf(c, n));
    for (let c = 0; c <= n; c++) {
      assert.equal(BARS.filter((bar) => bar.of(question(c, n))).length, 1);
      assert.equal(steps[c], 6 - steps[n - c], `${c} of ${n} is not as seen from the other end`);
      assert.equal(steps[c] === 0, c === 0);
      assert.ok(c === 0 || steps[c] >= steps[c - 1]);
    }
  }
});

test('unstable is from 20 to 80 %, both included, in whole numbers', () => {
  for (let n = 2; n <= 100; n++) {
    for (let c = 0; c <= n; c++) assert.equal(brush('unstable').of(question(c, n)), 10 * c >= 2 * n && 10 * c <= 8 * n && c > 0 && c < n);
  }
});

test('marks of one kind replace each other, others add up, and what is unknown is left out', () => {
  assert.equal(toggled('', brush('unstable')), 'unstable');
  assert.equal(toggled('unstable', brush('cut')), 'unstable,cut');
  assert.equal(toggled('unstable,cut', brush('never')), 'cut,never');
  assert.equal(toggled('cut,share-3', brush('share-3')), 'cut');
  assert.deepEqual(brushesOf('nonsense,cut').map(({ key }) => key), ['cut']);
});

test('languages disagree where the same problem in another group is away by half of the samples', () => {
  const problem = [0, 0, 1, 1, 2, 2, 3];
  const group = [0, 1, 0, 1, 0, 0, 0];
  assert.deepEqual(disagreements(problem, group, [8, 4, 8, 5, 8, 0, 0], 8), [true, true, false, false, false, false, false]);
});

test('of several questions of a problem the one that is away counts', () => {
  assert.deepEqual(disagreements([0, 0, 0], [0, 1, 1], [0, 1, 9], 10), [true, false, true]);
});

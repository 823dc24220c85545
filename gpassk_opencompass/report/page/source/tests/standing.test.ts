import assert from 'node:assert/strict';
import test from 'node:test';
import { sentenceOf, standingOf } from '../standing';

const names = (letters: string) => [...letters].map((name) => ({ model: name, name }));
const told = (better: string[], scores: number[], runs = names('ABCDEFGH').slice(0, scores.length)) =>
  sentenceOf(standingOf({ better }, scores), 'X', runs).map(({ text }) => text).join('');

test('the sentence says what the ranks allow', () => {
  assert.equal(told(['0'], [0.5]), 'Only A was run on X.');
  assert.equal(told(['00', '00'], [0.5, 0.4]), 'A and B cannot be told apart on X.');
  assert.equal(told(['000', '000', '000'], [0.5, 0.4, 0.3]), 'No run can be told from the others on X.');
  assert.equal(told(['0001', '0000', '0000', '0000'], [0.5, 0.4, 0.3, 0.2]), 'A leads X; B and C cannot be told from it.');
  assert.equal(told(['011', '000', '000'], [0.5, 0.4, 0.3]), 'A leads X: all 2 others can be told from it.');
  assert.equal(told(['01', '00'], [0.5, 0.4]), 'A leads X: the other run can be told from it.');
  assert.equal(told(['000', '001', '000'], [0.5, 0.4, 0.3]), 'A has the highest score on X, but no run can be told from it.');
});

test('many runs are a count, and equal scores are no lead', () => {
  assert.equal(told(['000001', ...Array(5).fill('000000')], [6, 5, 4, 3, 2, 1]), 'A leads X; 4 of 5 others cannot be told from it.');
  assert.equal(told(['0011', '0001', '0000', '0000'], [0.5, 0.5, 0.3, 0.2]),
    'A and B share the highest score on X; C cannot be told from each of them.');
  assert.equal(told([...Array(4).fill('00001'), '00000'], [1, 1, 1, 1, 0]),
    '4 runs share the highest score on X: the other run can be told from each of them.');
});

test('runs of the model that leads are called by their settings', () => {
  const runs = [0.3, 0.4, 0.5].map((t) => ({ model: 'M', name: `M (temperature ${t})` }));
  assert.equal(told(['001', '000', '000'], [0.5, 0.4, 0.3], runs),
    'M (temperature 0.3) leads X; its run with temperature 0.4 cannot be told from it.');
});

test('no sentence contradicts a rank set', () => {
  let state = 7;
  const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
  for (let round = 0; round < 500; round++) {
    const size = 1 + Math.floor(random() * 7);
    const scores = Array.from({ length: size }, () => Math.round(10 * random()) / 10).sort((a, b) => b - a);
    const better = scores.map((a) => scores.map((b) => (a > b && random() < a - b + 0.2 ? '1' : '0')).join(''));
    const best = scores.map((_, j) => 1 + better.filter((row) => row[j] === '1').length);
    const worst = scores.map((_, i) => size - [...better[i]].filter((one) => one === '1').length);
    const { kind, leaders, tied } = standingOf({ better }, scores);
    for (const leader of leaders) assert.equal(best[leader], 1);
    if (leaders.length === 1) assert.equal(tied.length, worst[leaders[0]] - 1);
    scores.forEach((_, i) => assert.ok(best[i] > 1 || leaders.includes(i) || tied.includes(i)));
    assert.equal(kind === 'none' || kind === 'alone', best.every((rank) => rank === 1) && worst.every((rank) => rank === size));
  }
});

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Run } from '../content';
import { ends, lines, scales } from '../drawing';
import { isKept, settingsOf, shortNames, sortKeys, valuesOf, withValue } from '../runs';

const run = (model: string, settings: Run['settings'], host = 'opencompass'): Run =>
  ({ name: [model, ...Object.entries(settings).map(([key, value]) => `${key}${value}`)].join('_'), model, settings, host });

test('settings that differ are apart from those that all have, in the order of names', () => {
  const same = { top_p: 1, max_out_len: 99 };
  const runs = [run('a', { max_out_len: 99, temperature: 0.3, top_p: 1 }), run('b', { temperature: 1, ...same }), run('c', same)];
  assert.deepEqual(settingsOf(runs), { differ: ['temperature'], same: [['top_p', 1], ['max_out_len', 99]] });
  assert.deepEqual(valuesOf(runs, 'temperature'), [0.3, 1, null]);
  assert.deepEqual(settingsOf([...runs, run('c', { top_p: 1, max_out_len: 99 }, 'lighteval')]).differ, ['temperature', 'host']);
});

test('a short name has the settings in which runs of its model differ, and none is given twice', () => {
  const runs = [run('a', { temperature: 0.3, top_p: 1 }), run('a', { temperature: 1, top_p: 1 }), run('b', { temperature: 1, top_p: 0.9 })];
  assert.deepEqual([...shortNames(runs).values()], ['a (temperature 0.3)', 'a (temperature 1)', 'b']);
  const same = [run('a', {}), { ...run('a', {}), name: 'a again' }];
  assert.deepEqual([...shortNames(same).values()], ['a', 'a again']);
});

test('a run is kept that has all words, and a value of every filter', () => {
  const one = run('数学模型-7B', { temperature: 0.3 });
  assert.ok(isKept(one, { words: ' 7b 数学 ', filters: { temperature: ['1', '0.3'] } }));
  assert.ok(!isKept(one, { words: '7b 8b', filters: {} }));
  assert.ok(!isKept(one, { words: '', filters: { temperature: ['1'] } }));
  assert.ok(isKept(one, { words: '', filters: { top_p: ['not set'], temperature: [] } }));
});

test('a filter without a value is none', () => {
  const one = withValue({}, 'temperature', '0.3', true);
  assert.deepEqual(withValue(one, 'temperature', '1', true), { temperature: ['0.3', '1'] });
  assert.deepEqual(withValue(one, 'temperature', '0.3', false), {});
});

test('what every object has is no setting of a run', () => {
  for (const name of ['constructor', '__proto__', 'toString']) {
    assert.deepEqual(valuesOf([run('a', {})], name), [null]);
    assert.ok(isKept(run('a', {}), { words: '', filters: { [name]: ['not set'] } }));
    const one = withValue({}, name, 'x', true);
    assert.deepEqual(Object.entries(one), [[name, ['x']]]);
    assert.deepEqual(Object.entries(withValue(one, name, 'x', false)), []);
  }
});

test('a column of numbers is sorted as numbers, one with texts as texts', () => {
  const runs = [run('a', { run: 'x', top_k: 9 }), run('b', { run: 2, top_k: 50 }), run('c', {})];
  assert.deepEqual(runs.map(sortKeys(runs, 'run')), ['x', '2', null]);
  assert.deepEqual(runs.map(sortKeys(runs, 'top_k')), [9, 50, null]);
});

test('names at the ends of curves keep apart and stay in the picture, in the order of the ends', () => {
  for (const count of [1, 7, 40]) {
    const names = Array.from({ length: count }, (_, i) => `run ${i}`);
    const frame = scales(900, names);
    const wanted = names.map((_, i) => frame.y(((i * 37) % 10) / 100));
    const places = ends(wanted, frame);
    const order = [...places].sort((a, b) => a - b);
    order.slice(1).forEach((place, i) => assert.ok(place - order[i] >= 16 - 1e-9));
    assert.ok(order[0] >= frame.top && order[count - 1] <= frame.bottom + 1e-9);
    wanted.forEach((a, i) => wanted.forEach((b, j) => assert.ok(a >= b || places[i] < places[j])));
  }
});

test('a narrow drawing has names below it, and long ones are cut in the middle', () => {
  const name = `${'x'.repeat(90)} (temperature 0.3)`;
  const frame = scales(340, [name, 'b']);
  assert.ok(!frame.beside && ends([5, 6], frame)[1] < frame.height);
  assert.match(frame.short(name), /^x+….*temperature 0\.3\)$/);
  assert.equal(frame.short('b'), 'b');
});

test('a list is parted where something is missing', () => {
  assert.deepEqual(lines([1, 2, 0, 3, 0], Boolean), [[1, 2], [3], []]);
});

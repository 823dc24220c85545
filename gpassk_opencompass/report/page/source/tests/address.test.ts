import assert from 'node:assert/strict';
import test from 'node:test';
import { HOME, read, thresholds, write, type Address } from '../address';

const EVERYTHING: Address = {
  board: 'LiveMathBench-v202412 (part 2)', run: '数学模型 & co = #1', with: 'b%20', withBoard: 'AIME', question: 'AMC_cn/1?',
  samples: ['3', 'greedy'], k: 7, taus: [0, 0.28, 1], group: 'AMC_cn', metric: 'mG-Pass@7', words: 'a+b c', sort: 'tau 0.5',
  descending: false, filters: { temperature: ['0.3', '1'], model: ['a&b'] }, curves: ['x', 'y'], brush: 'cut off', order: 'c', named: 'AMC', sorted: '-c',
};

test('what is written is read back, whatever the names hold', () => {
  assert.deepEqual(read(write(EVERYTHING)), EVERYTHING);
  assert.deepEqual(read(write(HOME)), HOME);
  assert.equal(write(HOME), '#');
});

test('no curves are another choice than the usual ones', () => {
  assert.deepEqual(read(write({ ...HOME, curves: [] })).curves, []);
  assert.equal(read('').curves, null);
});

test('what makes no sense is as if it were not there', () => {
  for (const hash of ['#k=-1&tau=2', '#k=x&tau=', '#%E0%A4%A', '#=&&&', '#main']) assert.deepEqual(read(hash), HOME);
});

test('a filter may be called as what every object has', () => {
  const names = ['__proto__', 'constructor', 'toString'];
  const { filters } = read(`#${names.map((name) => `only.${name}=1&only.${name}=2`).join('&')}`);
  assert.deepEqual(Object.entries(filters), names.map((name) => [name, ['1', '2']]));
  assert.deepEqual(read(write({ ...HOME, filters })).filters, filters);
});

test('thresholds are numbers from 0 to 1, each once', () => {
  assert.deepEqual(thresholds('0.5, 1;1 0.75'), [0.5, 1, 0.75]);
  for (const text of ['', 'a', '1.1', '-0.1', '0.1 '.repeat(12)]) assert.equal(thresholds(text), null);
});

import './page';
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Board, Entry, Run, Sample } from '../content';
import { isListed, settingsOf } from '../leaderboard';
import { partingInWords, toggled } from '../pair';
import { read, write, type Address } from '../place';
import { clustersOf } from '../question';
import { questionsOf, stepOf } from '../run';
import { sorted } from '../widgets';

const HOME = read('');

test('what is written to the address is read back, whatever the names hold', () => {
  const everything: Address = {
    board: 'LiveMathBench-v202412 (part 2)', run: '数学模型 & co = #1', with: 'b%20', withBoard: 'AIME', question: 'AMC_cn/1?',
    samples: ['3', 'greedy'],
    words: 'a+b c', sort: '-mG-Pass@7', marks: 'cut,never', order: 'share', named: 'AMC',
    only: { temperature: ['0.3', '1'], model: ['a&b'] },
  };
  assert.deepEqual(read(write(everything)), everything);
  assert.equal(write(HOME), '#');
  for (const hash of ['#%E0%A4%A', '#=&&&', '#main']) assert.deepEqual(read(hash), HOME);
  const names = ['__proto__', 'constructor', 'toString'];
  const { only } = read(`#${names.map((name) => `only.${name}=1&only.${name}=2`).join('&')}`);
  assert.deepEqual(Object.entries(only), names.map((name) => [name, ['1', '2']]));
});

const run = (model: string, settings: Run['settings'], host = 'opencompass'): Run => ({ name: model, model, settings, host,
  average: null });

test('settings that differ are apart from those that all have, in the order of names', () => {
  const runs = [run('a', { max_out_len: 99, temperature: 0.3, top_p: 1 }), run('b', { temperature: 1, top_p: 1, max_out_len: 99 }),
    run('c', { top_p: 1, max_out_len: 99 })];
  assert.deepEqual(settingsOf(runs), { differ: ['temperature'], same: ['top_p', 'max_out_len'] });
  assert.deepEqual(settingsOf([...runs, run('c', {}, 'lighteval')]).differ, ['temperature', 'top_p', 'max_out_len', 'host']);
});

test('a run is listed that has all words, and a value of every filter; what every object has is no setting', () => {
  const one = run('数学模型-7B', { temperature: 0.3 });
  assert.ok(isListed(one, { words: ' 7b 数学 ', only: { temperature: ['1', '0.3'], top_p: ['not set'] } }));
  assert.ok(!isListed(one, { words: '7b 8b', only: {} }));
  assert.ok(!isListed(one, { words: '', only: { temperature: ['1'] } }));
  for (const name of ['constructor', '__proto__', 'toString']) assert.ok(isListed(one, { words: '', only: Object.fromEntries([[name,
    ['not set']]]) }));
});

test('rows are sorted by size or as people order names, what is missing last either way', () => {
  const by = (one: number | string | null) => one;
  assert.deepEqual(sorted([2, null, 10, 9], by, true), [10, 9, 2, null]);
  assert.deepEqual(sorted([2, null, 10, 9], by, false), [2, 9, 10, null]);
  assert.deepEqual(sorted(['a10', 'a9', null], by, false), ['a9', 'a10', null]);
});

test('every count has one step, higher counts never a lower one, the same seen from either end, and both ends stand alone', () => {
  for (let n = 1; n <= 100; n++) {
    const steps = Array.from({ length: n + 1 }, (_, c) => stepOf(c, n));
    steps.forEach((step, c) => {
      assert.equal(step, 6 - steps[n - c], `${c} of ${n}`);
      assert.equal(step === 0, c === 0);
      assert.ok(c === 0 || step >= steps[c - 1]);
    });
  }
});

test('languages disagree where the same problem in another group is away by half of the samples', () => {
  const board = (problem: number[], group: number[]) => ({ uids: problem.map((_, i) => `q${i}`), groups: ['cn', 'en'], group,
    problem }) as Board;
  const disagrees = (one: Board, c: number[], n: number) => questionsOf(one, { c, n, cut: [], unjudged: [] } as unknown as Entry,
    null).map((question) => question.disagrees);
  const four = board([0, 0, 1, 1, 2, 2, 3], [0, 1, 0, 1, 0, 0, 0]);
  assert.deepEqual(disagrees(four, [8, 4, 8, 5, 8, 0, 0], 8), [true, true, false, false, false, false, false]);
  assert.deepEqual(disagrees(board([0, 0, 0], [0, 1, 1]), [0, 1, 9], 10), [true, false, true]);
});

test('samples with the same answer, verdict and judge are one, the most frequent first', () => {
  const sample = (key: string, answer: string, verdict: '0' | '1', who = 'rule'): Sample => ({ key, answer, verdict, who, cut: false,
    state: '', told: null });
  const found = clustersOf([sample('0', '4', '1'), sample('1', '5', '0'), sample('2', '5', '0'), sample('3', '4', '1', 'llm')]);
  assert.deepEqual(found.map(({ samples }) => samples.map(({ key }) => key)), [['1', '2'], ['0'], ['3']]);
});

test('of two open samples the later one makes room for a third', () => {
  assert.deepEqual(toggled(['1'], '2'), ['1', '2']);
  assert.deepEqual(toggled(['1', '2'], '3'), ['1', '3']);
  assert.deepEqual(toggled(['1', '2'], '1'), ['2']);
});

test('how two responses compare is said', () => {
  const said = (one: string, two: string, at: number | null) => partingInWords({ thought: '', said: one }, { thought: '', said: two },
    { thought: null, said: at });
  assert.equal(said('same', 'same', null), 'The responses are identical.');
  assert.match(said('so it', 'so it is', 5), /^Of the responses, the first is the beginning of the second/);
  assert.match(said('so', '', 0), /^Of the responses, the second is the beginning of the first/);
  assert.equal(said('one', 'two', 0), 'The responses differ from the first word.');
  assert.equal(said('a b', 'a c', 2), 'The responses part after 2 characters.');
});

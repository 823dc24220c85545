import assert from 'node:assert/strict';
import test from 'node:test';
import { answerPlace, divergence, wordAt } from '../divergence';

test('equal texts are identical, also empty ones', () => {
  assert.deepEqual(divergence('', ''), { kind: 'identical' });
  assert.deepEqual(divergence('so 四2', 'so 四2'), { kind: 'identical' });
});

test('one may be the beginning of the other', () => {
  assert.deepEqual(divergence('so it', 'so it is'), { kind: 'beginning', shorter: 0, at: 5 });
  assert.deepEqual(divergence('so', ''), { kind: 'beginning', shorter: 1, at: 0 });
});

test('texts part at the start of a word', () => {
  assert.deepEqual(divergence('we take x = 12', 'we take x = 17'), { kind: 'apart', at: 12 });
  assert.deepEqual(divergence('with \\frac12', 'with \\frown'), { kind: 'apart', at: 5 });
  assert.deepEqual(divergence('a', 'b'), { kind: 'apart', at: 0 });
});

test('Chinese parts at the character, a long word where it differs', () => {
  assert.deepEqual(divergence('答案是三', '答案是四'), { kind: 'apart', at: 3 });
  const word = 'w'.repeat(5000);
  assert.deepEqual(divergence(`${word}a`, `${word}b`), { kind: 'apart', at: 5000 });
});

test('no character is cut in two', () => {
  const found = divergence('x 😀', 'x 😁'); // they share their first half
  assert.deepEqual(found, { kind: 'apart', at: 2 });
});

test('a random pair of texts shares all before the place, and differs in the word there', () => {
  let seed = 7;
  const draw = (n: number) => { seed = (seed * 48271) % 2147483647; return seed % n; };
  const made = (length: number) => Array.from({ length }, () => [...'ab 四\n😀'][draw(6)]).join('');
  for (let round = 0; round < 3000; round += 1) {
    const [start, first, second] = [made(draw(30)), made(draw(5)), made(draw(5))];
    const [one, two] = [start + first, start + second];
    const found = divergence(one, two);
    assert.equal(found.kind === 'identical', one === two);
    if (found.kind === 'identical') continue;
    assert.equal(one.slice(0, found.at), two.slice(0, found.at));
    if (found.kind === 'beginning') assert.equal(found.at, Math.min(one.length, two.length));
    else assert.notEqual(one.slice(found.at), two.slice(found.at));
  }
});

test('a marked word is the one at the place', () => {
  const text = 'take twelve apples';
  assert.equal(text.slice(...Object.values(wordAt(text, 5)) as [number, number]), 'twelve');
  assert.deepEqual(wordAt(text, text.length), { from: text.length, to: text.length });
});

test('the answer is found in the last box, else where it stands last', () => {
  const found = (text: string, answer: string) => {
    const place = answerPlace(text, answer);
    return place && text.slice(place.from, place.to);
  };
  assert.equal(found('so \\boxed{42} and 42 again', '42'), '\\boxed{42}');
  assert.deepEqual(answerPlace('42, no \\boxed{41}, yes \\boxed{ 42 }.', '42'), { from: 23, to: 35 });
  assert.equal(found('\\boxed{\\frac{1}{2}}', '\\frac{1}{2}'), '\\boxed{\\frac{1}{2}}');
  assert.deepEqual(answerPlace('4, 42, 4 and 424', '4'), { from: 7, to: 8 });
  assert.equal(found('答案是三。', '三'), '三');
  assert.equal(found('nothing', '4'), null);
  assert.equal(found('nothing', ''), null);
});

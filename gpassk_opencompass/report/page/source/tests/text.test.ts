import assert from 'node:assert/strict';
import test from 'node:test';
import { answerPlace, parting, pieces, slices, visible, wordAt, type Piece } from '../text';

// Each piece of a text as it was written.
const sources = (cut: Piece[]): string[] => cut.map((piece) => (typeof piece === 'string' ? piece : piece.source));

const TEXTS = {
  word: 'w'.repeat(30_000), emoji: `x${'😀'.repeat(15_000)}`, lines: 'a line of words\n'.repeat(2_000),
  formulas: 'so $x^2$ and\n\\[\n y \\]\n'.repeat(1_500),
  'long formulas': `$$${'x + '.repeat(480)}y$$ `.repeat(15), openings: '\\(\\[$$$'.repeat(3_000),
    mixed: `${'z'.repeat(2_990)}$\\frac{1}{2}$ end`,
};

test('slices are the whole text, none of them long, and no formula or character is cut', () => {
  for (const [name, text] of Object.entries(TEXTS)) {
    const found = slices(text);
    assert.equal(found.flatMap(sources).join(''), text, name);
    for (const slice of found) {
      const source = sources(slice).join('');
      assert.ok(source.length > 0 && source.length <= 5_100, name);
      assert.doesNotMatch(source, /[\ud800-\udfff]/u);
    }
    const formulas = pieces(text).filter((piece) => typeof piece !== 'string');
    assert.deepEqual(found.flat().filter((piece) => typeof piece !== 'string'), formulas);
  }
  for (const slice of slices(TEXTS.lines)) assert.match(sources(slice).join(''), /\n$/);
});

test('what steers and cannot be seen is made visible', () => {
  assert.equal(visible('a\u202eb\u0007\tc\r\n\u{e0041}\ud800😀'), 'a⟨U+202E⟩b⟨U+0007⟩\tc\n⟨U+E0041⟩⟨U+D800⟩😀');
});

test('an answer without delimiters is a formula where it is no sentence', () => {
  const latex = (text: string) => pieces(text, true).map((piece) => (typeof piece === 'string' ? null : piece.latex));
  assert.deepEqual(latex('\\frac{1}{2}'), ['\\frac{1}{2}']);
  assert.deepEqual(latex('$ \\frac{1}{2} $'), [' \\frac{1}{2} ']);
  assert.deepEqual(latex('x = 1 \\text{ or else it may be } x = 2'), ['x = 1 \\text{ or else it may be } x = 2']);
  for (const text of ['the last digit is then \\boxed{4} as said', 'two', '$5 and $6']) assert.deepEqual(latex(text), [null]);
});

test('texts part at the start of a word, in Chinese at the character, in a long word where it differs', () => {
  assert.equal(parting('so 四2', 'so 四2'), null);
  assert.equal(parting('', ''), null);
  assert.equal(parting('so it', 'so it is'), 5);
  assert.equal(parting('so', ''), 0);
  assert.equal(parting('we take x = 12', 'we take x = 17'), 12);
  assert.equal(parting('with \\frac12', 'with \\frown'), 5);
  assert.equal(parting('答案是三', '答案是四'), 3);
  assert.equal(parting('x 😀', 'x 😁'), 2); // they share their first half
  const word = 'w'.repeat(5000);
  assert.equal(parting(`${word}a`, `${word}b`), 5000);
});

test('a random pair of texts shares all before the place, and differs in the word there', () => {
  let seed = 7;
  const draw = (n: number) => { seed = (seed * 48271) % 2147483647; return seed % n; };
  const made = (length: number) => Array.from({ length }, () => [...'ab 四\n😀'][draw(6)]).join('');
  for (let round = 0; round < 3000; round += 1) {
    const start = made(draw(30));
    const [one, two] = [start + made(draw(5)), start + made(draw(5))];
    const at = parting(one, two);
    assert.equal(at === null, one === two);
    if (at === null) continue;
    assert.equal(one.slice(0, at), two.slice(0, at));
    assert.notEqual(one.slice(at), two.slice(at));
  }
});

test('a marked word is the one at the place', () => {
  const text = 'take twelve apples';
  const { from, to } = wordAt(text, 5);
  assert.equal(text.slice(from, to), 'twelve');
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

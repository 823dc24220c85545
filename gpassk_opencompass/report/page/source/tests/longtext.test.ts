import assert from 'node:assert/strict';
import test from 'node:test';
import { sliceOf } from '../longtext';
import { parts, visible } from '../mathematics';

// Each piece of a text as it was written.
const sources = (pieces: ReturnType<typeof parts>): string[] => pieces.map((piece) => (typeof piece === 'string' ? piece : piece.source));

function slices(text: string): { to: number; pieces: ReturnType<typeof parts> }[] {
  const found = [];
  for (let at = 0; at < text.length; at = found[found.length - 1].to) found.push(sliceOf(text, at));
  return found;
}

const TEXTS = {
  word: 'w'.repeat(100_000), emoji: `x${'😀'.repeat(20_000)}`, lines: 'a line of words\n'.repeat(3_000),
  formulas: 'so $x^2$ and\n\\[\n y \\]\n'.repeat(2_000),
  'long formulas': `$$${'x + '.repeat(480)}y$$ `.repeat(30), openings: '\\(\\[$$$'.repeat(3_000), mixed: `${'z'.repeat(2_990)}$\\frac{1}{2}$ end`,
};

test('slices are the whole text, none of them long', () => {
  for (const [name, text] of Object.entries(TEXTS)) {
    const found = slices(text);
    assert.equal(found.flatMap(({ pieces }) => sources(pieces)).join(''), text, name);
    let at = 0;
    for (const { to, pieces } of found) {
      assert.ok(to - at <= 5_100 && pieces.length, name);
      at = to;
    }
  }
});

test('a slice ends at the end of a line where there is one', () => {
  for (const name of ['lines', 'formulas'] as const) {
    for (const { to } of slices(TEXTS[name])) assert.equal(TEXTS[name][to - 1], '\n');
  }
});

test('no formula and no character is cut', () => {
  for (const name of ['formulas', 'long formulas', 'mixed'] as const) {
    const whole = parts(TEXTS[name]).filter((piece) => typeof piece !== 'string');
    assert.deepEqual(slices(TEXTS[name]).flatMap(({ pieces }) => pieces).filter((piece) => typeof piece !== 'string'), whole);
  }
  for (const { pieces } of slices(TEXTS.emoji)) assert.doesNotMatch(sources(pieces).join(''), /[\ud800-\udfff]/u);
});

test('openings of formulas without an end take no long', () => {
  const text = '\\['.repeat(500_000) + '\\('.repeat(10);
  const before = performance.now();
  for (let at = 0, times = 0; at < text.length && times < 5; times += 1) at = sliceOf(text, at).to;
  assert.ok(performance.now() - before < 1_000);
});

test('what steers and cannot be seen is made visible', () => {
  assert.equal(visible('a\u202eb\u0007\tc\r\n\u{e0041}\ud800😀'), 'a⟨U+202E⟩b⟨U+0007⟩\tc\n⟨U+E0041⟩⟨U+D800⟩😀');
});

test('an answer without delimiters is a formula where it is no sentence', () => {
  const latex = (text: string) => parts(text, true).map((piece) => (typeof piece === 'string' ? null : piece.latex));
  assert.deepEqual(latex('\\frac{1}{2}'), ['\\frac{1}{2}']);
  assert.deepEqual(latex('$ \\frac{1}{2} $'), [' \\frac{1}{2} ']);
  assert.deepEqual(latex('x = 1 \\text{ or else it may be } x = 2'), ['x = 1 \\text{ or else it may be } x = 2']);
  assert.deepEqual(latex('the last digit is then \\boxed{4} as said'), [null]);
  assert.deepEqual(latex('x^2'), ['x^2']);
  assert.deepEqual(latex('two'), [null]);
});

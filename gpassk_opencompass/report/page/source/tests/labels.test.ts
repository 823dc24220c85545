import assert from 'node:assert/strict';
import test from 'node:test';
import { asLines, Labels, type Label } from '../labels';

const RUN = { data: 'ab', board: 'B', run: 'model' };

const label = (change: Partial<Label> = {}): Label => ({
  uid: 'q1', answer: '42', sample: null, right: false, verdict: '1', decidedBy: 'text', question: 'What?', reference: '42', language: 'en', ...change,
});

class Kept {
  readonly items = new Map<string, string>();

  getItem = (key: string) => this.items.get(key) ?? null;

  setItem = (key: string, value: string): void => { this.items.set(key, value); };

  removeItem = (key: string): void => { this.items.delete(key); };
}

test('a label is there after a reload, of its own run alone', () => {
  const kept = new Kept();
  new Labels(kept).set(RUN, label());
  const reloaded = new Labels(kept);
  assert.deepEqual(reloaded.of(RUN), [label()]);
  for (const other of [{ ...RUN, run: 'm' }, { ...RUN, board: 'b' }, { ...RUN, data: 'a' }]) assert.deepEqual(reloaded.of(other), []);
});

test('a label of the same answer replaces, and can be taken back', () => {
  const labels = new Labels(new Kept());
  labels.set(RUN, label());
  labels.set(RUN, label({ right: null }));
  labels.set(RUN, label({ answer: '', sample: '3' }));
  labels.set(RUN, label({ answer: '', sample: '4' }));
  const found = labels.of(RUN).map(({ answer, sample, right }) => [answer, sample, right]);
  assert.deepEqual(found, [['42', null, null], ['', '3', false], ['', '4', false]]);
  labels.remove(RUN, { uid: 'q1', answer: '42', sample: null });
  assert.equal(labels.of(RUN).length, 2);
  labels.clear(RUN);
  assert.deepEqual(labels.of(RUN), []);
});

test('without storage, and with a full one, labels are there until the page is closed', () => {
  const full = new Kept();
  full.setItem = () => { throw new Error('full'); };
  for (const storage of [null, full]) {
    const labels = new Labels(storage);
    labels.set(RUN, label());
    labels.reread();
    assert.equal(labels.keeps, false);
    assert.deepEqual(labels.of(RUN), [label()]);
  }
});

test('what is no label in the storage is passed over', () => {
  const kept = new Kept();
  new Labels(kept).set(RUN, label());
  const [key] = kept.items.keys();
  for (const broken of ['{', 'null', '{"a":1}', '[null, 3, {"uid": "q"}]']) {
    kept.items.set(key, broken);
    assert.deepEqual(new Labels(kept).of(RUN), []);
  }
});

test('a line a label, whatever its texts hold; unsure ones are left out', () => {
  const hostile = '{"\n\u2028\u2029\u0085\r</script>\ud800';
  const lines = asLines(RUN, [label(), label({ right: null }), label({ question: hostile, language: '' })]);
  const rows = lines.split(/[\n\r\u2028\u2029\u0085]/).filter(Boolean).map((line) => JSON.parse(line));
  assert.equal(rows.length, 2);
  assert.deepEqual([rows[0].label, rows[0].answer, rows[0].reference, rows[0].language], [false, '42', '42', 'en']);
  assert.equal(rows[1].question, hostile);
  assert.equal('language' in rows[1], false);
});

import assert from 'node:assert/strict';
import test from 'node:test';

import { meanInterval } from '../statistics';

test('an interval of more questions than a call may have arguments', () => {
  const many = Array.from({ length: 300_000 }, (_, i) => i);
  const limits = { problems: 20, effective: 20, inAll: 1, error: 1e-9, added: 2 };
  const found = meanInterval(many.map((i) => i % 2), many, { [many.length]: 1.96 }, limits);
  assert.equal(found.estimate, 0.5);
  assert.ok(Math.abs(found.high! - found.low! - 2 * 1.96 * 0.5 / Math.sqrt(many.length)) < 1e-5);
});

import assert from 'node:assert/strict';
import test from 'node:test';

import { countOf, meanInterval } from '../statistics';

test('strata are counted, also those of more questions than a call may have arguments', () => {
  assert.equal(countOf([0, 2, 1, 0]), 3);
  assert.equal(countOf([]), 0);
  const many = Array.from({ length: 300_000 }, (_, i) => i);
  const limits = { problems: 20, effective: 20, inAll: 1, error: 1e-9, within: 20, added: 2 };
  const quantiles = Object.fromEntries([many.length, many.length - 1].map((count) => [count, 1.96]));
  const found = meanInterval(many.map((i) => (i >> 1) % 2), many, quantiles, limits, many.map((i) => i % 2));
  assert.equal(found.estimate, 0.5);
  assert.equal(found.strata, 2);
  assert.ok(Math.abs(found.high! - found.low! - 2 * 1.96 * 0.5 / Math.sqrt(many.length)) < 1e-5);
});

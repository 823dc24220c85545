import assert from 'node:assert/strict';
import test from 'node:test';
import { moved, type Spot } from '../picking';

// Two blocks of cells, the last line of each shorter.
const SPOTS: Spot[] = [[0, 0], [1, 0], [2, 0], [0, 1], [0, 3], [1, 3], [2, 3], [0, 4], [1, 4]].map(([x, y], i) => ({ id: `s${i}`, x, y }));

const path = (...keys: string[]): number => keys.reduce((from, key) => moved(SPOTS, from, key), 0);

test('right and left go in reading order and stop at the ends', () => {
  assert.equal(path('ArrowRight', 'ArrowRight', 'ArrowRight'), 3);
  assert.equal(path('ArrowLeft'), 0);
  assert.equal(path('End'), 8);
  assert.equal(path('End', 'ArrowRight'), 8);
  assert.equal(path('End', 'Home'), 0);
});

test('down and up go to the nearest of the next line, over the gap between blocks too', () => {
  assert.equal(path('ArrowRight', 'ArrowRight', 'ArrowDown'), 3);
  assert.equal(path('ArrowDown', 'ArrowDown'), 4);
  assert.equal(path('End', 'ArrowUp'), 5);
  assert.equal(path('End', 'ArrowDown'), 8);
});

test('every other key stays', () => assert.equal(path('ArrowRight', 'x'), 1));

declare module 'node:test';
declare module 'node:assert/strict';

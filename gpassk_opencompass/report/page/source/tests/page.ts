// What the page reads when it is loaded, for tests without a browser; imported before it.
Object.assign(globalThis, { document: { getElementById: () => ({ textContent: '{"boards": [], "runs": []}' }) } });
export {};

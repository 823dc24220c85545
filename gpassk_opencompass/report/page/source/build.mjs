// Make ../files/page.js and page.css. What is bundled keeps its licence: every page is a copy of it.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { build } from 'esbuild';

const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));

const licences = Object.entries(dependencies)
  .map(([name, version]) => `${name} ${version}\n\n${readFileSync(`node_modules/${name}/LICENSE`, 'utf8').trim()}`)
  .join('\n\n');

// Of all it is made of: tests/unit/test_page.py tells by it whether the script is that of the sources.
const digest = createHash('sha256');
for (const name of readdirSync('.').filter((one) => /\.(tsx?|css|mjs)$|^package.*\.json$/.test(one)).sort()) {
  digest.update(`${name}\n`).update(readFileSync(name));
}

await build({
  entryPoints: ['main.tsx'],
  outfile: '../files/page.js',
  bundle: true,
  minify: true,
  format: 'iife',
  charset: 'ascii',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  target: ['chrome111', 'firefox115', 'safari16.4'],
  legalComments: 'none',
  banner: { js: `/*! sources ${digest.digest('hex')}\n\nIn this script:\n\n${licences}\n*/` },
  logLevel: 'warning',
});

#!/usr/bin/env -S node --max-semi-space-size=4 --heap-growing-percent=100 --initial-old-space-size=96
// Plain JavaScript that also old versions of Node can read, so that they get to say what is missing.
import { existsSync } from 'node:fs';
import process from 'node:process';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 15)) {
  process.stderr.write(
    `endpointd: needs Node 24.15 or newer, this is ${process.versions.node}. In a checkout, "npm run" uses the right one.\n`,
  );
  process.exit(1);
}

// SIGUSR1 opens no debugger. It is no flag in the first line, because an older Node would end at a flag that it does not
// know, without a word about the one that is needed.
process.on('SIGUSR1', () => {});

// A checkout has the sources, which Node runs as they are; an installed package has the bundle of them, since
// Node strips no types below node_modules.
const isCheckout = existsSync(new URL('../src/main.ts', import.meta.url));
const load = (name) =>
  import(new URL(isCheckout ? `../src/${name}.ts` : `../dist/src/${name}.js`, import.meta.url).href);

// First, because nothing else ends process 1 of a container while the rest is loaded.
const { endOnStopSignals } = await load('node/signals');
endOnStopSignals();
await load('main');

/** What is shipped: the packed package as it is after an install, and the image as far as its recipe tells. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execPath } from 'node:process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { NODE_FLAGS } from '../src/testbed/controller-process.ts';
import { BIN_FLAGS } from './support/serving-process.ts';
import { stagesOf } from './support/dockerfile.ts';
import { assertSaidBySource } from './support/log-patterns.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..');
const PACKAGE = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
};

/** What `npm pack` needs of a checkout. */
const BUILT_FROM = [
  'package.json',
  ...globSync('*.md', { cwd: ROOT }),
  'LICENSE',
  'tsconfig.json',
  'bench/RESULTS.md',
  'bench/cells/CELLS.md',
  'bench/cells/second/CELLS.md',
  'bench/cells/third/CELLS.md',
  'bench/cells/fourth/CELLS.md',
  'bench/transfer/TRANSFER.md',
  'bench/search/SEARCH.md',
  'bin',
  'build',
  'deploy',
  'docs',
  'src',
  'workers',
];

const directory = mkdtempSync(join(tmpdir(), 'endpointd-package-'));
const installed = join(directory, 'node_modules', 'endpointd');
const bin = join(installed, 'bin', 'endpointd.js');

/**
 * What `npm install <tarball>` leaves behind, without a registry: the package unpacked beside its dependencies, and only
 * those. It is built from a copy of the sources: other tests run in the checkout meanwhile.
 */
before(async () => {
  const copy = join(directory, 'checkout');
  for (const name of BUILT_FROM) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  await run('npm', ['pack', '--silent', '--pack-destination', directory], { cwd: copy });
  mkdirSync(installed, { recursive: true });
  const tarball = join(directory, `endpointd-${PACKAGE.version}.tgz`);
  await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
  for (const name of Object.keys(PACKAGE.dependencies)) {
    const link = join(directory, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), link);
  }
});

function shebang(): string {
  return readFileSync(bin, 'utf8').split('\n')[0]!;
}

after(() => rmSync(directory, { recursive: true }));

test('the package holds the program, and no sources', () => {
  for (const path of [
    'README.md',
    'deploy/rbac.yaml',
    'bin/endpointd.js',
    'dist/src/main.js',
    'dist/workers/planner.js',
    'LICENSE',
    'package.json',
  ]) {
    assert.ok(existsSync(join(installed, path)), path);
  }
  for (const path of ['src', 'workers', 'test', 'node_modules']) assert.ok(!existsSync(join(installed, path)), path);
});

test('a start and a thread of a shard load few files', () => {
  const chunks = (...names: string[]): string[] => names.map((name) => `src/chunks/${name}.js`);
  assert.deepEqual(loadedBy('src/main.js'), ['src/main.js', ...chunks('start')]);
  assert.deepEqual(loadedBy('src/cli/run.js'), ['src/cli/run.js', ...chunks('controllers', 'start', 'planner')]);
  assert.deepEqual(loadedBy('src/chunks/inline-shards.js'), chunks('inline-shards', 'planner'));
  assert.deepEqual(loadedBy('workers/planner.js'), ['workers/planner.js', ...chunks('codec', 'planner')]);
});

test('without threads no codec of their messages is loaded', () => {
  const files = globSync('dist/**/*.js', { cwd: installed });
  const encoders = files.filter((path) => readFileSync(join(installed, path), 'utf8').includes('"msgpackr/pack"'));
  assert.deepEqual(encoders, ['dist/src/chunks/codec.js']);
});

test('V8 can keep each file in one byte a letter', () => {
  const files = globSync('dist/**/*.js', { cwd: installed });
  assert.ok(files.length > 10);
  for (const path of files) assert.doesNotMatch(readFileSync(join(installed, path), 'utf8'), /[^\0-\x7f]/, path);
});

/** Files in `dist` that Node loads before it runs one of them, that one first. */
function loadedBy(entry: string): string[] {
  const loaded = new Set([entry]);
  for (const path of loaded) {
    const text = readFileSync(join(installed, 'dist', path), 'utf8');
    for (const [, target] of text.matchAll(/^(?:import|export) [^;]*?from "(\.[^"]+)";$/gm)) {
      loaded.add(join(dirname(path), target!));
    }
  }
  return [...loaded];
}

test('the package holds every document that one of its documents links', () => {
  const documents = globSync(['*.md', 'docs/**/*.md'], { cwd: installed });
  assert.ok(documents.includes('docs/manual.md'));
  for (const document of documents) {
    const text = readFileSync(join(installed, document), 'utf8');
    for (const [link, path] of text.matchAll(/\]\(([^)#:]+)(?:#[^)]+)?\)/g)) {
      assert.ok(existsSync(join(installed, dirname(document), path!)), `${document}: ${link}`);
    }
  }
});

test('the package and the image start Node as the measured process is started', () => {
  assert.equal(shebang(), `#!/usr/bin/env -S node ${BIN_FLAGS.join(' ')}`);
  const image = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
  assert.ok(
    image.includes(
      `ENTRYPOINT ${JSON.stringify(['/nodejs/bin/node', ...NODE_FLAGS, '/app/bin/endpointd.js']).replaceAll(',', ', ')}`,
    ),
  );
});

test('the first line has no option of Node, which an older one may not know', async () => {
  const { stdout } = await run(execPath, ['--v8-options']);
  for (const flag of shebang().split(' ').slice(3)) assert.ok(stdout.includes(`${flag.split('=')[0]} `), flag);
});

test('an older Node says in one line which one is needed', async () => {
  const older = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })";
  const started = run(execPath, ['--import', `data:text/javascript,${older}`, bin, 'run']);
  await assert.rejects(started, {
    code: 1,
    stderr: /^endpointd: needs Node 24\.15 or newer, this is 20\.20\.2\..*\n$/,
  });
});

test('the installed program answers --help and --version', async () => {
  const help = await run(execPath, [bin, '--help']);
  assert.match(help.stdout, /^Usage: endpointd <command>/);
  const runHelp = await run(execPath, [bin, 'run', '--help']);
  assert.match(runHelp.stdout, /--concurrent-endpoint-syncs <n>/);
  const version = await run(execPath, [bin, '--version']);
  assert.equal(version.stdout, `${PACKAGE.version}\n`);
});

test('a stack of the installed program names lines of the sources', async () => {
  const failing = 'process.stdout.write = () => { throw new Error("no output") }';
  const started = run(execPath, ['--import', `data:text/javascript,${failing}`, bin, '--version']);
  const main = readFileSync(join(ROOT, 'src/main.ts'), 'utf8').split('\n');
  const line = 1 + main.findIndex((text) => text.includes('process.stdout.write(`${version()}'));
  await assert.rejects(started, ({ stderr }: { readonly stderr: string }) => {
    assert.ok(stderr.includes(`at main (src/main.ts:${line})`), stderr);
    return true;
  });
});

test('the installed program runs with a thread, names its sources, and stops', async () => {
  let userAgent = '';
  const server = createServer((request, response) => {
    userAgent = request.headers['user-agent'] ?? '';
    response.writeHead(503).end();
  });
  const url = await listen(server);
  try {
    const flags = [
      `--master=${url}`,
      '--shards=1',
      '--secure-port=0',
      '--metrics-bind-address=127.0.0.1:0',
      '--logging-format=json',
    ];
    const child = spawn(execPath, [bin, 'run', ...flags], { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    let stopping = false;
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      // By then the first list was refused, and the thread has had its time to start or to fail.
      if (stopping || !said.includes('tried again')) return;
      stopping = child.kill('SIGTERM');
    });
    const status = await new Promise<number | null>((resolve) => child.once('exit', resolve));
    assert.equal(status, 0, said);
    assert.match(userAgent, /^endpointd\/\d+\.\d+\.\d+ \(\w+\/\w+\)$/);
    assert.ok(said.includes('"msg":"Stopped"'), said);
    assert.ok(!said.includes('"level":"error"'), said);
    const lines = said.trim().split('\n');
    assert.ok(lines.length >= 4, said);
    for (const line of lines) assertSaidBySource((JSON.parse(line) as { caller: string }).caller);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test('the image copies existing files, and ends without root', () => {
  const steps = readFileSync(join(ROOT, 'Dockerfile'), 'utf8').split('\n');
  const ignored = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
  const copies = steps.filter((step) => step.startsWith('COPY ') && !step.includes('--from'));
  for (const source of copies.flatMap((step) => step.split(' ').slice(1, -1))) {
    assert.ok(existsSync(join(ROOT, source)), source);
    assert.ok(ignored.includes(`!${source}`), `${source} is in .dockerignore`);
  }
  const last = steps.slice(steps.findLastIndex((step) => step.startsWith('FROM ')));
  assert.ok(last.some((step) => /^USER [1-9]\d*:[1-9]\d*$/.test(step)));
});

test('the release pins every image by digest, and every action by commit', async () => {
  const copy = join(directory, 'Dockerfile');
  cpSync(join(ROOT, 'Dockerfile'), copy);
  const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;
  // Stands for docker: no registry answers here.
  writeFileSync(join(directory, 'docker'), `#!/bin/sh\necho ${digest}\n`, { mode: 0o755 });
  const env = { ...process.env, PATH: `${directory}:${process.env['PATH']}` };
  await run(join(ROOT, '.github/pin-images'), [copy], { env });
  const [before, after] = [join(ROOT, 'Dockerfile'), copy].map((path) => stagesOf(readFileSync(path, 'utf8')));
  assert.deepEqual(
    after!.map(({ image }) => image),
    before!.map(({ image }) => `${image}@${digest}`),
  );
  const actions = [...readFileSync(join(ROOT, '.github/workflows/release.yml'), 'utf8').matchAll(/uses: (\S+)/g)];
  assert.ok(actions.length > 0);
  for (const [, action] of actions) assert.match(action!, /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
});

test('an image without a digest ends the release', async () => {
  const copy = join(directory, 'Dockerfile');
  cpSync(join(ROOT, 'Dockerfile'), copy);
  writeFileSync(join(directory, 'docker'), '#!/bin/sh\necho unknown\n', { mode: 0o755 });
  const env = { ...process.env, PATH: `${directory}:${process.env['PATH']}` };
  await assert.rejects(run(join(ROOT, '.github/pin-images'), [copy], { env }), /has no digest: unknown/);
});

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

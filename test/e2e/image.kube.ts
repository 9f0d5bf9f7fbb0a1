/**
 * The image without a Docker engine: the steps of the Dockerfile, carried out in an empty directory, and what comes of it started
 * there as the image would be, before the embedded API server. Needs root, `setsid`, `unshare` and `chroot`.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { createApiClient, type ApiClient } from '../../src/node/api-client.ts';
import { stagesOf, type Stage } from '../support/dockerfile.ts';
import { freePorts } from '../../src/testbed/free-ports.ts';
import { startServe, type ServeProcess } from '../../src/testbed/serve-process.ts';
import { startChild, type Child } from '../../src/testbed/child.ts';
import { differences } from './client.ts';
import { createPod, createService, createWorld, until } from './world.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..', '..');
const KUBECONFIG = '/etc/kubernetes/endpointd.conf';
/** What the release gives to the build. */
const BUILD_ARGUMENTS: Readonly<Record<string, string>> = { COMMIT: '0123456789abcdef0123456789abcdef01234567' };
const ELF = '\u007fELF';
/** What the base image brings beside Node: the C library. Its directories are those of this machine. */
const LIBRARIES = ['usr/lib', 'usr/lib64'];
/** In a mount namespace of its own: nothing of the root is writable but /tmp, and nobody is root. */
const START = `
set -eu
mount --make-rprivate /
mount --bind "$0" "$0"
for library in ${LIBRARIES.join(' ')}; do
  test -d "/$library" || continue
  mount --bind "/$library" "$0/$library"
  mount -o remount,bind,ro "$0/$library"
done
mount --bind /dev "$0/dev"
mount -t proc -o ro proc "$0/proc" 2>/dev/null || mount --rbind /proc "$0/proc"
mount -t tmpfs -o size=16m tmpfs "$0/tmp"
mount -o remount,bind,ro "$0"
user=$1
shift
exec env -i "$(command -v chroot)" --userspec="$user" "$0" "$@"
`;

describe('the image', () => {
  let server: ServeProcess;
  let client: ApiClient;
  let directory: string;
  let root: string;
  let final: Stage;
  let child: Child | undefined;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'endpointd-image-'));
    await chmod(directory, 0o755);
    const stages = stagesOf(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'));
    for (const stage of stages) await build(stage, stages);
    final = stages.at(-1)!;
    root = rootOf(final, stages);
    server = await startServe(['--life=false']);
    client = createApiClient({ url: server.url }, 4);
  });

  after(async () => {
    if (child !== undefined) await endWhole(child);
    await client?.close();
    await server?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const rootOf = (stage: Stage, stages: readonly Stage[]): string => join(directory, `stage-${stages.indexOf(stage)}`);

  async function build(stage: Stage, stages: readonly Stage[]): Promise<void> {
    const own = rootOf(stage, stages);
    mkdirSync(own);
    let workdir = '/';
    const given: Record<string, string> = {};
    for (const { word, rest } of stage.steps) {
      if (word === 'ARG') {
        const [name = '', otherwise = ''] = rest.split('=');
        given[name] = BUILD_ARGUMENTS[name] ?? otherwise;
      }
      if (word === 'WORKDIR') mkdirSync(join(own, (workdir = rest)), { recursive: true });
      if (word === 'COPY') copy(rest, join(own, workdir), stages);
      if (word === 'RUN') await shell(rest, join(own, workdir), given);
    }
  }

  /** The context is what .dockerignore lets through. */
  function copy(rest: string, to: string, stages: readonly Stage[]): void {
    const words = rest.split(' ');
    const from = words[0]!.startsWith('--from=') ? words.shift()!.slice('--from='.length) : null;
    const target = words.pop()!;
    const source =
      from === null
        ? ROOT
        : rootOf(
            stages.find(({ name }) => name === from)!,
            stages,
          );
    for (const path of words) {
      const isFile = statSync(join(source, path)).isFile();
      const into =
        isFile && (target.endsWith('/') || words.length > 1) ? join(to, target, basename(path)) : join(to, target);
      const place = isFile && target === './' ? join(to, basename(path)) : into;
      mkdirSync(dirname(place), { recursive: true });
      cpSync(join(source, path), place, { recursive: true, verbatimSymlinks: true });
    }
  }

  /** With the Node of the base image's version, npm, and nothing of this checkout. */
  async function shell(command: string, cwd: string, given: Readonly<Record<string, string>>): Promise<void> {
    const path = [join(ROOT, 'node_modules/node/bin'), process.env['PATH']!.replace(/[^:]*node_modules[^:]*:?/g, '')];
    const env = { ...process.env, ...given, PATH: path.join(delimiter), npm_config_prefer_offline: 'true' };
    await run('/bin/sh', ['-c', command], { cwd, env, maxBuffer: 16 * 1024 * 1024 });
  }

  it('the image has the Node on which the tests run', () => {
    const [version] = process.version.slice(1).split('.');
    const stages = stagesOf(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'));
    assert.deepEqual(
      stages.map(({ image }) => image),
      [`node:${version}-slim`, `gcr.io/distroless/nodejs${version}-debian13:nonroot`],
    );
  });

  it('the image has no machine code, so one build serves all platforms', () => {
    const files = globSync('**/*', { cwd: root, withFileTypes: true }).filter((entry) => entry.isFile());
    assert.ok(files.length > 100, `${files.length} files`);
    const native = files
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => beginsWith(path, ELF) || /\.(node|so|dll|dylib)$/.test(path));
    assert.deepEqual(native, []);
  });

  it('the image has the program, and neither sources nor the compiler', () => {
    const names = globSync('app/*', { cwd: root }).map((path) => basename(path));
    assert.deepEqual(names.toSorted(), ['LICENSE', 'bin', 'dist', 'node_modules', 'package.json']);
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { dependencies: object };
    for (const name of Object.keys(dependencies)) statSync(join(root, 'app/node_modules', name));
    assert.deepEqual(globSync('app/node_modules/{typescript,oxlint,node}', { cwd: root }), []);
  });

  it('the image tells its commit', async () => {
    const { stdout } = await run(process.execPath, [join(root, 'app/bin/endpointd.js'), 'version']);
    assert.ok(stdout.includes(`\ncommit ${BUILD_ARGUMENTS['COMMIT']}\n`), stdout);
  });

  it('the image keeps a cluster right as its user, with nothing writable but /tmp', async () => {
    baseImage();
    const world = await createWorld(client, 'shop');
    await createService(world, 'web');
    await createPod(world, 'web-1', { ip: '10.1.1.1', labels: { app: 'web' } });
    const args = [
      'run',
      `--kubeconfig=${KUBECONFIG}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${(await freePorts(1))[0]}`,
      '--shards=1',
    ];
    const log = join(directory, 'image.log');
    child = await startImage(args, log);
    await until(async () => {
      assert.ok(child!.running, await readFile(log, 'utf8'));
      return (await differences(client)).length === 0;
    });
    assert.doesNotMatch(await readFile(log, 'utf8'), /EROFS|EACCES|read-only/);
  });

  it('the image ends when it is told to, although it is process 1', async () => {
    process.kill(insideOf(child!)[0]!, 'SIGTERM');
    assert.equal(await child!.ended, 0);
    const silent = createServer();
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    const { port } = silent.address() as AddressInfo;
    for (const command of [['retire-endpoints'], ['explain', 'service', 'shop/web']]) {
      const asked = once(silent, 'request');
      child = await startImage([...command, `--master=http://127.0.0.1:${port}`], join(directory, 'command.log'));
      await Promise.race([asked, child.ended.then((status) => assert.fail(`ended with status ${status}`))]);
      process.kill(insideOf(child)[0]!, 'SIGINT');
      assert.equal(await child.ended, 130, command.join(' '));
    }
    silent.closeAllConnections();
    silent.close();
  });

  function word(name: string): string {
    return final.steps.findLast((step) => step.word === name)!.rest;
  }

  function entryPoint(): [node: string, ...flags: string[]] {
    return JSON.parse(word('ENTRYPOINT')) as [string, ...string[]];
  }

  function startImage(args: readonly string[], log: string): Promise<Child> {
    const start = ['--mount', '--pid', '--fork', '/bin/sh', '-c', START, root, word('USER'), ...entryPoint(), ...args];
    // A group of its own, so that all of it ends if this process is killed.
    return startChild('/usr/bin/setsid', ['unshare', ...start], log);
  }

  /** What the base image has: Node where the entry point looks for it, and places for what the runtime mounts. */
  function baseImage(): void {
    const [node] = entryPoint();
    for (const path of [...LIBRARIES, 'dev', 'proc', 'tmp', dirname(node), dirname(KUBECONFIG)]) {
      mkdirSync(join(root, path), { recursive: true });
    }
    for (const library of LIBRARIES) symlinkSync(library, join(root, basename(library)));
    cpSync(process.execPath, join(root, node));
    cpSync(server.kubeconfig, join(root, KUBECONFIG));
    chmodSync(join(root, KUBECONFIG), 0o444);
  }
});

/** The processes of a container: what `unshare` has started. */
function insideOf({ pid }: Child): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

/** What runs in its namespaces does not end with `unshare`: its `--kill-child` does not outlive a change of the user. */
async function endWhole(child: Child): Promise<void> {
  if (!child.running) return;
  const inside = insideOf(child);
  await child.kill('SIGKILL');
  for (const pid of inside) {
    if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL');
  }
}

function beginsWith(path: string, magic: string): boolean {
  const file = openSync(path, 'r');
  const head = Buffer.alloc(magic.length);
  readSync(file, head);
  closeSync(file);
  return head.toString('latin1') === magic;
}

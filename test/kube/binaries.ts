import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** Paths of the real Kubernetes programs that tests and benches run against. */
export interface KubeBinaries {
  readonly etcd: string;
  readonly kubeApiserver: string;
  readonly kubeControllerManager: string;
  readonly kubectl: string;
}

const VERSION = { git: 'v1.36.3', major: '1', minor: '36' };
const GO_PACKAGES: Readonly<Record<string, string>> = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
};
const BUILD_MINUTES_MAX = 30;
const LOCK_POLL_MS = 500;

const run = promisify(execFile);

/**
 * Finds the programs in $KUBEBUILDER_ASSETS, else in the user's cache directory, else builds them there from go.mod of
 * this directory (about five minutes from nothing, once).
 * @throws Error that says what to install, when there is neither a binary nor Go
 */
export async function kubeBinaries(): Promise<KubeBinaries> {
  const [etcd, kubeApiserver, kubeControllerManager, kubectl] = await Promise.all(
    Object.keys(GO_PACKAGES).map((name) => findBinary(name)),
  );
  const cache = await cacheDirectory();
  const missing = Object.entries({
    etcd,
    'kube-apiserver': kubeApiserver,
    'kube-controller-manager': kubeControllerManager,
    kubectl,
  })
    .filter(([, path]) => path === null)
    .map(([name]) => name);
  if (missing.length > 0) await build(cache, missing);
  return {
    etcd: etcd ?? join(cache, 'etcd'),
    kubeApiserver: kubeApiserver ?? join(cache, 'kube-apiserver'),
    kubeControllerManager: kubeControllerManager ?? join(cache, 'kube-controller-manager'),
    kubectl: kubectl ?? join(cache, 'kubectl'),
  };
}

/** Keyed by go.mod: other versions are other programs. */
async function cacheDirectory(): Promise<string> {
  const base = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const goMod = await readFile(join(import.meta.dirname, 'go.mod'));
  const key = createHash('sha256').update(goMod).digest('hex').slice(0, 16);
  return join(base, 'endpointd', 'kube', key);
}

async function findBinary(name: string): Promise<string | null> {
  const assets = process.env['KUBEBUILDER_ASSETS'];
  const directories = [...(assets === undefined || assets === '' ? [] : [assets]), await cacheDirectory()];
  for (const directory of directories) {
    const path = join(directory, name);
    if (await exists(path)) return path;
  }
  return null;
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}

/** Builds what is missing, one process at a time: test files run side by side. */
async function build(directory: string, names: readonly string[]): Promise<void> {
  await mkdir(directory, { recursive: true });
  const lock = join(directory, 'building');
  while (!(await tryLock(lock))) await sleep(LOCK_POLL_MS);
  try {
    for (const name of names) {
      const path = join(directory, name);
      if (await exists(path)) continue;
      await buildOne(path, name);
    }
  } finally {
    await rm(lock, { recursive: true, force: true });
  }
}

async function tryLock(lock: string): Promise<boolean> {
  try {
    await mkdir(lock);
  } catch {
    const owner = Number(await readFile(join(lock, 'pid'), 'utf8').catch(() => '0'));
    if (owner > 0 && !isAlive(owner)) await rm(lock, { recursive: true, force: true });
    return false;
  }
  await writeFile(join(lock, 'pid'), String(process.pid));
  return true;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function buildOne(path: string, name: string): Promise<void> {
  const stamp = 'k8s.io/component-base/version.git';
  const flags = `-s -w -X ${stamp}Version=${VERSION.git} -X ${stamp}Major=${VERSION.major} -X ${stamp}Minor=${VERSION.minor}`;
  const part = `${path}.part`;
  try {
    await run('go', ['build', '-trimpath', '-ldflags', flags, '-o', part, GO_PACKAGES[name]!], {
      cwd: import.meta.dirname,
      env: { ...process.env, CGO_ENABLED: '0' },
      timeout: BUILD_MINUTES_MAX * 60_000,
      maxBuffer: 16 * 1024 * 1024,
    });
  } catch (error) {
    throw new Error(
      `${name} is missing and could not be built: install Go 1.26 or newer (https://go.dev/dl), or set ` +
        `KUBEBUILDER_ASSETS to a directory with etcd, kube-apiserver, kube-controller-manager and kubectl ` +
        `${VERSION.git} (${(error as Error).message.slice(0, 2000)})`,
      { cause: error },
    );
  }
  await rename(part, path);
}

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { KubeBinaries } from '../../src/testbed/kube-cluster.ts';

export const KUBERNETES_VERSION = 'v1.36.3';
/** Patch releases of older ones, by what `kubeBinaries` takes. */
export const OLDER_RELEASES = { '1.34': 'v1.34.4', '1.35': 'v1.35.4' } as const;
export type OlderRelease = keyof typeof OLDER_RELEASES;

/** A go.mod and what is built from it. */
interface GoModule {
  readonly directory: string;
  /** What it is a part of, for a message. */
  readonly release: string;
  /** Packages by the names of their programs. */
  readonly packages: Readonly<Record<string, string>>;
  /** Of the build; default none. */
  readonly tags?: string;
  /** Such as v1.36.3: what Kubernetes' own programs are to tell of themselves. */
  readonly stamp?: string;
  /** True = not what $KUBEBUILDER_ASSETS has. Default false. */
  readonly isOlder?: boolean;
}

const KUBERNETES: GoModule = {
  directory: import.meta.dirname,
  release: `Kubernetes ${KUBERNETES_VERSION}`,
  stamp: KUBERNETES_VERSION,
  packages: {
    etcd: 'go.etcd.io/etcd/server/v3',
    'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
    'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
    kubectl: 'k8s.io/kubernetes/cmd/kubectl',
  },
};
/** Only what a cluster of that release needs; etcd and kubectl are the newest's. */
function olderKubernetes(release: OlderRelease): GoModule {
  return {
    directory: join(import.meta.dirname, `kubernetes-${release}`),
    release: `Kubernetes ${OLDER_RELEASES[release]}`,
    stamp: OLDER_RELEASES[release],
    isOlder: true,
    packages: {
      'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
      'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
    },
  };
}
/** Apart, so that it does not decide about the versions of the others: only one test needs it. */
const ETCDUTL: GoModule = {
  directory: join(import.meta.dirname, 'etcdutl'),
  release: 'etcd v3.6.16',
  packages: { etcdutl: 'go.etcd.io/etcd/etcdutl/v3' },
};
const HELM: GoModule = {
  directory: join(import.meta.dirname, 'helm'),
  release: 'Helm v4.3.1',
  packages: { helm: 'helm.sh/helm/v4/cmd/helm' },
};
const KUBEADM: GoModule = {
  directory: join(import.meta.dirname, 'kubeadm'),
  release: `Kubernetes ${KUBERNETES_VERSION}`,
  stamp: KUBERNETES_VERSION,
  packages: { kubeadm: 'k8s.io/kubernetes/cmd/kubeadm' },
};
const PROMTOOL: GoModule = {
  directory: join(import.meta.dirname, 'promtool'),
  release: 'Prometheus v3.13.5',
  packages: { promtool: 'github.com/prometheus/prometheus/cmd/promtool' },
  // The clients of all clouds, which are most of it, find targets: rules have none.
  tags: 'remove_all_sd',
};
const ACTIONLINT: GoModule = {
  directory: join(import.meta.dirname, 'actionlint'),
  release: 'actionlint v1.7.12',
  packages: { actionlint: 'github.com/rhysd/actionlint/cmd/actionlint' },
};
const BUILD_MINUTES_MAX = 30;
const LOCK_POLL_MS = 500;
/** So often who holds the lock touches it. */
const LOCK_TOUCHED_EVERY_MS = 5000;
/** Who has held it and not touched it for so long has been killed. */
const LOCK_HELD_MS_MAX = 60_000;
const LOCK_TOLD_AFTER_MS = 30_000;

const run = promisify(execFile);

/**
 * Finds the programs in $KUBEBUILDER_ASSETS, else in the user's cache directory, else builds them there from go.mod of
 * this directory (about nine minutes from nothing, once).
 * @param older whose kube-apiserver and kube-controller-manager are built from its own go.mod instead, never found in
 *   $KUBEBUILDER_ASSETS; default the newest's
 * @throws Error that says what to install, when there is neither a binary nor Go
 */
export async function kubeBinaries(older?: OlderRelease): Promise<KubeBinaries> {
  const paths = await findOrBuild(KUBERNETES);
  const own = older === undefined ? paths : await findOrBuild(olderKubernetes(older));
  return {
    etcd: paths.get('etcd')!,
    kubeApiserver: own.get('kube-apiserver')!,
    kubeControllerManager: own.get('kube-controller-manager')!,
    kubectl: paths.get('kubectl')!,
  };
}

/**
 * The path of etcdutl, found or built in the same way (about a minute from nothing).
 * @throws Error that says what to install, when there is neither a binary nor Go
 */
export async function etcdutlBinary(): Promise<string> {
  return (await findOrBuild(ETCDUTL)).get('etcdutl')!;
}

/**
 * The path of helm, found or built in the same way (about two minutes from nothing).
 * @throws Error that says what to install, when there is neither a binary nor Go
 */
export async function helmBinary(): Promise<string> {
  return (await findOrBuild(HELM)).get('helm')!;
}

/**
 * The path of kubeadm, found or built in the same way (about two minutes from nothing).
 * @throws Error that says what to install, when there is neither a binary nor Go
 */
export async function kubeadmBinary(): Promise<string> {
  return (await findOrBuild(KUBEADM)).get('kubeadm')!;
}

/**
 * The path of promtool, found or built in the same way (about two minutes from nothing).
 * @throws Error that says what to install, when there is neither a binary nor Go
 */
export async function promtoolBinary(): Promise<string> {
  return (await findOrBuild(PROMTOOL)).get('promtool')!;
}

/**
 * The path of actionlint, found or built in the same way (some seconds).
 * @throws Error that says what to install, when there is neither a binary nor Go
 */
export async function actionlintBinary(): Promise<string> {
  return (await findOrBuild(ACTIONLINT)).get('actionlint')!;
}

/** Paths by the names of the programs. */
async function findOrBuild(module: GoModule): Promise<Map<string, string>> {
  const cache = await cacheDirectory(module);
  const assets = module.isOlder === true ? '' : process.env['KUBEBUILDER_ASSETS'];
  const directories = [...(assets === undefined || assets === '' ? [] : [assets]), cache];
  const paths = new Map<string, string>();
  const missing: string[] = [];
  for (const name of Object.keys(module.packages)) {
    const path = await findBinary(directories, name);
    if (path === null) missing.push(name);
    paths.set(name, path ?? join(cache, name));
  }
  if (missing.length > 0) await build(module, cache, missing);
  return paths;
}

/** Keyed by go.mod: other versions are other programs. */
async function cacheDirectory({ directory }: GoModule): Promise<string> {
  const base = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const goMod = await readFile(join(directory, 'go.mod'));
  const key = createHash('sha256').update(goMod).digest('hex').slice(0, 16);
  return join(base, 'endpointd', 'kube', key);
}

async function findBinary(directories: readonly string[], name: string): Promise<string | null> {
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
async function build(module: GoModule, directory: string, names: readonly string[]): Promise<void> {
  await mkdir(directory, { recursive: true });
  const lock = join(directory, 'building');
  await takeLock(lock);
  const touching = setInterval(() => void touch(lock), LOCK_TOUCHED_EVERY_MS);
  try {
    // Of builds that were killed.
    const parts = (await readdir(directory)).filter((name) => /\.part-\d+$/.test(name));
    for (const part of parts) await rm(join(directory, part), { force: true });
    for (const name of names) {
      const path = join(directory, name);
      if (await exists(path)) continue;
      await buildOne(module, path, name);
    }
  } finally {
    clearInterval(touching);
    await rm(lock, { recursive: true, force: true });
  }
}

async function takeLock(lock: string): Promise<void> {
  const fromMs = Date.now();
  let isTold = false;
  while (!(await tryLock(lock))) {
    if (!isTold && Date.now() > fromMs + LOCK_TOLD_AFTER_MS) {
      isTold = true;
      const owner = await readFile(join(lock, 'pid'), 'utf8').catch(() => 'unknown');
      console.error(`Waiting for a build by another process (pid ${owner}), which holds ${lock}`);
    }
    await sleep(LOCK_POLL_MS);
  }
}

/**
 * Who finds a dead lock, and removes it only when another one has removed and taken it, removes a live one. Then both
 * build the same, each in a file of its own. To rename it first would take a live one away, too.
 */
async function tryLock(lock: string): Promise<boolean> {
  try {
    await mkdir(lock);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const touched = await stat(lock).catch(() => null);
    const isDead = touched !== null && touched.mtimeMs < Date.now() - LOCK_HELD_MS_MAX;
    if (isDead) await rm(lock, { recursive: true, force: true });
    return false;
  }
  await writeFile(join(lock, 'pid'), String(process.pid));
  return true;
}

async function touch(path: string): Promise<void> {
  const now = new Date();
  // Another process may have taken it over, and be done.
  await utimes(path, now, now).catch(() => undefined);
}

/** Without them kube-apiserver tells v0.0.0-master of itself. */
function versionFlags(release: string): string {
  const [major, minor] = release.slice(1).split('.');
  const name = 'k8s.io/component-base/version.git';
  return `-X ${name}Version=${release} -X ${name}Major=${major} -X ${name}Minor=${minor}`;
}

async function buildOne(module: GoModule, path: string, name: string): Promise<void> {
  const { directory, release, packages, tags = '', stamp = '', isOlder = false } = module;
  const flags = `-s -w ${stamp === '' ? '' : versionFlags(stamp)}`;
  const part = `${path}.part-${process.pid}`;
  try {
    await run('go', ['build', '-trimpath', '-tags', tags, '-ldflags', flags, '-o', part, packages[name]!], {
      cwd: directory,
      env: { ...process.env, CGO_ENABLED: '0' },
      timeout: BUILD_MINUTES_MAX * 60_000,
      maxBuffer: 16 * 1024 * 1024,
    });
  } catch (error) {
    const programs = `${Object.keys(packages).join(', ')} of ${release}`;
    const otherWay = isOlder ? '' : `, or set KUBEBUILDER_ASSETS to a directory with ${programs}`;
    throw new Error(
      `${name} is missing and could not be built: install Go 1.26 or newer (https://go.dev/dl)${otherWay} (` +
        `${(error as Error).message.slice(0, 2000)})`,
      { cause: error },
    );
  }
  await rename(part, path);
}

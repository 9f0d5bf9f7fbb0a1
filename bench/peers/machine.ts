/** The machine and the programs of a result. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { KUBERNETES_VERSION } from '../../test/e2e/binaries.ts';
import { median } from '../../src/lib/percentile.ts';
import { AS_DEPLOYED } from '../support/as-deployed.ts';
import { filesHash, programHash } from '../support/program-hash.ts';
import { NODE_FLAGS } from '../../src/testbed/controller-process.ts';

const MANIFEST = new URL('../../package.json', import.meta.url);
const ROOT = new URL('../../', import.meta.url);
/** They say how kube-apiserver and etcd are built and started. */
const SERVERS = ['test/e2e/binaries.ts', 'test/e2e/cluster.ts', 'test/e2e/go.mod'];
const GO_MOD = new URL('../../test/e2e/go.mod', import.meta.url);

export function machineOf(): Readonly<Record<string, string>> {
  const all = cpus();
  return {
    processor: all[0]?.model.trim() ?? 'unknown',
    cores: String(all.length),
    memory: `${(totalmem() / 2 ** 30).toFixed(0)} GiB`,
    kernel: `Linux ${release()}`,
  };
}

/** The median of that many. */
const LOOPS = 5;
const LOOP_STEPS = 20_000_000;

/**
 * How many milliseconds a fixed loop of arithmetic takes now. It is no fact of the machine: the same one takes longer where
 * others work on it.
 */
export function loopMs(): number {
  const took = Array.from({ length: LOOPS }, () => {
    const fromMs = performance.now();
    let state = 1;
    for (let i = 0; i < LOOP_STEPS; i++) state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return state === LOOP_STEPS ? Number.NaN : performance.now() - fromMs;
  });
  return Math.round(median(took) * 10) / 10;
}

/** What is measured, and the bench that measures it. */
export function versionsOf(): Readonly<Record<string, string>> {
  const { version } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as { version: string };
  const etcd = /go\.etcd\.io\/etcd\/server\/v3 (\S+)/.exec(readFileSync(GO_MOD, 'utf8'))?.[1] ?? 'unknown';
  return {
    endpointd: version,
    node: `${process.version} ${NODE_FLAGS.join(' ')}`,
    kubernetes: KUBERNETES_VERSION,
    etcd,
    go: goVersion(),
    dependencies: filesHash(ROOT, ['package-lock.json']),
    bench: programHash(new URL('bench/run.ts', ROOT)),
    servers: filesHash(ROOT, SERVERS),
    start: AS_DEPLOYED,
  };
}

function goVersion(): string {
  try {
    return execFileSync('go', ['env', 'GOVERSION'], { encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}

import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const HERE = import.meta.dirname;
const VERSION = 'v1.36.3';
const STAMP = 'k8s.io/component-base/version.git';
const FLAGS = `-s -w -X ${STAMP}Version=${VERSION} -X ${STAMP}Major=1 -X ${STAMP}Minor=36`;

export interface E2ePrograms {
  /** Kubernetes' end-to-end tests. */
  readonly tests: string;
  readonly scheduler: string;
  /** Plays kubelets. */
  readonly kwok: string;
}

/** Builds what the end-to-end tests need and is not in `directory` yet: 15 minutes on two cores, once. */
export async function buildE2e(directory: string): Promise<E2ePrograms> {
  const programs = {
    tests: join(directory, 'e2e.test'),
    scheduler: join(directory, 'kube-scheduler'),
    kwok: join(directory, 'kwok'),
  };
  await build(HERE, programs.tests, ['test', '-c', '-vet=off'], 'k8s.io/kubernetes/test/e2e');
  await build(HERE, programs.scheduler, ['build'], 'k8s.io/kubernetes/cmd/kube-scheduler');
  await build(join(HERE, 'kwok'), programs.kwok, ['build'], 'sigs.k8s.io/kwok/cmd/kwok');
  return programs;
}

async function build(module: string, path: string, command: readonly string[], source: string): Promise<void> {
  try {
    await access(path);
  } catch {
    const args = [...command, '-trimpath', '-ldflags', FLAGS, '-o', path, source];
    await run('go', args, { cwd: module, env: { ...process.env, CGO_ENABLED: '0' }, maxBuffer: 16 * 2 ** 20 });
  }
}

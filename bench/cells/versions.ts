/** The versions of what is measured. */
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { KUBERNETES_VERSION } from '../../test/e2e/binaries.ts';
import type { World } from './data.ts';

const HASH_CHARS = 12;

/** The embedded server is of the same sources as the program. */
export function versionsOf({ server, controller }: World, program: URL): string {
  const versions = [`${controller} ${controller === 'endpointd' ? hashOf(program) : KUBERNETES_VERSION}`];
  if (server === 'kube') versions.push(`kube-apiserver ${KUBERNETES_VERSION}`);
  return [...versions, `Node ${process.version}`].join(', ');
}

/** Of the program's files. The commit of a calibration is a new commit, but no other program. */
function hashOf(program: URL): string {
  const cwd = fileURLToPath(new URL('.', program));
  const hash = createHash('sha256');
  for (const path of globSync('**/*.{js,ts}', { cwd }).toSorted())
    hash.update(`${path}\0`).update(readFileSync(`${cwd}${path}`));
  return hash.digest('hex').slice(0, HASH_CHARS);
}

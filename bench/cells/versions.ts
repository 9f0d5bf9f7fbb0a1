/** The versions of what is measured. */
import process from 'node:process';
import { KUBERNETES_VERSION } from '../../test/e2e/binaries.ts';
import { programHash } from '../support/program-hash.ts';
import type { World } from './data.ts';

/** The embedded server is of the same sources as the program. */
export function versionsOf({ server, controller }: World, program: URL): string {
  const versions = [`${controller} ${controller === 'endpointd' ? programHash(program) : KUBERNETES_VERSION}`];
  if (server === 'kube') versions.push(`kube-apiserver ${KUBERNETES_VERSION}`);
  return [...versions, `Node ${process.version}`].join(', ');
}

/** How benches start the compiled endpointd. */
import { freePorts } from '../../src/testbed/free-ports.ts';

/** For those who read the results. */
export const AS_DEPLOYED = 'as deployed: no compile cache, with its secure port';

/**
 * As in `deploy/`: its file system takes no compile cache, and it serves with TLS. The port without TLS, which is asked for
 * figures, comes on top.
 */
export async function asDeployed(): Promise<{ flags: string[]; env: Readonly<Record<string, string>> }> {
  const flags = ['--bind-address=127.0.0.1', `--secure-port=${(await freePorts(1))[0]}`];
  return { flags, env: { NODE_DISABLE_COMPILE_CACHE: '1' } };
}

/** A namespace of services whose first pods are ready all the time, while others come and go. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createPrng, nextInt } from '../../src/lib/prng.ts';
import { ApiError, type ApiClient } from '../../src/node/api-client.ts';
import { createPod, createService, createWorld, forEach, setReady, type World } from './world.ts';

const STABLE = 2;
const FLAPPING = 2;

export interface Flapping {
  readonly world: World;
  readonly services: readonly string[];
  /** Addresses of the service that are always ready. */
  stableOf(service: string): string[];
  /** Turns pods ready and not, until `stop`. */
  churn(pauseMs: number): { stop(): Promise<void> };
}

export async function createFlapping(client: ApiClient, namespace: string, count: number): Promise<Flapping> {
  const world = await createWorld(client, namespace);
  // Slices leave out pods of nodes that are not there.
  await client.send({
    method: 'POST',
    path: '/api/v1/nodes',
    body: { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' } },
  });
  const services = Array.from({ length: count }, (_, i) => `web-${i}`);
  await forEach(count, async (i) => {
    await createService(world, services[i]!);
    for (let pod = 0; pod < STABLE + FLAPPING; pod++) {
      await createPod(world, podOf(i, pod), { ip: addressOf(i, pod), labels: { app: services[i]! } });
    }
  });
  const prng = createPrng(1);
  return {
    world,
    services,
    stableOf: (service) => Array.from({ length: STABLE }, (_, pod) => addressOf(services.indexOf(service), pod)),
    churn(pauseMs) {
      const stopping = new AbortController();
      const running = (async () => {
        while (!stopping.signal.aborted) {
          const name = podOf(nextInt(prng, count), STABLE + nextInt(prng, FLAPPING));
          await setReady(world, name, nextInt(prng, 2) === 0).catch(ignoreOutage);
          await sleep(pauseMs);
        }
      })();
      return {
        stop() {
          stopping.abort();
          return running;
        },
      };
    },
  };
}

function podOf(service: number, pod: number): string {
  return `web-${service}-${pod}`;
}

function addressOf(service: number, pod: number): string {
  return `10.${1 + (service >> 8)}.${service & 255}.${1 + pod}`;
}

/** A change that did not come through is one less. */
function ignoreOutage(error: unknown): void {
  if (error instanceof ApiError) throw error;
}

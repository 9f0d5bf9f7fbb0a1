/**
 * Weighs the embedded API server with a cluster in it. It is a process of its own, whose garbage collector can be
 * called.
 */
import { apply, createApiServer } from '../../src/apiserver/server.ts';
import { JSON_TYPE, PROTOBUF } from '../../src/kube/media-type.ts';
import { createPrng, nextFloat } from '../../src/lib/prng.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import { findProfile } from '../../src/workload/profile.ts';
import { clusterRequests } from '../../test/support/cluster-requests.ts';
import { SEED } from '../support/records.ts';

export interface ServerWeights {
  readonly pods: number;
  /** Bytes of heap and buffers of the empty server. */
  readonly empty: number;
  readonly filled: number;
  /** The same after every pod was sent in protobuf and in JSON. */
  readonly sent: number;
}

const namespaces = Number(process.argv[2]);
const cluster = makeCluster({ ...findProfile('large'), namespaces }, SEED);
const prng = createPrng(SEED);

function weigh(): number {
  globalThis.gc!();
  globalThis.gc!();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Reads a watch that begins with all pods, until the last pod. */
function drain(accept: string): void {
  const path = '/api/v1/pods?watch=1&resourceVersion=0';
  const reply = apply(server, 0, { method: 'GET', path, headers: { accept }, body: null });
  if (!('watch' in reply)) throw new Error('a watch expected');
  while (reply.watch.take().length > 0);
  reply.watch.close();
}

const empty = weigh();
const server = createApiServer({ random: () => nextFloat(prng) });
for (const { method, path, contentType, body } of clusterRequests(cluster)) {
  const bytes = Buffer.from(JSON.stringify(body));
  const reply = apply(server, 0, { method, path, headers: { accept: PROTOBUF, contentType }, body: bytes });
  if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status}`);
}
const filled = weigh();
drain(PROTOBUF);
drain(JSON_TYPE);
const weights: ServerWeights = { pods: cluster.pods.length, empty, filled, sent: weigh() };
process.stdout.write(JSON.stringify(weights));

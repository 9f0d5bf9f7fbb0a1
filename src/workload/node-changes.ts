/** Nodes that move to another zone, cease to be ready, or go and come back, told step by step. */
import { nextInt } from '../lib/prng.ts';
import type { Change, Churn, Steps } from './change.ts';
import { zoneName, type NodeModel } from './cluster.ts';
import { nodeConditions, nodeObject } from './objects.ts';
import { create, patch, patchStatus, remove, type WorkloadRequest } from './request.ts';

/** To another zone or out of all, and later back: hints by CPU shares need nodes that all have one. */
export function* moveNode({ cluster, prng }: Churn, node: NodeModel): Steps {
  const before = node.zone;
  const other = zoneName(nextInt(prng, cluster.profile.zones));
  node.busy = true;
  for (const zone of [nextInt(prng, 3) === 0 ? '' : other, before]) {
    node.zone = zone;
    const labels = { 'topology.kubernetes.io/zone': zone === '' ? null : zone };
    yield nodeChange('node-zone', node, patch('Node', undefined, node.name, { metadata: { labels } }));
  }
  node.busy = false;
}

/** Its pods stay what they are: nothing in a workload is a node lifecycle controller. */
export function* turnNode(churn: Churn, node: NodeModel): Steps {
  node.busy = true;
  for (const ready of [!node.ready, node.ready]) {
    node.ready = ready;
    const conditions = nodeConditions(ready, churn.nowSeconds);
    yield nodeChange('node-readiness', node, patchStatus('Node', undefined, node.name, { conditions }));
  }
  node.busy = false;
}

/** Meanwhile its pods are on a node that nobody knows, and others may be put there. */
export function* replaceNode(_: Churn, node: NodeModel): Steps {
  node.busy = true;
  yield nodeChange('node-replace', node, remove('Node', undefined, node.name, 0));
  yield nodeChange('node-replace', node, create(nodeObject(node)));
  node.busy = false;
}

function nodeChange(kind: Change['kind'], node: NodeModel, request: WorkloadRequest): Change {
  return { kind, object: node.name, pod: null, request };
}

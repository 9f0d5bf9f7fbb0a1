/** Nodes that move to another zone, become unready, or go and come back, step by step. */
import { nextInt } from '../lib/prng.ts';
import type { Change, Churn, Steps } from './change.ts';
import { zoneName, type NodeModel } from './cluster.ts';
import { nodeConditions, nodeObject } from './objects.ts';
import { create, patch, patchStatus, remove, type WorkloadRequest } from './request.ts';

/** Moves a node to another zone or out of all, and later back. Hints by CPU shares need a zone on every node. */
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

/**
 * Turns a node's readiness, and turns it back. Its pods stay as they are, because a workload has no node lifecycle
 * controller.
 */
export function* turnNode(churn: Churn, node: NodeModel): Steps {
  node.busy = true;
  for (const ready of [!node.ready, node.ready]) {
    node.ready = ready;
    const conditions = nodeConditions(ready, churn.nowSeconds);
    yield nodeChange('node-readiness', node, patchStatus('Node', undefined, node.name, { conditions }));
  }
  node.busy = false;
}

/** Deletes a node and creates it again. In between its pods name an unknown node, and new pods may get it too. */
export function* replaceNode(_: Churn, node: NodeModel): Steps {
  node.busy = true;
  yield nodeChange('node-replace', node, remove('Node', undefined, node.name, 0));
  yield nodeChange('node-replace', node, create(nodeObject(node)));
  node.busy = false;
}

function nodeChange(kind: Change['kind'], node: NodeModel, request: WorkloadRequest): Change {
  return { kind, object: node.name, pod: null, request };
}

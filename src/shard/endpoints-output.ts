/** The Endpoints object of one service in a planner: the service's view of its pods, trigger times, and the write under way. */
import { type Membership, subsetsOf } from '../core/endpoints/membership.ts';
import { planEndpoints } from '../core/endpoints/plan.ts';
import type { Problem } from '../core/problem.ts';
import { commitTriggerTime, revertTriggerTime, takeTriggerTime, type TriggerTimes } from '../core/trigger-time.ts';
import { encodeAgain, encodeObject } from '../kube/codec.ts';
import type { Endpoints } from '../kube/types.ts';
import { assert } from '../lib/assert.ts';
import { type Ack, type EndpointsFacts, OUTPUT_ENDPOINTS, type PlannedWrite } from './protocol.ts';
import { storeApplied, storeSettled, storeUnknown, type Stored } from './stored-endpoints.ts';

export interface EndpointsOutput {
  readonly membership: Membership;
  readonly times: TriggerTimes;
  readonly stored: Stored;
  /** Planned and not acked. */
  pending: { readonly write: number; readonly object: Endpoints } | null;
}

/** Of the pending write. */
export function takeEndpointsAck(output: EndpointsOutput, ack: Ack): void {
  const { stored, times, pending } = output;
  output.pending = null;
  if (ack.result === 'applied') {
    storeApplied(stored, pending!.object, ack.uid, ack.resourceVersion);
    commitTriggerTime(times);
    return;
  }
  revertTriggerTime(times);
  if (ack.result === 'unknown') storeUnknown(stored);
}

export interface EndpointsOutputPlan {
  readonly write: PlannedWrite | null;
  readonly facts: EndpointsFacts;
  readonly problems: readonly Problem[];
}

/** The stored object must be readable. */
export function planEndpointsOutput(output: EndpointsOutput, nextId: () => number): EndpointsOutputPlan {
  const { membership, times, stored, pending } = output;
  assert(pending === null, `write ${pending?.write} is not acked`);
  assert(!stored.uncertain, 'asked to plan before the outcome of the last write was observed');
  const { spec } = membership;
  const subsets = subsetsOf(membership);
  const triggerTime = takeTriggerTime(times, spec.creationTime);
  const planned = planEndpoints({
    service: spec,
    subsets,
    stored: stored.object,
    planned: stored.planned,
    triggerTime,
  });
  const { verb, object, ready, notReady, truncated, problems } = planned;
  const facts = { ready, notReady, truncated };
  if (verb === 'none' || object === null) {
    commitTriggerTime(times);
    if (ready + notReady > 0 && truncated === 0) storeSettled(stored, subsets);
    return { write: null, facts, problems };
  }
  const write = {
    id: nextId(),
    output: OUTPUT_ENDPOINTS,
    verb,
    name: spec.name,
    uid: stored.object?.metadata.uid ?? '',
    resourceVersion: stored.object?.metadata.resourceVersion ?? '',
    phase: 1,
    body: stored.object === null ? encodeObject(object) : encodeAgain(object, stored.object),
  } as const;
  output.pending = { write: write.id, object };
  return { write, facts, problems };
}

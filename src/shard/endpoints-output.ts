/** The Endpoints object of one service in a planner: its pods, their trigger times, and the write without an ack. */
import {
  applyPod,
  createMembership,
  memberNames,
  type Membership,
  setSpec,
  subsetsOf,
  takeProblems,
} from '../core/endpoints/membership.ts';
import { planEndpoints } from '../core/endpoints/plan.ts';
import {
  commitTriggerTime,
  createTriggerTimes,
  notePodTime,
  revertTriggerTime,
  takeTriggerTime,
  type TriggerTimes,
} from '../core/trigger-time.ts';
import { encodeAgain, encodeObject } from '../kube/codec.ts';
import type { Endpoints } from '../kube/types.ts';
import { assert } from '../lib/assert.ts';
import type { OutputPlan, PlanInput, PlannerOutput } from './planner-output.ts';
import type { Ack, EndpointsFacts } from './protocol.ts';
import { storeApplied, storeSettled, storeUnknown, type Stored } from './stored-endpoints.ts';

export interface EndpointsState {
  /** null = no Service has been told. */
  membership: Membership | null;
  readonly times: TriggerTimes;
  /** The write that was planned and has no ack; null = none. */
  pending: { readonly write: number; readonly object: Endpoints } | null;
}

export const endpointsOutput: PlannerOutput<EndpointsState, EndpointsFacts> = {
  create: () => ({ membership: null, times: createTriggerTimes(), pending: null }),
  pods: {
    setSpec(state, spec, config) {
      if (state.membership === null) state.membership = createMembership(spec, config);
      else setSpec(state.membership, spec);
    },
    podNames: (state) => memberNames(membershipOf(state)),
    setPod(state, name, member) {
      const pod = member?.pod ?? null;
      const before = applyPod(membershipOf(state), name, pod);
      notePodTime(state.times, name, before?.readyTime ?? 0, pod?.readyTime ?? 0);
    },
    takeProblems: (state) => takeProblems(membershipOf(state)),
  },
  slices: null,
  needsEndpoints: true,
  pendingWrites: ({ pending }) => (pending === null ? [] : [pending.write]),
  isPending: ({ pending }, write) => pending?.write === write,
  acknowledge,
  plan,
};

function membershipOf({ membership }: EndpointsState): Membership {
  assert(membership !== null, 'pods come after the Service');
  return membership;
}

function acknowledge(state: EndpointsState, ack: Ack, stored: Stored): void {
  const { times, pending } = state;
  assert(pending !== null, 'an ack belongs to a write');
  state.pending = null;
  if (ack.result === 'applied') {
    storeApplied(stored, pending.object, ack.uid, ack.resourceVersion);
    commitTriggerTime(times);
    return;
  }
  revertTriggerTime(times);
  if (ack.result === 'unknown') storeUnknown(stored);
}

function plan(state: EndpointsState, { endpoints: stored, nextId }: PlanInput): OutputPlan<EndpointsFacts> {
  const { times, pending } = state;
  assert(pending === null, `write ${pending?.write} is not acked`);
  assert(!stored.uncertain, 'asked to plan before the outcome of the last write was observed');
  const membership = membershipOf(state);
  const { spec } = membership;
  const subsets = subsetsOf(membership);
  const triggerTime = takeTriggerTime(times, spec.creationTime);
  const planned = planEndpoints({
    service: spec,
    subsets,
    stored: stored.object,
    isCanonical: stored.isCanonical,
    triggerTime,
  });
  const { object, ready, notReady, truncated, problems } = planned;
  const facts = { ready, notReady, truncated };
  if (object === null) {
    commitTriggerTime(times);
    if (ready + notReady > 0 && truncated === 0) storeSettled(stored, subsets);
    return { writes: [], isWhole: true, facts, problems };
  }
  const write = {
    id: nextId(),
    verb: stored.object === null ? 'create' : 'update',
    name: spec.name,
    uid: stored.object?.metadata.uid ?? '',
    resourceVersion: stored.object?.metadata.resourceVersion ?? '',
    phase: 1,
    waits: false,
    family: '',
    body: stored.object === null ? encodeObject(object) : encodeAgain(object, stored.object),
  } as const;
  state.pending = { write: write.id, object };
  return { writes: [write], isWhole: true, facts, problems };
}

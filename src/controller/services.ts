/** The table of services: one entry for each key that has a Service, an Endpoints object, or a sync under way. */
import type { ServiceState } from './service-state.ts';
import type { ControllerState } from './state.ts';
import { createWorkItem, type WorkItem } from './workqueue.ts';
import { serviceKey } from '../kube/key.ts';
import { fnv1a32 } from '../lib/hash.ts';
import type { ServiceFacts } from '../shard/protocol.ts';

export function getService(state: ControllerState, namespace: string, name: string): ServiceState | undefined {
  return state.services.get(namespace)?.get(name);
}

export function ensureService(state: ControllerState, namespace: string, name: string): ServiceState {
  let names = state.services.get(namespace);
  if (names === undefined) state.services.set(namespace, (names = new Map()));
  let service = names.get(name);
  if (service === undefined) {
    service = createService(namespace, name, fnv1a32(serviceKey(namespace, name)) % state.shards.length);
    names.set(name, service);
    state.serviceCount++;
  }
  return service;
}

function createService(namespace: string, name: string, shard: number): ServiceState {
  const service: Omit<ServiceState, 'item'> & { item: null } = {
    namespace,
    name,
    shard,
    record: null,
    // Filled below: a field that is added to an object later takes more room.
    item: null,
    output: {
      record: null,
      content: null,
      known: true,
      gone: false,
      uncertain: false,
      inFlight: 0,
      held: null,
      expected: null,
      foreignEdits: 0,
      foreignEditAtMs: -Infinity,
    },
    plannerVersion: 0,
    inPlanner: false,
    specChanged: false,
    changedPods: null,
    acks: null,
    sync: null,
    failures: 0,
    deaths: 0,
    notBeforeMs: -Infinity,
    suspect: false,
    facts: undefined,
    orphanReported: '',
    changedAtMs: -1,
  };
  // Each refers to the other, so one of them is incomplete for a moment.
  const complete = service as unknown as ServiceState;
  return Object.assign(service, { item: createWorkItem(complete, namespace) });
}

/** What the last plan said of a service, kept in the sums. */
export function setFacts(state: ControllerState, service: ServiceState, facts: ServiceFacts | undefined): void {
  const before = service.facts?.truncated ?? 0;
  const after = facts?.truncated ?? 0;
  state.truncatedAddresses += after - before;
  state.truncatedServices += Number(after > 0) - Number(before > 0);
  service.facts = facts;
}

function isIdle(item: WorkItem<ServiceState>): boolean {
  return (
    item.waiting === null && item.processing === null && item.freshDueMs === Infinity && item.choreDueMs === Infinity
  );
}

/** Forgets a service that nothing refers to any more. */
export function releaseService(state: ControllerState, service: ServiceState): void {
  if (service.record !== null || service.output.record !== null || service.sync !== null) return;
  if (service.inPlanner || !isIdle(service.item)) return;
  state.stuck.delete(service);
  setFacts(state, service, undefined);
  if (service.output.expected !== null) {
    service.output.expected = null;
    state.echoesExpected--;
  }
  const names = state.services.get(service.namespace);
  if (names?.get(service.name) !== service) return;
  names.delete(service.name);
  if (names.size === 0) state.services.delete(service.namespace);
  state.serviceCount--;
}

export function* allServices(state: ControllerState): Iterable<ServiceState> {
  for (const names of state.services.values()) yield* names.values();
}

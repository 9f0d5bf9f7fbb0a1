/**
 * The pods that each Service of a recording selects, as its events come. This is the only place where a reader of
 * recordings matches selectors.
 */
import {
  createSelectorIndex,
  podsOf,
  putPod,
  putService,
  removePod,
  removeService,
  type SelectorIndex,
} from '../core/selector-index.ts';
import { selectsPods } from '../core/selects-pods.ts';
import type { PodRecord, ServiceRecord } from '../kube/types.ts';
import { LineError } from './fields.ts';
import type { ChangeOf, RecordedEvent } from './recording.ts';

/** One life of a Service. */
export interface RecordedService {
  /** The number of the Service, from 0, in the order in which Services were seen. */
  readonly number: number;
  readonly namespace: string;
  readonly name: string;
  record: ServiceRecord;
}

export interface Selections {
  readonly index: SelectorIndex<RecordedService>;
  /** Existing Services by namespace and name. */
  readonly byKey: Map<string, RecordedService>;
  /** How many Services were seen. */
  count: number;
  /** How many pods and Services the events since the last multiple of `EVENTS` have touched, and the most that they may. */
  touched: number;
  readonly touchedMax: number;
  events: number;
}

/**
 * A line of a few bytes may change the selector of a Service with all pods, and each of them costs the readers time. So does
 * a gap for each Service. No cluster comes near so many within so many events.
 */
const TOUCHED_MAX = 10_000_000;
const EVENTS = 20_000;

/** A pod of a Service before and after a change; null = it does not exist, or the Service does not select it. */
export interface Selected {
  readonly service: RecordedService;
  readonly before: PodRecord | null;
  readonly after: PodRecord | null;
}

/** The effect of one event on the Services. */
export interface Selection {
  /** The Service of the event, or of the event's output; null = there is none, or it is not known. */
  readonly service: RecordedService | null;
  /**
   * For a pod's event: each Service that selects the pod before or after. For a Service's event: each pod that it
   * selects before or after.
   */
  readonly selected: readonly Selected[];
}

const NOTHING: Selection = { service: null, selected: [] };

export function createSelections(touchedMax = TOUCHED_MAX): Selections {
  return { index: createSelectorIndex(), byKey: new Map(), count: 0, touched: 0, touchedMax, events: 0 };
}

/** Takes one event after the other. @throws LineError if they are those of no cluster */
export function takeSelection(selections: Selections, event: RecordedEvent): Selection {
  const selection = selectionOf(selections, event);
  const isOfAll = event.type === 'listed' || event.type === 'lost' || event.type === 'rewatched';
  if (selections.events++ % EVENTS === 0) selections.touched = 0;
  selections.touched += isOfAll ? selections.byKey.size : selection.selected.length;
  if (selections.touched > selections.touchedMax) {
    throw new LineError(
      `${EVENTS} events touch more than ${selections.touchedMax} pods and Services, as in no cluster`,
    );
  }
  return selection;
}

function selectionOf(selections: Selections, event: RecordedEvent): Selection {
  if (event.type !== 'change') return NOTHING;
  switch (event.resource) {
    case 'pods':
      return takePod(selections, event);
    case 'services':
      return takeService(selections, event);
    case 'nodes':
      return NOTHING;
    case 'endpoints':
    case 'endpointslices': {
      const { namespace, service } = (event.after ?? event.before)!;
      return { service: selections.byKey.get(`${namespace}/${service}`) ?? null, selected: [] };
    }
  }
}

function takePod({ index }: Selections, { before, after }: ChangeOf<'pods'>): Selection {
  const moved =
    after === null
      ? { servicesBefore: removePod(index, before!.namespace, before!.name).servicesBefore, servicesAfter: [] }
      : putPod(index, after);
  const [had, has] = [new Set(moved.servicesBefore), new Set(moved.servicesAfter)];
  const selected = [...new Set([...had, ...has])].map((service) => ({
    service,
    before: had.has(service) ? before : null,
    after: has.has(service) ? after : null,
  }));
  return { service: null, selected };
}

function takeService(selections: Selections, { before, after }: ChangeOf<'services'>): Selection {
  const { index, byKey } = selections;
  const { namespace, name } = (after ?? before)!;
  const key = `${namespace}/${name}`;
  let service = byKey.get(key) ?? null;
  if (after === null) {
    if (service === null) return NOTHING;
    const selected = [...podsOf(index, service)].map((pod) => ({ service: service!, before: pod, after: null }));
    removeService(index, service);
    byKey.delete(key);
    return { service, selected };
  }
  if (service === null) {
    service = { number: selections.count++, namespace, name, record: after };
    byKey.set(key, service);
  }
  service.record = after;
  const had = new Set(podsOf(index, service));
  putService(index, service, namespace, selectsPods(after) ? after.selector : null);
  const has = new Set(podsOf(index, service));
  const selected = [...had.union(has)].map((pod) => ({
    service,
    before: had.has(pod) ? pod : null,
    after: has.has(pod) ? pod : null,
  }));
  return { service, selected };
}

/** Each Service that selects pods, with these pods. */
export function* servicesWithPods({ byKey, index }: Selections): Generator<[RecordedService, Iterable<PodRecord>]> {
  for (const service of byKey.values()) if (selectsPods(service.record)) yield [service, podsOf(index, service)];
}

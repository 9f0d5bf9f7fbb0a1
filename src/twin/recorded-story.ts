/**
 * A recording as a story: its pods and Services by number, and what each change makes of what is to be published, by the
 * rules of the planner itself (docs/spec/endpoints.md "Which pods are included"). Changes of nodes and ports, and deletions
 * of Services, ask for no write here: what they bring about is not a change of an address.
 */
import { podAbsence, podEndpoint, podReady, wantedFamily } from '../core/pod-endpoint.ts';
import { createSelectorIndex, podsOf, putPod, putService, removePod, removeService } from '../core/selector-index.ts';
import type { SelectorIndex } from '../core/selector-index.ts';
import { selectsPods } from '../core/selects-pods.ts';
import { podEndpoints } from '../core/slices/pod-endpoints.ts';
import { sliceFamilies } from '../core/slices/slice-families.ts';
import type { PodRecord, ServiceRecord } from '../kube/types.ts';
import type { ChangeOf, RecordedEvent } from '../recording/recording.ts';
import { USUAL_SIZES } from './profiles.ts';
import { NOTHING, type Place, type PlaceChange, type Published, type Story, type StoryChange } from './story.ts';

/** A Service of the recording. */
interface Selecting {
  readonly number: number;
  readonly namespace: number;
  record: ServiceRecord;
  /** Place of each pod, by its name and uid. */
  readonly places: Map<string, number>;
}

export interface RecordedStory {
  readonly take: (event: RecordedEvent) => void;
  /** When all was listed, by the recording's clock: the story's zero. */
  readonly beganMs: () => number;
  readonly finish: () => Story;
}

interface Building {
  readonly index: SelectorIndex<Selecting>;
  readonly byKey: Map<string, Selecting>;
  readonly namespaces: Map<string, number>;
  readonly counts: { services: number; pods: number }[];
  readonly services: Story['services'][number][];
  /** A place that has come later begins as nothing. */
  readonly places: { readonly service: number; start: Published }[];
  readonly wanted: Published[];
  readonly contents: Map<string, number>;
  readonly changes: StoryChange[];
  /** What has begun: all that the recorder may read is listed. */
  beganMs: number;
  lastMs: number;
}

/** Takes the events of a recording one after the other. @param name of the recording, for people */
export function createRecordedStory(name: string): RecordedStory {
  const building: Building = {
    index: createSelectorIndex(),
    byKey: new Map(),
    namespaces: new Map(),
    counts: [],
    services: [],
    places: [],
    wanted: [],
    contents: new Map(),
    changes: [],
    beganMs: 0,
    lastMs: 0,
  };
  return {
    take: (event) => takeEvent(building, event),
    beganMs: () => building.beganMs,
    finish: () => ({
      name,
      durationMs: Math.max(0, building.lastMs - building.beganMs),
      namespaces: building.counts,
      services: building.services,
      places: building.places satisfies readonly Place[],
      changes: building.changes,
      objects: USUAL_SIZES,
    }),
  };
}

function takeEvent(building: Building, event: RecordedEvent): void {
  building.lastMs = event.atMs;
  if (event.type === 'listed' && event.told === 'start') begin(building, event.atMs);
  if (event.type === 'irrelevant') takeIrrelevant(building, event);
  if (event.type !== 'change') return;
  if (event.resource === 'pods') takePod(building, event);
  if (event.resource === 'services') takeService(building, event);
}

/** What came before the last first list is the start. */
function begin(building: Building, atMs: number): void {
  building.beganMs = atMs;
  building.changes.length = 0;
  for (const [i, wanted] of building.wanted.entries()) building.places[i]!.start = wanted;
}

/** They cost their intake, at the time when they are told of. */
function takeIrrelevant(building: Building, { atMs, counts }: Extract<RecordedEvent, { type: 'irrelevant' }>): void {
  for (let i = 0; i < (counts.pods ?? 0); i++) {
    building.changes.push({ atMs: since(building, atMs), namespace: 0, kind: 'quiet', places: [], service: -1 });
  }
}

const NONE: readonly never[] = [];

function takePod(building: Building, { atMs, before, after }: ChangeOf<'pods'>): void {
  const pod = after ?? before!;
  const namespace = namespaceOf(building, pod.namespace);
  building.counts[namespace]!.pods += (after === null ? 0 : 1) - (before === null ? 0 : 1);
  const { before: left, after: joined } =
    after === null
      ? { ...removePod(building.index, pod.namespace, pod.name), after: NONE }
      : putPod(building.index, after);
  const selecting = new Set([...left, ...joined]);
  const places: PlaceChange[] = [];
  for (const service of selecting) {
    // Another pod of the same name has another uid, and so another place.
    if (before !== null && after !== null && before.uid !== after.uid) move(building, service, before, null, places);
    move(building, service, pod, joined.includes(service) ? after : null, places);
  }
  const kind = selecting.size === 0 ? 'quiet' : 'pod';
  building.changes.push({ atMs: since(building, atMs), namespace, kind, places, service: -1 });
}

function takeService(building: Building, { atMs, before, after }: ChangeOf<'services'>): void {
  const record = after ?? before!;
  const key = `${record.namespace}/${record.name}`;
  const known = building.byKey.get(key);
  if (after === null) {
    if (known !== undefined) removeService(building.index, known);
    building.byKey.delete(key);
    return;
  }
  const service = known ?? addService(building, key, after);
  service.record = after;
  const previous = new Map([...podsOf(building.index, service)].map((pod) => [podKey(pod), pod]));
  putService(building.index, service, after.namespace, selectsPods(after) ? after.selector : null);
  const places: PlaceChange[] = [];
  for (const pod of podsOf(building.index, service)) {
    previous.delete(podKey(pod));
    move(building, service, pod, pod, places);
  }
  for (const pod of previous.values()) move(building, service, pod, null, places);
  const { namespace, number } = service;
  building.changes.push({ atMs: since(building, atMs), namespace, kind: 'service', places, service: number });
}

function addService(building: Building, key: string, record: ServiceRecord): Selecting {
  const namespace = namespaceOf(building, record.namespace);
  building.counts[namespace]!.services++;
  const families = sliceFamilies(record).length;
  const number = building.services.push({ namespace, families }) - 1;
  const service = { number, namespace, record, places: new Map<string, number>() };
  building.byKey.set(key, service);
  return service;
}

/** What becomes of a pod in a service; `pod` null = it is selected no more. */
function move(
  building: Building,
  service: Selecting,
  identity: PodRecord,
  pod: PodRecord | null,
  places: PlaceChange[],
): void {
  const key = podKey(identity);
  let place = service.places.get(key);
  if (place === undefined) {
    if (pod === null) return;
    place = building.places.push({ service: service.number, start: NOTHING }) - 1;
    building.wanted.push(NOTHING);
    service.places.set(key, place);
  }
  const wanted = pod === null ? NOTHING : publishedOf(building, service.record, pod);
  building.wanted[place] = wanted;
  places.push({ place, wanted });
}

function publishedOf({ contents }: Building, service: ServiceRecord, pod: PodRecord): Published {
  const publishNotReady = service.publishNotReadyAddresses;
  const absence = podAbsence(pod, publishNotReady);
  const address = absence === null ? podEndpoint(service, wantedFamily(service), pod).address : null;
  const isPresent = absence === null || absence === 'terminating';
  const { ipv4, ipv6 } = isPresent
    ? podEndpoints(service, sliceFamilies(service), publishNotReady, pod, '')
    : { ipv4: null, ipv6: null };
  const endpoint = ipv4 ?? ipv6;
  return {
    endpoints: address === null ? 0 : numberOf(contents, { address, ready: podReady(pod, publishNotReady) }),
    slices: endpoint === null ? 0 : numberOf(contents, { ipv4, ipv6 }),
    isReady: endpoint?.conditions?.ready === true,
  };
}

/** Equal contents have equal numbers, above 0. */
function numberOf(contents: Map<string, number>, content: object): number {
  const text = JSON.stringify(content);
  let number = contents.get(text);
  if (number === undefined) contents.set(text, (number = contents.size + 1));
  return number;
}

function namespaceOf({ namespaces, counts }: Building, name: string): number {
  let number = namespaces.get(name);
  if (number === undefined) {
    number = counts.push({ services: 0, pods: 0 }) - 1;
    namespaces.set(name, number);
  }
  return number;
}

function podKey({ name, uid }: PodRecord): string {
  return `${name}/${uid}`;
}

function since({ beganMs }: Building, atMs: number): number {
  return Math.max(0, atMs - beganMs);
}

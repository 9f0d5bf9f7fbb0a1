/**
 * A recording as a story: its pods and Services by number, and the effect of each change on what is to be published, by
 * the rules of the planner (docs/spec/endpoints.md "Which pods are included"). Changes of nodes and of port numbers cause no
 * write here, because they change no address. A write of others into the controllers' objects is a change of its own.
 */
import { reactionTo, upstreamDiffers, upstreamLabelsDiffer } from '../core/pod-changes.ts';
import { podEffectOf } from '../core/pod-effect.ts';
import { podAbsence, podEndpoint, podReady, wantedFamily } from '../core/pod-endpoint.ts';
import { selectsPods } from '../core/selects-pods.ts';
import { podEndpoints } from '../core/slices/pod-endpoints.ts';
import { sliceFamilies } from '../core/slices/slice-families.ts';
import { hintsMode } from '../core/slices/traffic-distribution.ts';
import { hasPortOn } from '../core/target-port.ts';
import type { PodRecord, ServiceRecord } from '../kube/types.ts';
import type { ChangeOf, RecordedEvent } from '../recording/recording.ts';
import type { RecordedService, Selected, Selection } from '../recording/selections.ts';
import { type OutputSizes, sizeLine } from '../recording/sizes.ts';
import type { Output, ObjectSizes } from './ledger.ts';
import { USUAL_SIZES } from './profiles.ts';
import { NOTHING, type Place, type PlaceChange, type Published, type Story, type StoryChange } from './story.ts';

export interface RecordedStory {
  /** @param selection the effect of the event on the Services */
  readonly take: (event: RecordedEvent, selection: Selection) => void;
  /**
   * The story's zero, by the recording's clock: as long after the last first list as that took. What was written while a list was
   * on its way its watch tells at once.
   */
  readonly beganMs: () => number;
  readonly finish: () => Story;
}

/** The Services and pods of a namespace now. */
interface NamespaceSize {
  services: number;
  pods: number;
  /** Each number times the milliseconds that it lasted, from the story's zero to `atMs`. */
  servicesMs: number;
  podsMs: number;
  atMs: number;
}

interface Building {
  readonly namespaces: Map<string, number>;
  readonly sizes: NamespaceSize[];
  services: Story['services'][number][];
  /** For each service: the places of its pods, by name and uid. */
  readonly placesOf: Map<string, number>[];
  /** A place that comes later begins as nothing. */
  readonly places: { readonly service: number; start: Published }[];
  readonly wanted: Published[];
  readonly contents: Map<string, number>;
  readonly changes: StoryChange[];
  objects: ObjectSizes;
  beganMs: number;
  /** Whether nothing is told any more that came before it. */
  hasBegun: boolean;
  lastMs: number;
  /** Irrelevant events were told up to here, since `beganMs`. */
  irrelevantMs: number;
}

/** Takes the events of a recording one after the other. @param name the recording's name, for people */
export function createRecordedStory(name: string): RecordedStory {
  const building: Building = {
    namespaces: new Map(),
    sizes: [],
    services: [],
    placesOf: [],
    places: [],
    wanted: [],
    contents: new Map(),
    changes: [],
    objects: USUAL_SIZES,
    beganMs: 0,
    hasBegun: false,
    lastMs: 0,
    irrelevantMs: 0,
  };
  return {
    take: (event, selection) => takeEvent(building, event, selection),
    beganMs: () => building.beganMs,
    finish: () => {
      if (!building.hasBegun) begin(building);
      return storyOf(building, name);
    },
  };
}

function storyOf(building: Building, name: string): Story {
  const durationMs = since(building, building.lastMs);
  return {
    name,
    durationMs,
    namespaces: building.sizes.map((size) => meanOf(size, durationMs)),
    services: building.services,
    places: building.places satisfies readonly Place[],
    // Irrelevant events are told after others that came later.
    changes: building.changes.toSorted((a, b) => a.atMs - b.atMs),
    objects: building.objects,
  };
}

function takeEvent(building: Building, event: RecordedEvent, selection: Selection): void {
  const { atMs } = event;
  building.lastMs = atMs;
  if (event.type === 'listed' && event.told === 'start') {
    building.beganMs = atMs + Math.min(atMs, SETTLE_MS_MAX);
    building.hasBegun = false;
  } else if (!building.hasBegun && atMs >= building.beganMs) begin(building);
  if (event.type === 'irrelevant') takeIrrelevant(building, event);
  if (event.type === 'sizes') building.objects = sizesOf(event.sizes);
  if (event.type !== 'change') return;
  if (event.resource === 'pods') takePod(building, event, selection);
  if (event.resource === 'services') takeService(building, event, selection);
  if (event.resource === 'nodes') takeNode(building, event);
  if (event.resource === 'endpoints') takeForeign(building, 'endpoints', event, selection);
  if (event.resource === 'endpointslices') takeForeign(building, 'slices', event, selection);
}

/** What a watch tells at once has come by then, however long its list took. */
const SETTLE_MS_MAX = 10_000;

/** The state that was told before is the start. */
function begin(building: Building): void {
  building.hasBegun = true;
  building.changes.length = 0;
  building.irrelevantMs = 0;
  for (const size of building.sizes) Object.assign(size, { servicesMs: 0, podsMs: 0, atMs: 0 });
  for (const [i, wanted] of building.wanted.entries()) building.places[i]!.start = wanted;
  building.services = building.services.map((service) => ({ ...service, isNew: false }));
}

function sizesOf({ endpoints, endpointslices }: OutputSizes): ObjectSizes {
  const of = (sums: OutputSizes['endpoints'], usual: ObjectSizes[Output]): ObjectSizes[Output] => ({
    protobuf: sizeLine(sums.protobuf, usual.protobuf),
    json: sizeLine(sums.json, usual.json),
  });
  return { endpoints: of(endpoints, USUAL_SIZES.endpoints), slices: of(endpointslices, USUAL_SIZES.slices) };
}

/**
 * Irrelevant events cost their intake. They are told together, every two seconds, so they are spread over the time since
 * they were told last.
 */
function takeIrrelevant(building: Building, { atMs, counts }: Extract<RecordedEvent, { type: 'irrelevant' }>): void {
  const count = counts.pods ?? 0;
  const parts = Math.min(count, IRRELEVANT_PARTS_MAX);
  const toMs = since(building, atMs);
  const fromMs = Math.max(building.irrelevantMs, toMs - IRRELEVANT_EVERY_MS);
  building.irrelevantMs = toMs;
  for (let i = 1; i <= parts; i++) {
    const events = Math.floor((count * i) / parts) - Math.floor((count * (i - 1)) / parts);
    const partMs = fromMs + ((toMs - fromMs) * i) / parts;
    building.changes.push({ atMs: partMs, namespace: 0, kind: 'quiet', events, places: [], service: -1 });
  }
}

/** How often a recorder tells them. */
const IRRELEVANT_EVERY_MS = 2000;
/** So a line of a recording makes no more changes, however many events it tells of. */
const IRRELEVANT_PARTS_MAX = 200;

function takePod(building: Building, { atMs, before, after }: ChangeOf<'pods'>, { selected }: Selection): void {
  const namespace = namespaceOf(building, (after ?? before)!.namespace);
  const size = sizeUntil(building, namespace, atMs);
  size.pods += (after === null ? 0 : 1) - (before === null ? 0 : 1);
  const noticed = noticedOf(before, after);
  const places = placesChanged(building, selected);
  const change = { atMs: since(building, atMs), namespace, kind: 'pod', places, service: -1 } as const;
  building.changes.push(noticed === null ? change : { ...change, noticed });
}

/** null = both controllers find the pod itself changed. */
function noticedOf(before: PodRecord | null, after: PodRecord | null): NonNullable<StoryChange['noticed']> | null {
  if (before === null || after === null) return null;
  const [own, upstream] = [reactionTo(before, after) === 'plan', upstreamDiffers(before, after)];
  if (own && upstream) return null;
  const otherwise = upstreamLabelsDiffer(before, after) ? 'labels' : 'nothing';
  return { endpointd: own ? 'pod' : otherwise, 'kube-controller-manager': upstream ? 'pod' : otherwise };
}

function takeService(
  building: Building,
  { atMs, before, after }: ChangeOf<'services'>,
  { service, selected }: Selection,
): void {
  const namespace = namespaceOf(building, (after ?? before)!.namespace);
  const size = sizeUntil(building, namespace, atMs);
  size.services += (after === null ? 0 : 1) - (before === null ? 0 : 1);
  if (service === null) return;
  const { number } = service;
  if (after === null) {
    building.changes.push({ atMs: since(building, atMs), namespace, kind: 'deleted', places: [], service: number });
    return;
  }
  if (building.services[number] === undefined) {
    const hasHints = hintsMode(after) === 'Auto';
    const isNew = selectsPods(service.record);
    const families = sliceFamilies(after);
    const primary = Math.max(0, families.indexOf(wantedFamily(after) ?? 'IPv4'));
    building.services.push({ namespace, families: families.length, primary, hasHints, isNew });
    building.placesOf.push(new Map());
  }
  const places = placesChanged(building, selected);
  building.changes.push({ atMs: since(building, atMs), namespace, kind: 'service', places, service: number });
}

/** A change of a node's fields that no controller reads is told by no event. */
function takeNode(building: Building, { atMs, told }: ChangeOf<'nodes'>): void {
  if (told !== 'watch') return;
  building.changes.push({ atMs: since(building, atMs), namespace: 0, kind: 'node', places: [], service: -1 });
}

/** A change of content by somebody else. The author of a deletion is not known. */
function takeForeign(
  building: Building,
  output: Output,
  { atMs, told, by, before, after }: ChangeOf<'endpoints' | 'endpointslices'>,
  { service }: Selection,
): void {
  if (told !== 'watch' || by !== 'other' || after === null || service === null || !selectsPods(service.record)) return;
  if (before !== null && CONTENT.every((field) => before[field] === after[field])) return;
  const { number } = service;
  const { namespace } = building.services[number]!;
  const change = { atMs: since(building, atMs), namespace, output, places: [], service: number };
  building.changes.push({ ...change, kind: 'foreign' });
}

/** Fields that have not changed are equal in both. */
const CONTENT = ['endpoints', 'ports', 'labels'] as const;

function placesChanged(building: Building, selected: readonly Selected[]): PlaceChange[] {
  const places: PlaceChange[] = [];
  for (const { service, before, after } of selected) {
    const stays = before !== null && after !== null;
    const change = podEffectOf(before, after);
    const add = (pod: PodRecord, wanted: Published): void => {
      const place = placeOf(building, service, pod, wanted);
      if (place >= 0) places.push({ place, wanted, change, stays });
    };
    // Another pod of the name has another uid, so it has another place.
    if (before !== null && before.uid !== after?.uid) add(before, NOTHING);
    if (after !== null) add(after, publishedOf(building, service.record, after));
  }
  return places;
}

/** A pod has a place from the time when the service first selects it. -1 = it has none, and needs none. */
function placeOf(building: Building, service: RecordedService, pod: PodRecord, wanted: Published): number {
  const places = building.placesOf[service.number]!;
  const key = podKey(pod);
  let place = places.get(key);
  if (place === undefined) {
    if (wanted === NOTHING) return -1;
    place = building.places.push({ service: service.number, start: NOTHING }) - 1;
    building.wanted.push(NOTHING);
    places.set(key, place);
  }
  building.wanted[place] = wanted;
  return place;
}

function publishedOf({ contents }: Building, service: ServiceRecord, pod: PodRecord): Published {
  const publishNotReady = service.publishNotReadyAddresses;
  const absence = podAbsence(pod, publishNotReady);
  const isListed = absence === null && hasPortOn(service, pod);
  const address = isListed ? podEndpoint(service, wantedFamily(service), pod).address : null;
  const isPresent = absence === null || absence === 'terminating';
  const { ipv4, ipv6 } = isPresent
    ? podEndpoints(service, sliceFamilies(service), publishNotReady, pod, '')
    : { ipv4: null, ipv6: null };
  const endpoint = ipv4 ?? ipv6;
  const primary = { IPv4: ipv4, IPv6: ipv6 }[wantedFamily(service) ?? 'IPv4'];
  return {
    endpoints: address === null ? 0 : numberOf(contents, { address, ready: podReady(pod, publishNotReady) }),
    slices: endpoint === null ? 0 : numberOf(contents, { ipv4, ipv6 }),
    isReady: primary?.conditions?.ready === true,
  };
}

/** Equal contents have equal numbers, above 0. */
function numberOf(contents: Map<string, number>, content: object): number {
  const text = JSON.stringify(content);
  let number = contents.get(text);
  if (number === undefined) contents.set(text, (number = contents.size + 1));
  return number;
}

function namespaceOf({ namespaces, sizes }: Building, name: string): number {
  let number = namespaces.get(name);
  if (number === undefined) {
    number = sizes.push({ services: 0, pods: 0, servicesMs: 0, podsMs: 0, atMs: 0 }) - 1;
    namespaces.set(name, number);
  }
  return number;
}

/** The size of a namespace, which is to change at `atMs` of the recording's clock. */
function sizeUntil(building: Building, namespace: number, atMs: number): NamespaceSize {
  const size = building.sizes[namespace]!;
  last(size, since(building, atMs));
  return size;
}

/** The size has lasted up to there, by the story's clock. */
function last(size: NamespaceSize, untilMs: number): void {
  size.servicesMs += size.services * (untilMs - size.atMs);
  size.podsMs += size.pods * (untilMs - size.atMs);
  size.atMs = untilMs;
}

/** The mean from the story's zero on. A story without time has the size that it ends with. */
function meanOf(size: NamespaceSize, durationMs: number): Story['namespaces'][number] {
  if (durationMs === 0) return { services: size.services, pods: size.pods };
  last(size, durationMs);
  return { services: size.servicesMs / durationMs, pods: size.podsMs / durationMs };
}

function podKey({ name, uid }: PodRecord): string {
  return `${name}/${uid}`;
}

function since({ beganMs }: Building, atMs: number): number {
  return Math.max(0, atMs - beganMs);
}

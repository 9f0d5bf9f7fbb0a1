/**
 * Whether everything that the three controllers write is right. The slow oracles judge it by the server's own lists of
 * a cluster that has come to rest.
 */
import {
  MIRROR_MANAGED_BY_VALUE,
  SERVICE_NAME_LABEL,
  MANAGED_BY_LABEL,
  MANAGED_BY_VALUE,
  SLICE_MANAGED_BY_LABEL,
  SLICE_MANAGED_BY_VALUE,
} from '../kube/names.ts';
import type { Endpoints, EndpointSlice, KubeObject } from '../kube/types.ts';
import { oracleShares } from './hints-oracle.ts';
import { judgeMirror, oracleMirror, type MirrorOptions } from './mirror-oracle.ts';
import { judgeSlices, type Fault } from './slices-judge.ts';
import { oracleSlices } from './slices-oracle.ts';
import { readInputs, type CheckInputs } from './check-inputs.ts';
import { endpointsText, expectedOf } from './endpoints-check.ts';

/** All objects of each kind, from the server's lists. */
export interface ClusterObjects {
  readonly services: readonly KubeObject[];
  readonly pods: readonly KubeObject[];
  readonly nodes: readonly KubeObject[];
  readonly endpoints: readonly KubeObject[];
  readonly slices: readonly KubeObject[];
}

export interface CheckOptions {
  /** Whether the controller runs. The objects of a controller that does not run are not judged. */
  readonly endpointsController: boolean;
  readonly slicesController: boolean;
  readonly mirroringController: boolean;
  /** `--max-endpoints-per-slice`; Infinity where larger slices existed before. */
  readonly maxEndpointsPerSlice: number;
  readonly mirroring: MirrorOptions;
  readonly tolerateUnreadyEndpointsAnnotation: boolean;
  /**
   * Whether a garbage collector runs, so that no slice outlives its Service. Without one slices stay, since neither
   * upstream nor endpointd deletes the slices of a deleted Service.
   */
  readonly garbageCollected: boolean;
  /** Namespaces in which nothing is judged, such as namespaces that are being deleted. */
  readonly except: ReadonlySet<string>;
}

const CHECK_DEFAULTS: CheckOptions = {
  endpointsController: true,
  slicesController: true,
  mirroringController: true,
  maxEndpointsPerSlice: 100,
  mirroring: { endpointsPerSubsetMax: 1000, all: false },
  tolerateUnreadyEndpointsAnnotation: false,
  garbageCollected: false,
  except: new Set(),
};

/** An object that is missing, wrong or left over. */
export interface WrongObject {
  readonly kind: 'Endpoints' | 'EndpointSlice';
  /** `<namespace>/<name>` of the object. If an endpoint or a slice is missing, that of the Service. */
  readonly name: string;
  /** One line. */
  readonly reason: string;
}

export function wrongObjects(objects: ClusterObjects, options: Partial<CheckOptions> = {}): WrongObject[] {
  const told = { ...CHECK_DEFAULTS, ...options };
  const inputs = readInputs(objects.services, objects.pods, objects.nodes);
  const wrong = [
    ...(told.endpointsController ? wrongEndpoints(inputs, objects.endpoints, told) : []),
    ...(told.slicesController ? wrongSlices(inputs, objects.slices, told) : []),
    ...(told.mirroringController ? wrongMirrored(inputs, objects, told) : []),
  ];
  return wrong.filter(({ name }) => !told.except.has(name.slice(0, name.indexOf('/'))));
}

/** The first few wrong objects, one a line, for a message. */
export function wrongText(wrong: readonly WrongObject[], shown = 5): string {
  const lines = wrong.slice(0, shown).map(({ kind, name, reason }) => `${kind} ${name}: ${reason}`);
  return [...lines, ...(wrong.length > shown ? [`and ${wrong.length - shown} more`] : [])].join('\n');
}

function wrongEndpoints(inputs: CheckInputs, endpoints: readonly KubeObject[], options: CheckOptions): WrongObject[] {
  const wrong: WrongObject[] = [];
  const expected = expectedOf(inputs, options);
  const missing = new Set(expected.keys());
  for (const object of endpoints) {
    const name = keyOf(object);
    const text = expected.get(name);
    missing.delete(name);
    const reason = text === undefined ? leftOver(inputs, object) : difference(text, endpointsText(object));
    if (reason !== null) wrong.push({ kind: 'Endpoints', name, reason });
  }
  for (const name of missing) wrong.push({ kind: 'Endpoints', name, reason: 'is missing' });
  return wrong;
}

/** Endpoints whose Service is gone are left over. Those of a Service that has lost its selector stay, as upstream. */
function leftOver({ services }: CheckInputs, object: KubeObject): string | null {
  const ours = object.metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY_VALUE;
  return ours && !services.has(keyOf(object)) ? 'has no Service' : null;
}

function difference(wanted: string, held: string): string | null {
  if (wanted === held) return null;
  const [lines, heldLines] = [wanted.split('\n'), held.split('\n')];
  const missing = lines.find((line) => !heldLines.includes(line));
  if (missing !== undefined) return `lacks "${missing}"`;
  const surplus = heldLines.find((line) => !lines.includes(line));
  return surplus === undefined ? 'has its parts in another order' : `should not have "${surplus}"`;
}

/** Finds the faults in all slices of one Service that have one controller's label. */
type SlicesJudge = (slices: readonly EndpointSlice[]) => readonly Fault[];

/** A judge for each Service with a selector, by the Service's key. */
function selectorJudges(inputs: CheckInputs, options: CheckOptions): Map<string, SlicesJudge> {
  const { maxEndpointsPerSlice } = options;
  const shares = oracleShares(inputs.nodes.values());
  const judges = new Map<string, SlicesJudge>();
  for (const [key, service] of inputs.services) {
    // Nothing new is made for a Service that is being deleted, and its slices go with it.
    if (service.deleting) continue;
    const expected = oracleSlices(service, { pods: inputs.podsFor(service), nodes: inputs.nodes }, options);
    if (expected !== null) judges.set(key, (slices) => judgeSlices(expected, slices, { maxEndpointsPerSlice, shares }));
  }
  return judges;
}

/** A judge for each Service whose Endpoints are mirrored, by the Service's key. */
function mirrorJudges(
  { services }: CheckInputs,
  endpoints: readonly KubeObject[],
  { mirroring }: CheckOptions,
): Map<string, SlicesJudge> {
  const judges = new Map<string, SlicesJudge>();
  for (const object of endpoints) {
    const key = keyOf(object);
    const expected = oracleMirror(services.get(key) ?? null, object as unknown as Endpoints, mirroring);
    if (expected === null) continue;
    const going = object.metadata.deletionTimestamp !== undefined;
    judges.set(key, (slices) => (going ? [] : judgeMirror(expected, slices, mirroring)));
  }
  return judges;
}

/**
 * Whether the objects of each Service are right, by `<namespace>/<name>`. A Service without a judge may have any
 * objects.
 */
export type Judges = ReadonlyMap<string, (objects: readonly KubeObject[]) => boolean>;

/** For each Service that should have slices: whether all slices that name it are right. */
export function slicesJudges(objects: Omit<ClusterObjects, 'slices'>, options: Partial<CheckOptions> = {}): Judges {
  const told = { ...CHECK_DEFAULTS, ...options };
  const inputs = readInputs(objects.services, objects.pods, objects.nodes);
  const judges = new Map<string, (slices: readonly KubeObject[]) => boolean>();
  const add = (managedBy: string, all: ReadonlyMap<string, SlicesJudge>): void => {
    for (const [key, judge] of all) {
      judges.set(key, (slices) => judge(slicesByService(slices, managedBy).get(key) ?? []).length === 0);
    }
  };
  if (told.slicesController) add(SLICE_MANAGED_BY_VALUE, selectorJudges(inputs, told));
  if (told.mirroringController) add(MIRROR_MANAGED_BY_VALUE, mirrorJudges(inputs, objects.endpoints, told));
  return judges;
}

function wrongSlices(inputs: CheckInputs, slices: readonly KubeObject[], options: CheckOptions): WrongObject[] {
  const byService = slicesByService(slices, SLICE_MANAGED_BY_VALUE);
  const faults = [...selectorJudges(inputs, options)].flatMap(([key, judge]) => judge(byService.get(key) ?? []));
  if (options.garbageCollected) {
    for (const key of inputs.services.keys()) byService.delete(key);
    faults.push(...orphans(byService, 'has no Service'));
  }
  return faults.map(asWrong);
}

function wrongMirrored(
  inputs: CheckInputs,
  { endpoints, slices }: ClusterObjects,
  options: CheckOptions,
): WrongObject[] {
  const byService = slicesByService(slices, MIRROR_MANAGED_BY_VALUE);
  const faults: Fault[] = [];
  for (const [key, judge] of mirrorJudges(inputs, endpoints, options)) {
    faults.push(...judge(byService.get(key) ?? []));
    byService.delete(key);
  }
  faults.push(...orphans(byService, 'mirrors nothing'));
  return faults.map(asWrong);
}

/** The slices of one controller that are not being deleted, by `<namespace>/<service>`. */
function slicesByService(slices: readonly KubeObject[], managedBy: string): Map<string, EndpointSlice[]> {
  const byService = new Map<string, EndpointSlice[]>();
  for (const slice of slices) {
    const { namespace, labels = {}, deletionTimestamp } = slice.metadata;
    if (labels[SLICE_MANAGED_BY_LABEL] !== managedBy || deletionTimestamp !== undefined) continue;
    const service = labels[SERVICE_NAME_LABEL] ?? '';
    // Both controllers find their slices by this label, so a slice without it belongs to neither.
    if (service === '') continue;
    const key = `${namespace}/${service}`;
    const found = byService.get(key) ?? [];
    byService.set(key, found);
    found.push(slice as unknown as EndpointSlice);
  }
  return byService;
}

function orphans(byService: ReadonlyMap<string, readonly EndpointSlice[]>, reason: string): Fault[] {
  return [...byService.values()].flat().map(({ metadata }) => ({
    object: `${metadata.namespace}/${metadata.name}`,
    reason,
  }));
}

function asWrong({ object, reason }: Fault): WrongObject {
  return { kind: 'EndpointSlice', name: object, reason };
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** Why a Service has the endpoints that it has, explained pod by pod. */
import { labelsMissing, type MissingLabel } from '../../kube/labels.ts';
import { emptyPod, podIPsOf } from '../../kube/record.ts';
import type { Endpoints, EndpointSlice, IpFamily, OutputRecord, PodRecord, ServiceRecord } from '../../kube/types.ts';
import { applyPod, createMembership, type Membership, subsetsOf } from '../endpoints/membership.ts';
import { planEndpoints } from '../endpoints/plan.ts';
import { parseIp } from '../ip.ts';
import { type MirrorScope, whyUnmirrored } from '../mirroring/mirrored.ts';
import type { MirrorConfig } from '../mirroring/plan.ts';
import { type Unplanned, whyUnplanned } from '../selects-pods.ts';
import type { CpuShares } from '../slices/cpu-shares.ts';
import {
  applySlicesPod,
  createServiceSlices,
  observeSlice,
  type ServiceSlices,
  setSlicesSpec,
  type SlicesConfig,
} from '../slices/service-slices.ts';
import { hintsMode } from '../slices/traffic-distribution.ts';
import { resolveTargetPorts } from '../target-port.ts';
import { publishingOf } from '../tolerate-unready.ts';
import { type EndpointsVerdict, type EndpointsVerdicts, endpointsVerdicts } from './endpoints.ts';
import { type MirroredAddress, mirroredAddresses } from './mirroring.ts';
import {
  cleanUpText,
  notWrittenText,
  problemText,
  type Reason,
  reasonText,
  unmirroredText,
  unplannedText,
} from './reasons.ts';
import { type HintsVerdict, NO_HINTS, type SlicesVerdicts, type SliceVerdict, slicesVerdicts } from './slices.ts';
import {
  type Listed,
  type ListedAddress,
  listedAddresses,
  type ListedEndpoint,
  listedInEndpoints,
  listedInSlices,
} from './stored.ts';

export interface ExplainConfig extends SlicesConfig, MirrorScope {
  readonly mirror: MirrorConfig;
  readonly notRun: NotRun;
  readonly kubeletShutdownIsTermination: boolean;
}

/** The names of the controllers that do not run (`--controllers`), by what they write; '' = it runs. */
export interface NotRun {
  readonly endpoints: string;
  readonly slices: string;
  readonly mirror: string;
}

export interface Seen {
  readonly service: ServiceRecord;
  /** Pods that may belong to the Service, ascending by name. */
  readonly pods: readonly PodRecord[];
  /** The name of the one pod that is explained; null = all are. Counts and verdicts are of all in any case. */
  readonly asked: string | null;
  /** Whether `pods` has every pod that the Service selects and, where none is asked for, every one that it lists. */
  readonly allPods: boolean;
  /**
   * Zones by node; '' = the node has no zone label. A node that is missing here does not exist. null = the nodes could
   * not be seen.
   */
  readonly zones: ReadonlyMap<string, string> | null;
  /** null = there are none, or the nodes could not be seen. */
  readonly shares: CpuShares | null;
  /** null = there are no Endpoints; undefined = they could not be seen. */
  readonly endpoints: { readonly object: Endpoints; readonly record: OutputRecord } | null | undefined;
  /** All slices that name the Service, whoever made them; undefined = they could not be seen. */
  readonly slices: readonly EndpointSlice[] | undefined;
}

export interface ServiceExplanation {
  readonly service: string;
  /** Why nothing is planned from pods; '' = it is planned. */
  readonly unplanned: string;
  /** Why its Endpoints are not mirrored; '' = they are; null = they could not be seen. */
  readonly unmirrored: string | null;
  /** What else is to be said of the Service itself, such as an annotation that cannot be read. */
  readonly notes: readonly string[];
  /** A sentence for each kind of object that `--controllers` leaves to nobody. */
  readonly notWritten: readonly string[];
  /** null = nothing is planned or written, or not all pods could be seen. */
  readonly endpoints: { readonly ready: number; readonly notReady: number; readonly truncated: number } | null;
  /** Empty if nothing is planned or written, or not all pods could be seen. */
  readonly families: readonly FamilyExplanation[];
  readonly due: DueWrites;
  readonly pods: readonly PodExplanation[];
  readonly mirrored: readonly MirroredAddress[];
}

/**
 * How many writes would be planned now; null = the stored objects, or what they depend on, could not be seen, or nothing
 * here plans them: slices that mirror Endpoints, and what --clean-up-unselected deletes.
 */
export interface DueWrites {
  readonly endpoints: number | null;
  readonly slices: number | null;
}

export interface FamilyExplanation {
  readonly family: IpFamily;
  readonly endpoints: number;
  readonly slices: number;
  /** `none`, `Auto`, or the traffic distribution. */
  readonly hints: string;
  /** Why wanted hints are missing; '' = none are missing; null = what they depend on could not be seen. */
  readonly hintsFailure: string | null;
}

export interface PodExplanation {
  readonly pod: string;
  /** Of a pod that does not exist only the name is known: the objects list it. */
  readonly exists: boolean;
  readonly selected: boolean;
  readonly addresses: readonly { readonly ip: string; readonly family: IpFamily | '' }[];
  readonly phase: string;
  /** Whether the condition Ready is True. */
  readonly ready: boolean;
  /** When the condition Ready last changed, in seconds since the epoch; 0 = not known. */
  readonly readySince: number;
  readonly publishNotReady: boolean;
  readonly terminating: boolean;
  /** `known` null = nodes could not be seen. */
  readonly node: { readonly name: string; readonly known: boolean | null; readonly zone: string };
  /** The ports of the Service. `number` null = the pod has no such port. */
  readonly ports: readonly { readonly name: string; readonly target: string; readonly number: number | null }[];
  /** null = `--controllers` leaves out the controller that writes them; so for the slices. */
  readonly endpoints: EndpointsExplanation | null;
  readonly slices: readonly SliceExplanation[] | null;
  readonly notes: readonly string[];
}

export interface Verdict {
  readonly state: 'ready' | 'not-ready' | 'left-out';
  readonly reason: Reason | null;
  readonly why: string;
}

export interface EndpointsExplanation extends Verdict {
  /** How the stored Endpoints have the pod, right or wrong; null = they could not be seen. */
  readonly listed: Listed | null;
}

export interface SliceExplanation extends Verdict, HintsVerdict, Omit<ListedEndpoint, 'listed'> {
  readonly family: IpFamily;
  readonly serving: boolean;
  readonly terminating: boolean;
  /** How the slices that planning counts have the pod, right or wrong; null = they could not be seen. */
  readonly listed: Listed | null;
  /** The stored slices that list a pod of its name, whoever made them; null = they could not be seen. */
  readonly listedIn: readonly string[] | null;
}

/**
 * Explains the pods of `seen`, or the one that was asked for. A pod whose labels match the selector belongs to the Service.
 * Any other pod is explained by the labels that it lacks. Behind them come the pods that do not exist and are listed.
 */
export function explainService(seen: Seen, config: ExplainConfig): ServiceExplanation {
  const { service } = seen;
  const unplanned = whyUnplanned(service, config.optOutLabel);
  const base = { service: `${service.namespace}/${service.name}`, unmirrored: whyNotMirrored(seen, config) };
  const isMirrored = base.unmirrored === '' && seen.endpoints != null;
  const mirrored = isMirrored ? mirroredAddresses(seen.endpoints.object, config.mirror) : [];
  if (unplanned !== null) {
    const due = unplannedDue(service, unplanned, config);
    const none = { notWritten: [], endpoints: null, families: [], due, pods: [] };
    return { ...base, ...none, unplanned: unplannedText(unplanned), notes: cleanUpNotes(unplanned, config), mirrored };
  }
  const { publishNotReady, problem } = publishingOf(service, config);
  const { membership, slices } = takeIn(seen, config);
  const inEndpoints = endpointsVerdicts(membership);
  const inSlices = slicesVerdicts(slices, seen.shares, hintsUnseen(seen));
  const verdicts: Verdicts = {
    notRun: config.notRun,
    kubeletEnds: config.kubeletShutdownIsTermination,
    endpoints: inEndpoints.pods,
    slices: inSlices.pods,
    families: slices.families.map(({ family }) => family),
    listedIn: seen.slices === undefined ? null : sliceNamesByPod(seen.slices),
    storedEndpoints: inSlices.stored,
    storedAddresses: seen.endpoints === undefined ? null : listedAddresses(seen.endpoints?.object.subsets ?? []),
  };
  return {
    ...base,
    unplanned: '',
    notes: problem === null ? [] : [problemText(problem)],
    notWritten: notWrittenOf(config.notRun),
    ...writtenCounts(seen.allPods ? countsOf(seen, membership, inEndpoints, inSlices) : NO_COUNTS, config.notRun),
    pods: [
      ...seen.pods
        .filter(({ name }) => seen.asked === null || name === seen.asked)
        .map((pod) => explainPod(seen, pod, NOT_SELECTED, publishNotReady, verdicts)),
      ...gonePods(seen, verdicts).map((pod) => explainPod(seen, pod, GONE, publishNotReady, verdicts)),
    ],
    mirrored,
  };
}

function unplannedDue(
  { selector }: ServiceRecord,
  why: Unplanned,
  { cleanUpUnselected, notRun }: ExplainConfig,
): DueWrites {
  if (why === 'opted-out') return { endpoints: 0, slices: 0 };
  const mirrors = notRun.mirror === '';
  if (cleanUpUnselected) {
    return { endpoints: notRun.endpoints === '' ? null : 0, slices: mirrors || notRun.slices === '' ? null : 0 };
  }
  // Mirrored are Endpoints of a Service without a selector, whatever its type.
  return { endpoints: 0, slices: selector === null && mirrors ? null : 0 };
}

function cleanUpNotes(why: Unplanned, { cleanUpUnselected, notRun }: ExplainConfig): string[] {
  if (!cleanUpUnselected || why === 'opted-out') return [];
  const kinds = [
    ...(notRun.endpoints === '' ? ['Endpoints'] : []),
    ...(notRun.slices === '' ? ['EndpointSlices'] : []),
  ];
  return kinds.length === 0 ? [] : [cleanUpText(kinds)];
}

/** What nobody writes for a Service with a selector. */
function notWrittenOf({ endpoints, slices }: NotRun): string[] {
  return [
    ...(endpoints === '' ? [] : [`Endpoints: ${notWrittenText(endpoints)}`]),
    ...(slices === '' ? [] : [`EndpointSlices: ${notWrittenText(slices)}`]),
  ];
}

type Counts = Pick<ServiceExplanation, 'endpoints' | 'families' | 'due'>;

const NO_COUNTS: Counts = { endpoints: null, families: [], due: { endpoints: null, slices: null } };

/** The counts without what nobody writes: no write of it is due, whatever is stored. */
function writtenCounts({ endpoints, families, due }: Counts, notRun: NotRun): Counts {
  const [writesEndpoints, writesSlices] = [notRun.endpoints === '', notRun.slices === ''];
  return {
    endpoints: writesEndpoints ? endpoints : null,
    families: writesSlices ? families : [],
    due: { endpoints: writesEndpoints ? due.endpoints : 0, slices: writesSlices ? due.slices : 0 },
  };
}

/** What depends on all pods together. */
function countsOf(
  seen: Seen,
  membership: Membership,
  { capped: { ready, notReady, truncated } }: EndpointsVerdicts,
  { facts, writes }: SlicesVerdicts,
): Counts {
  const hints = hintsMode(seen.service);
  const hintsSeen = hintsUnseen(seen) === '';
  // The zone of each endpoint is in its slice.
  const nodesSeen = seen.zones !== null || facts.families.every(({ endpoints }) => endpoints === 0);
  return {
    endpoints: { ready, notReady, truncated },
    families: facts.families.map(({ family, endpoints, slices, hintsFailure }) => {
      return { family, endpoints, slices, hints, hintsFailure: hintsSeen ? hintsFailure : null };
    }),
    due: {
      endpoints: endpointsDue(seen, membership),
      slices: seen.slices !== undefined && nodesSeen ? writes.length : null,
    },
  };
}

/** Why the hints cannot be told; '' = they can. */
function hintsUnseen({ service, zones, allPods }: Seen): string {
  const mode = hintsMode(service);
  if (mode === 'none') return '';
  if (zones === null) return 'the nodes could not be seen';
  return mode === 'Auto' && !allPods ? 'the other pods could not be seen' : '';
}

/** The state that a planner would have of what is seen. */
function takeIn(seen: Seen, config: ExplainConfig): { membership: Membership; slices: ServiceSlices } {
  const { service } = seen;
  const membership = createMembership(service, config);
  const slices = createServiceSlices(config);
  setSlicesSpec(slices, service);
  for (const pod of seen.pods) {
    if (labelsMissing(pod.labels, service.selector ?? []).length > 0) continue;
    applyPod(membership, pod.name, pod);
    applySlicesPod(slices, pod.name, { pod, zone: zoneOf(seen, pod) });
  }
  for (const slice of seen.slices ?? []) observeSlice(slices, slice.metadata.name ?? '', slice);
  return { membership, slices };
}

function endpointsDue({ service, endpoints }: Seen, membership: Membership): number | null {
  if (endpoints === undefined) return null;
  const stored = endpoints?.object ?? null;
  const subsets = subsetsOf(membership);
  return planEndpoints({ service, subsets, stored, isCanonical: false, triggerTime: 0 }).object === null ? 0 : 1;
}

function whyNotMirrored({ service, endpoints }: Seen, config: ExplainConfig): string | null {
  const why = whyUnmirrored(service, endpoints?.record ?? null, config);
  const { mirror } = config.notRun;
  if (mirror !== '' && (why === null || why === 'no-endpoints')) return notWrittenText(mirror);
  if (why === 'no-endpoints' && endpoints === undefined) return null;
  return why === null ? '' : unmirroredText(why);
}

/** Nodes that could not be seen are taken to exist. */
function zoneOf({ zones }: Seen, { nodeName }: PodRecord): string | null {
  return zones === null ? '' : (zones.get(nodeName) ?? null);
}

/** Names of slices, by the family and the name of a pod that they list. */
function sliceNamesByPod(slices: readonly EndpointSlice[]): ReadonlyMap<string, readonly string[]> {
  const listed = new Map<string, string[]>();
  for (const { addressType, endpoints, metadata } of slices) {
    for (const { targetRef } of endpoints ?? []) {
      if (targetRef?.kind !== 'Pod') continue;
      const key = `${addressType}/${targetRef.name ?? ''}`;
      const names = listed.get(key);
      if (names === undefined) listed.set(key, [metadata.name ?? '']);
      else names.push(metadata.name ?? '');
    }
  }
  return listed;
}

/** What was found of all pods, by name. A pod that is not selected has no verdict. */
interface Verdicts {
  readonly notRun: NotRun;
  readonly kubeletEnds: boolean;
  readonly endpoints: ReadonlyMap<string, EndpointsVerdict>;
  readonly slices: ReadonlyMap<string, readonly SliceVerdict[]>;
  readonly families: readonly IpFamily[];
  readonly listedIn: ReadonlyMap<string, readonly string[]> | null;
  readonly storedEndpoints: SlicesVerdicts['stored'];
  readonly storedAddresses: ReadonlyMap<string, readonly ListedAddress[]> | null;
}

/** The pods that do not exist and that the objects list, ascending by name: records that have the name alone. */
function gonePods(
  { service: { namespace }, pods, asked, allPods }: Seen,
  { notRun, families, listedIn, storedAddresses }: Verdicts,
): PodRecord[] {
  if (asked !== null || !allPods) return [];
  const names = new Set<string>(notRun.endpoints === '' ? storedAddresses?.keys() : null);
  for (const key of (notRun.slices === '' ? listedIn?.keys() : null) ?? []) {
    const family = families.find((each) => key.startsWith(`${each}/`));
    if (family !== undefined) names.add(key.slice(family.length + 1));
  }
  for (const { name } of pods) names.delete(name);
  names.delete('');
  return [...names].sort().map((name) => Object.assign(emptyPod(), { namespace, name }));
}

/** @param absent the verdict of a pod that planning does not know */
function explainPod(
  seen: Seen,
  pod: PodRecord,
  absent: AbsentVerdict,
  publishNotReady: boolean,
  verdicts: Verdicts,
): PodExplanation {
  const { service, zones } = seen;
  const exists = absent.reason !== 'gone';
  const missing = labelsMissing(pod.labels, service.selector ?? []);
  const numbers = resolveTargetPorts(service.ports, pod);
  const inEndpoints = verdicts.endpoints.get(pod.name);
  return {
    pod: `${pod.namespace}/${pod.name}`,
    exists,
    selected: exists && missing.length === 0,
    addresses: podIPsOf(pod)
      .filter((ip) => ip !== '')
      .map((ip) => ({ ip, family: parseIp(ip)?.family ?? '' })),
    phase: pod.phase,
    ready: pod.ready,
    readySince: pod.readyTime,
    publishNotReady,
    terminating: pod.deleting,
    node: {
      name: pod.nodeName,
      known: zones === null ? null : zones.has(pod.nodeName),
      zone: zones?.get(pod.nodeName) ?? '',
    },
    ports: service.ports.map(({ name, targetPort, protocol }, i) => {
      return { name, target: `${targetPort}/${protocol}`, number: numbers[i]! };
    }),
    ...explainPlaces(seen, pod, missing, absent, verdicts),
    notes: notesOf(inEndpoints, verdicts.notRun),
  };
}

function explainPlaces(
  { service, zones }: Seen,
  pod: PodRecord,
  missing: readonly MissingLabel[],
  absent: AbsentVerdict,
  verdicts: Verdicts,
): Pick<PodExplanation, 'endpoints' | 'slices'> {
  const { notRun, kubeletEnds, storedAddresses, storedEndpoints, families } = verdicts;
  const say = ({ state, reason, problem }: Pick<EndpointsVerdict, 'state' | 'reason' | 'problem'>): Verdict => {
    const why = reason === null ? '' : reasonText(reason, { service, pod, missing, problem, kubeletEnds });
    return { state, reason, why };
  };
  const inEndpoints = verdicts.endpoints.get(pod.name) ?? absent;
  const listed = storedAddresses && listedInEndpoints(inEndpoints, storedAddresses.get(pod.name) ?? []);
  const inSlices = verdicts.slices.get(pod.name);
  const ofFamily = (family: IpFamily, at: number): SliceExplanation => {
    const key = `${family}/${pod.name}`;
    const verdict = inSlices?.[at];
    const facts =
      verdict === undefined ? { ...say(absent), ...NO_ENDPOINT } : { ...say(verdict), ...endpointFacts(verdict) };
    const now = listedInSlices(verdict?.endpoint ?? null, storedEndpoints.get(key) ?? [], zones !== null);
    const { listedIn } = verdicts;
    if (listedIn === null) return { ...facts, family, ...now, listed: null, listedIn };
    return { ...facts, family, ...now, listedIn: listedIn.get(key) ?? [] };
  };
  return {
    endpoints: notRun.endpoints === '' ? { ...say(inEndpoints), listed } : null,
    slices: notRun.slices === '' ? families.map(ofFamily) : null,
  };
}

const NOT_SELECTED = { state: 'left-out', reason: 'not-selected', address: null, problem: null } as const;
const GONE = { ...NOT_SELECTED, reason: 'gone' } as const;
type AbsentVerdict = typeof NOT_SELECTED | typeof GONE;

const NO_ENDPOINT: EndpointFacts = { serving: false, terminating: false, ...NO_HINTS };

type EndpointFacts = Omit<SliceExplanation, 'family' | 'listedIn' | keyof ListedEndpoint | keyof Verdict>;

function endpointFacts({ endpoint, hints }: SliceVerdict): EndpointFacts {
  const { serving, terminating } = endpoint?.conditions ?? {};
  return { serving: serving === true, terminating: terminating === true, ...hints };
}

function notesOf(verdict: EndpointsVerdict | undefined, notRun: NotRun): string[] {
  if (verdict === undefined) return [];
  const notes: string[] = [];
  if (verdict.partly && notRun.endpoints === '')
    notes.push('cut off for some of its ports: the Endpoints object is full');
  if (verdict.problem !== null && verdict.state !== 'left-out') notes.push(problemText(verdict.problem));
  return notes;
}

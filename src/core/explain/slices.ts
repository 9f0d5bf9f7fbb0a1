/** What the EndpointSlices of a Service should say of each of its pods, found from the state of planning. */
import type { Endpoint, EndpointSlice, IpFamily, SlicePort } from '../../kube/types.ts';
import type { Problem } from '../problem.ts';
import type { CpuShares } from '../slices/cpu-shares.ts';
import type { SlicesFacts } from '../slices/facts.ts';
import type { SliceEntry } from '../slices/family-slices.ts';
import { isReady } from '../slices/hint-summary.ts';
import { planSlices } from '../slices/plan.ts';
import { type ServiceSlices, slicePodNames, slicePodState } from '../slices/service-slices.ts';
import type { SliceWrite } from '../slices/slice-write.ts';
import { hintsMode } from '../slices/traffic-distribution.ts';
import type { Reason } from './reasons.ts';
import { fewItems } from '../../lib/few.ts';

export interface SliceVerdict {
  readonly family: IpFamily;
  readonly state: 'ready' | 'not-ready' | 'left-out';
  /** Why the pod is left out or not ready; null = it is ready. */
  readonly reason: Reason | null;
  /** The endpoint that a slice should have, with hints; null = the pod is left out. */
  readonly endpoint: Endpoint | null;
  readonly ports: readonly SlicePort[];
  readonly hints: HintsVerdict;
  /** What is wrong with the pod, whether the pod is left out or only one of its fields. */
  readonly problem: Problem | null;
}

export interface HintsVerdict {
  /** null = what they depend on could not be seen. */
  readonly hintZones: readonly string[] | null;
  readonly hintNodes: readonly string[];
  /** Why the endpoint has these hints, or none; '' = it is left out. */
  readonly hintsWhy: string;
}

export const NO_HINTS: HintsVerdict = { hintZones: [], hintNodes: [], hintsWhy: '' };

export interface SlicesVerdicts {
  /** By pod name: one verdict for each family of the Service, IPv4 first. */
  readonly pods: ReadonlyMap<string, readonly SliceVerdict[]>;
  /** What planning would write now. */
  readonly writes: readonly SliceWrite[];
  readonly facts: SlicesFacts;
  /** By family and pod name: the stored endpoints in the slices that planning counts. */
  readonly stored: ReadonlyMap<string, readonly Endpoint[]>;
}

/**
 * Makes a plan and reads the verdicts from it. The Service must be known. Like every plan, this takes the problems that
 * have come up.
 * @param hintsUnseen why the hints cannot be told; '' = they can
 */
export function slicesVerdicts(s: ServiceSlices, shares: CpuShares | null, hintsUnseen: string): SlicesVerdicts {
  let drawn = 0;
  const { writes, facts } = planSlices(s, { triggerTime: 0, shares, suffix: () => String(drawn++).padStart(5, '0') });
  const { spec } = s.service!;
  const hinted = hintedEndpoints(s, writes);
  const mode = hintsMode(spec);
  const pods = new Map<string, SliceVerdict[]>();
  for (const name of slicePodNames(s)) {
    pods.set(
      name,
      s.families.map(({ family }) => {
        const { absence, ports, problem } = slicePodState(s, name, family)!;
        const rest = { family, ports: ports?.ports ?? [], problem };
        if (absence !== null) return { ...rest, state: 'left-out', reason: absence, endpoint: null, hints: NO_HINTS };
        const planned = hinted.get(`${family}/${name}`);
        // Nothing but creates is ever left out of a plan, and only for a Service that is being deleted.
        if (planned === undefined) {
          return { ...rest, state: 'left-out', reason: 'service-ending', endpoint: null, hints: NO_HINTS };
        }
        const failure = facts.families.find((each) => each.family === family)?.hintsFailure ?? '';
        const hints = hintsVerdict(planned, mode, failure, hintsUnseen);
        if (isReady(planned)) return { ...rest, state: 'ready', reason: null, endpoint: planned, hints };
        const reason = planned.conditions?.serving === true ? 'ending' : 'not-ready';
        return { ...rest, state: 'not-ready', reason, endpoint: planned, hints };
      }),
    );
  }
  return { pods, writes, facts, stored: storedEndpoints(s) };
}

/** The slices that planning counts: not those of somebody else, or of an earlier Service. */
function* countedSlices(s: ServiceSlices): Generator<SliceEntry> {
  for (const { groups } of s.families) for (const { entries } of groups.values()) yield* fewItems(entries);
}

function storedEndpoints(s: ServiceSlices): Map<string, Endpoint[]> {
  const listed = new Map<string, Endpoint[]>();
  for (const { stored } of countedSlices(s)) {
    const { addressType, endpoints } = stored.object;
    for (const endpoint of endpoints ?? []) {
      if (endpoint.targetRef?.kind !== 'Pod') continue;
      const key = `${addressType}/${endpoint.targetRef.name ?? ''}`;
      const known = listed.get(key);
      if (known === undefined) listed.set(key, [endpoint]);
      else known.push(endpoint);
    }
  }
  return listed;
}

/** The endpoints after the writes, by family and pod. */
function hintedEndpoints(s: ServiceSlices, writes: readonly SliceWrite[]): Map<string, Endpoint> {
  const after = new Map<string, EndpointSlice | null>();
  for (const { name, stored } of countedSlices(s)) after.set(name, stored.object);
  for (const { name, object } of writes) after.set(name, object);
  const endpoints = new Map<string, Endpoint>();
  for (const slice of after.values()) {
    for (const endpoint of slice?.endpoints ?? []) {
      endpoints.set(`${slice!.addressType}/${endpoint.targetRef?.name ?? ''}`, endpoint);
    }
  }
  return endpoints;
}

function hintsVerdict(
  endpoint: Endpoint,
  mode: ReturnType<typeof hintsMode>,
  failure: string,
  unseen: string,
): HintsVerdict {
  const { forZones, forNodes } = endpoint.hints ?? {};
  const hintNodes = (forNodes ?? []).map(({ name }) => name);
  // An endpoint that is not ready has no hints whatever could not be seen.
  if (unseen !== '' && isReady(endpoint)) return { hintZones: null, hintNodes, hintsWhy: unseen };
  const hintsWhy = hintsText(endpoint, mode, unseen === '' ? failure : '');
  return { hintZones: (forZones ?? []).map(({ name }) => name), hintNodes, hintsWhy };
}

function hintsText(endpoint: Endpoint, mode: ReturnType<typeof hintsMode>, failure: string): string {
  if (mode === 'none') return 'the Service asks for none';
  if (failure !== '') return failure;
  if (!isReady(endpoint)) return 'only ready endpoints get hints';
  const zone = endpoint.zone ?? '';
  if (mode === 'Auto') {
    const given = endpoint.hints?.forZones?.[0]?.name ?? '';
    return given === zone ? 'its own zone' : `zone ${zone} has more than its share of the CPU, zone ${given} less`;
  }
  const own = [
    ...(endpoint.hints?.forZones == null ? [] : ['zone']),
    ...(endpoint.hints?.forNodes == null ? [] : ['node']),
  ];
  if (own.length > 0) return `its own ${own.join(' and ')}`;
  return mode === 'PreferSameNode' ? 'it has neither a zone nor a node of its own' : 'its node has no zone';
}

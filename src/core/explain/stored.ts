/** How the stored objects of a Service have a pod, compared with what is planned of it as planning compares them. */
import type { Endpoint, EndpointAddress, EndpointSubset } from '../../kube/types.ts';
import { addressEqual } from '../endpoints/equality.ts';
import { endpointContentEqual, sameEndpoint } from '../slices/endpoint-identity.ts';
import { isReady } from '../slices/hint-summary.ts';
import type { EndpointsVerdict } from './endpoints.ts';

/** `outdated` = the object has the pod's name, but with another uid, address, host name, node or zone. */
export type Listed = 'ready' | 'not-ready' | 'left-out' | 'outdated';

export interface ListedAddress {
  readonly address: EndpointAddress;
  readonly ready: boolean;
}

/** The stored addresses of each pod, by its name. A pod with several ports may stand in several subsets. */
export function listedAddresses(subsets: readonly EndpointSubset[]): ReadonlyMap<string, readonly ListedAddress[]> {
  const listed = new Map<string, ListedAddress[]>();
  const add = (address: EndpointAddress, ready: boolean): void => {
    const { kind, name = '' } = address.targetRef ?? {};
    if (kind !== 'Pod') return;
    const known = listed.get(name);
    if (known === undefined) listed.set(name, [{ address, ready }]);
    else known.push({ address, ready });
  };
  for (const { addresses = [], notReadyAddresses = [] } of subsets) {
    for (const address of addresses) add(address, true);
    for (const address of notReadyAddresses) add(address, false);
  }
  return listed;
}

/**
 * How the stored Endpoints have a pod. Of several addresses the one that differs from the plan counts, because a write
 * is due for it.
 */
export function listedInEndpoints(
  { state, address: planned }: Pick<EndpointsVerdict, 'state' | 'address'>,
  listed: readonly ListedAddress[],
): Listed {
  if (listed.length === 0) return 'left-out';
  if (planned !== null && listed.some(({ address }) => !addressEqual(planned, address))) return 'outdated';
  const states = listed.map(({ ready }) => (ready ? 'ready' : 'not-ready'));
  return states.find((each) => each !== state) ?? states[0]!;
}

/** What the stored slices say of a pod. The conditions are false unless a slice has them as true. */
export interface ListedEndpoint {
  readonly listed: Listed;
  readonly listedServing: boolean;
  readonly listedTerminating: boolean;
}

/**
 * How the stored slices have a pod. Of several endpoints the one that differs from the plan counts.
 *
 * @param planned null = the pod is left out
 * @param zonesSeen whether the zone in `planned` is known; if not, zones are not compared
 */
export function listedInSlices(
  planned: Endpoint | null,
  listed: readonly Endpoint[],
  zonesSeen: boolean,
): ListedEndpoint {
  const [first] = listed;
  if (first === undefined) return { listed: 'left-out', listedServing: false, listedTerminating: false };
  if (planned === null) return conditionsOf(first);
  const other = listed.find((endpoint) => !isSamePod(planned, endpoint, zonesSeen));
  if (other !== undefined) return { ...conditionsOf(other), listed: 'outdated' };
  const right = conditionsOf(planned);
  const states = listed.map(conditionsOf);
  return (
    states.find(
      (each) =>
        each.listed !== right.listed ||
        each.listedServing !== right.listedServing ||
        each.listedTerminating !== right.listedTerminating,
    ) ?? right
  );
}

/** Whether both are of the same pod in the same place, whatever their conditions are. */
function isSamePod(planned: Endpoint, stored: Endpoint, zonesSeen: boolean): boolean {
  const zone = zonesSeen ? stored.zone : planned.zone;
  return (
    sameEndpoint(planned, stored) && endpointContentEqual(planned, { ...stored, conditions: planned.conditions, zone })
  );
}

function conditionsOf(endpoint: Endpoint): ListedEndpoint {
  const { serving, terminating } = endpoint.conditions ?? {};
  return {
    listed: isReady(endpoint) ? 'ready' : 'not-ready',
    listedServing: serving === true,
    listedTerminating: terminating === true,
  };
}

/** What the Endpoints of a Service say of each of its pods, found from the state of planning. */
import type { EndpointAddress, EndpointSubset } from '../../kube/types.ts';
import { type Membership, memberNames, memberState, subsetsOf } from '../endpoints/membership.ts';
import { capAddresses, type Capped } from '../endpoints/over-capacity.ts';
import type { Problem } from '../problem.ts';
import type { Reason } from './reasons.ts';

export interface EndpointsVerdict {
  readonly state: 'ready' | 'not-ready' | 'left-out';
  /** Why the pod is left out or not ready; null = it is ready. */
  readonly reason: Reason | null;
  /** What the object should list; null = the pod is left out. */
  readonly address: EndpointAddress | null;
  /** Whether the pod is listed for only some of its ports, because the object is full. */
  readonly partly: boolean;
  /** What is wrong with the pod, whether the pod is left out or only one of its fields. */
  readonly problem: Problem | null;
}

export interface EndpointsVerdicts {
  /** By pod name. */
  readonly pods: ReadonlyMap<string, EndpointsVerdict>;
  readonly capped: Capped;
}

/** A verdict for each pod that the service selects. */
export function endpointsVerdicts(membership: Membership): EndpointsVerdicts {
  const subsets = subsetsOf(membership);
  const capped = capAddresses(subsets);
  const whole = timesListed(subsets);
  const kept = capped.truncated === 0 ? whole : timesListed(capped.subsets);
  const pods = new Map<string, EndpointsVerdict>();
  for (const name of memberNames(membership)) {
    const { absence, address, ready, problem } = memberState(membership, name)!;
    const times = kept.get(name) ?? 0;
    const partly = times > 0 && times < (whole.get(name) ?? 0);
    if (absence !== null) pods.set(name, { state: 'left-out', reason: absence, address: null, partly, problem });
    else if (times === 0) {
      const reason = whole.has(name) ? 'truncated' : 'same-address';
      pods.set(name, { state: 'left-out', reason, address: null, partly, problem });
    } else if (ready) pods.set(name, { state: 'ready', reason: null, address, partly, problem });
    else pods.set(name, { state: 'not-ready', reason: 'not-ready', address, partly, problem });
  }
  return { pods, capped };
}

/** In how many lists each pod stands. */
function timesListed(subsets: readonly EndpointSubset[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const { addresses = [], notReadyAddresses = [] } of subsets) {
    for (const list of [addresses, notReadyAddresses]) {
      for (const { targetRef } of list) {
        const name = targetRef?.name ?? '';
        times.set(name, (times.get(name) ?? 0) + 1);
      }
    }
  }
  return times;
}

import type { EndpointPort, Endpoints, EndpointSubset } from '../../kube/types.ts';
import { portKey } from '../endpoints/identity.ts';
import type { Problem } from '../problem.ts';
import { type Desired, usableIp } from './desired.ts';

/** How many fields a problem names. */
const FIELDS_MAX = 3;

/** What was left out, in the words of upstream's events (docs/spec/endpointslice.md "Mirroring: content"). */
export function mirrorProblems(endpoints: Endpoints, desired: Desired, addressesMax: number): readonly Problem[] {
  const object = `endpoints ${endpoints.metadata.namespace ?? ''}/${endpoints.metadata.name ?? ''}`;
  const subsets = endpoints.subsets ?? [];
  const problems: Problem[] = [];
  if (desired.invalid > 0) {
    const message = `Skipped ${desired.invalid} invalid IP addresses when mirroring to EndpointSlices`;
    problems.push({ kind: 'mirror-bad-address', object, field: badAddressFields(subsets), message });
  }
  if (desired.skipped > desired.invalid) {
    const message =
      `A max of ${addressesMax} addresses can be mirrored to EndpointSlices per Endpoints subset.` +
      ` ${desired.skipped} addresses were skipped`;
    problems.push({
      kind: 'mirror-truncated',
      object,
      field: truncatedFields(subsets, desired.truncated),
      message,
    });
  }
  return problems;
}

function badAddressFields(subsets: readonly EndpointSubset[]): string {
  const fields: string[] = [];
  subsets.forEach((subset, s) => {
    for (const list of ['addresses', 'notReadyAddresses'] as const) {
      subset[list]?.forEach(({ ip }, a) => {
        if (fields.length <= FIELDS_MAX && usableIp(ip) === null) fields.push(`subsets[${s}].${list}[${a}].ip`);
      });
    }
  });
  return joinFields(fields);
}

/** The subsets, as the user wrote them, that went into a merged subset above the limit. */
function truncatedFields(subsets: readonly EndpointSubset[], merged: readonly EndpointSubset[]): string {
  const wanted = new Set(merged.flatMap(portIdentities));
  const fields: string[] = [];
  subsets.forEach((subset, s) => {
    if (portIdentities(subset).some((identity) => wanted.has(identity))) fields.push(`subsets[${s}]`);
  });
  return joinFields(fields);
}

/**
 * What identifies the ports of a subset. A merged subset holds the port objects of the stored subsets. A port with an
 * appProtocol equals no other port, so its object identifies it.
 */
function portIdentities(subset: EndpointSubset): readonly (string | EndpointPort)[] {
  if (subset.ports === undefined || subset.ports.length === 0) return [''];
  return subset.ports.map((port) => (port.appProtocol === undefined ? portKey(port) : port));
}

function joinFields(fields: readonly string[]): string {
  const named = fields.slice(0, FIELDS_MAX).join(', ');
  return fields.length > FIELDS_MAX ? `${named}, ...` : named;
}

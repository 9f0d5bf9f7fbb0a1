/** Which listed difference from kube-controller-manager a difference is, as far as it can be told by the objects. */
import { patternOf, type Difference, type Kind } from './difference.ts';
import {
  ENDPOINTS_DIFFERENCES,
  MIRRORING_DIFFERENCES,
  SLICES_DIFFERENCES,
  type Difference as ListedDifference,
  type Sign,
} from '../core/differences.ts';
import type { Problem } from '../core/problem.ts';

const LISTS: Readonly<Record<Kind, readonly ListedDifference[]>> = {
  Endpoints: ENDPOINTS_DIFFERENCES,
  EndpointSlice: SLICES_DIFFERENCES,
  'mirrored EndpointSlice': MIRRORING_DIFFERENCES,
};

/** What else is known of the service. */
export interface Circumstances {
  readonly problems: readonly Problem[];
  /** Whether that pod of the service's namespace is there and has ended. */
  readonly hasEnded: (pod: string) => boolean;
}

/** null = it is on no list, or does not show which one. */
export function listedDifference(difference: Difference, about: Circumstances): ListedDifference | null {
  const signed = LISTS[difference.kind].find(({ sign }) => sign !== undefined && shows(sign, difference, about));
  return signed ?? null;
}

function shows(sign: Sign, { field, stored, planned }: Difference, { problems, hasEnded }: Circumstances): boolean {
  if (sign.field !== undefined && sign.field !== patternOf(field) && sign.field !== anyKey(field)) return false;
  const is = stored === null ? 'missing' : planned === null ? 'extra' : 'other';
  if (sign.is !== undefined && sign.is !== is) return false;
  if (sign.planned !== undefined && sign.planned !== planned) return false;
  if (sign.problem !== undefined && !problems.some(({ kind }) => kind === sign.problem)) return false;
  return sign.podEnded !== true || hasEnded(podOf(stored ?? ''));
}

function anyKey(field: string): string {
  return field.replace(/\[.*\]$/, '[*]');
}

/** Of an endpoint as `partText` writes it. */
function podOf(text: string): string {
  return /\btargetRef=Pod [^/]*\/(\S+) /.exec(text)?.[1] ?? '';
}

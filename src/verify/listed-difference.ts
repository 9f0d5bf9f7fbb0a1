/** The listed difference from kube-controller-manager behind a difference, where the objects show it. */
import { patternOf, type Difference, type Kind } from './difference.ts';
import {
  ENDPOINTS_DIFFERENCES,
  MIRRORING_DIFFERENCES,
  SLICES_DIFFERENCES,
  type UpstreamDifference,
  type Sign,
} from '../core/differences.ts';
import { CONTROLLER_MANAGERS } from '../core/last-writer.ts';
import type { Problem } from '../core/problem.ts';

const LISTS: Readonly<Record<Kind, readonly UpstreamDifference[]>> = {
  Endpoints: ENDPOINTS_DIFFERENCES,
  EndpointSlice: SLICES_DIFFERENCES,
  'mirrored EndpointSlice': MIRRORING_DIFFERENCES,
};

/** What else is known of the service. */
export interface Circumstances {
  readonly problems: readonly Problem[];
  /** The field manager that has written the object last; '' = not known. */
  readonly writer: string;
  /** Whether the pod of that name exists in the service's namespace and has ended. */
  readonly hasEnded: (pod: string) => boolean;
}

/** null = the difference is on no list, or does not show which one it is. */
export function listedDifference(difference: Difference, about: Circumstances): UpstreamDifference | null {
  const signed = LISTS[difference.kind].filter(({ sign }) => sign !== undefined && shows(sign, difference, about));
  // The sign of an edit by another writer fits many differences. Any other sign says more, so it goes first.
  return signed.find(({ sign }) => sign?.writtenByOther === undefined) ?? signed[0] ?? null;
}

function shows(sign: Sign, { field, stored, planned }: Difference, about: Circumstances): boolean {
  if (sign.field !== undefined && sign.field !== patternOf(field) && sign.field !== anyKey(field)) return false;
  const is = stored === null ? 'missing' : planned === null ? 'extra' : 'other';
  if (sign.is !== undefined && sign.is !== is) return false;
  if (sign.planned !== undefined && sign.planned !== planned) return false;
  if (sign.without !== undefined && planned?.includes(sign.without) !== false) return false;
  if (sign.problem !== undefined && !about.problems.some(({ kind }) => kind === sign.problem)) return false;
  if (sign.writtenByOther === true && (about.writer === '' || CONTROLLER_MANAGERS.has(about.writer))) return false;
  return sign.podEnded !== true || about.hasEnded(podOf(stored ?? ''));
}

function anyKey(field: string): string {
  return field.replace(/\[.*\]$/, '[*]');
}

/** The name of the pod in the text of an endpoint that `partText` has made. */
function podOf(text: string): string {
  return /\btargetRef=Pod [^/]*\/(\S+) /.exec(text)?.[1] ?? '';
}

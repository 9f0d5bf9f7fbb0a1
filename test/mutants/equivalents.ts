/**
 * Mutants that no test can kill, since nobody can tell them from the program. Each is found by its file, the function that
 * it is in, the text that goes and the text that comes, as the tool prints them.
 */
import type { Mutant } from './find-mutants.ts';

export interface Equivalent {
  readonly file: string;
  readonly within: string;
  readonly original: string;
  readonly replacement: string;
  readonly reason: string;
}

export const EQUIVALENTS: readonly Equivalent[] = [
  {
    file: 'src/controller/caches/objects.ts',
    within: 'endpointsTarget.listing',
    original: "service.endpoints.deletedUid === ''",
    replacement: 'false',
    reason: 'a service that is kept for something is still kept when it is released again',
  },
  {
    file: 'src/controller/caches/services.ts',
    within: 'endpointsController',
    original: "controllers.find(({ kind }) => kind === 'endpoints')",
    replacement: "controllers.findLast(({ kind }) => kind === 'endpoints')",
    reason: 'one controller writes Endpoints',
  },
  {
    file: 'src/controller/definitions/hint-events.ts',
    within: 'hintEvents',
    original: 'before?.families.find(({ family }) => family === is.family)',
    replacement: 'before?.families.findLast(({ family }) => family === is.family)',
    reason: 'a service has each family once',
  },
  {
    file: 'src/controller/reflectors/reflector-requests.ts',
    within: 'list',
    original: 'reflector.hasAskedForList',
    replacement: 'true',
    reason: 'the cache is empty before the first list, so a list that marks nothing takes nothing away',
  },
  {
    file: 'src/controller/syncs/sync.ts',
    within: 'onPlanned',
    original: '1',
    replacement: '0',
    reason: 'to wait for no time is to be told no time',
  },
  {
    file: 'src/controller/syncs/planner-view.ts',
    within: 'takeShared',
    original: 'zones.length === 0',
    replacement: 'false',
    reason: 'an empty list tells the planner as much as none',
  },
  {
    file: 'src/core/endpoints/sorted-addresses.ts',
    within: 'MERGE_CHANGES_MIN',
    original: '16',
    replacement: '(16 + 1)',
    reason: 'both ways lead to the same list; which one is faster changes gradually',
  },
  {
    file: 'src/core/mirroring/plan.ts',
    within: 'compareNames',
    original: 'nameOf(a) < nameOf(b)',
    replacement: 'nameOf(a) <= nameOf(b)',
    reason: 'no two slices of a namespace have the same name',
  },
  {
    file: 'src/core/mirroring/plan.ts',
    within: 'toWrites',
    original: "''",
    replacement: "'mutated'",
    reason: 'Endpoints that an API server has stored have a name and a namespace',
  },
  {
    file: 'src/kube/endpoint-address.ts',
    within: 'put',
    original: 'seen > 0x7f',
    replacement: 'true',
    reason: 'the general way, which is taken then, writes the same bytes',
  },
  {
    file: 'src/shard/entry-bytes.ts',
    within: 'estimateServiceBytes',
    original: '0',
    replacement: '(0 + 1)',
    reason: 'an upper bound that is a byte higher is one, too',
  },
  {
    file: 'src/shard/codec.ts',
    within: 'estimateResultBytes',
    original: '2',
    replacement: '(2 + 1)',
    reason: 'an upper bound that is a few bytes higher is one, too',
  },
  {
    file: 'src/shard/facts-codec.ts',
    within: 'estimateSlicesFactsBytes',
    original: 'SHORT_HEADER_BYTES * 5',
    replacement: 'SHORT_HEADER_BYTES / 5',
    reason: 'each header counts for more than it takes, so that it is still an upper bound',
  },
  {
    file: 'src/controller/syncs/shard-batches.ts',
    within: 'buildEntry',
    original: 'upserts.push(memberOf(state, pod))',
    replacement: 'upserts.unshift(memberOf(state, pod))',
    reason: 'a planner keeps pods by name, in whatever order they come',
  },
  {
    file: 'src/controller/syncs/clean-up.ts',
    within: 'remove',
    original: '1',
    replacement: '0',
    reason: 'the phase of a write counts where a plan has several',
  },
  {
    file: 'src/shard/planner.ts',
    within: 'planOutputs',
    original: "''",
    replacement: "'mutated'",
    reason: 'an output that was not planned has thrown, and what it threw is there',
  },
];

export function isEquivalent(mutant: Mutant, listed: readonly Equivalent[]): boolean {
  return listed.some((entry) => matches(entry, mutant));
}

/** Entries about code that is there no more. */
export function staleEntries(listed: readonly Equivalent[], mutants: readonly Mutant[]): Equivalent[] {
  return listed.filter((entry) => !mutants.some((mutant) => matches(entry, mutant)));
}

function matches(entry: Equivalent, mutant: Mutant): boolean {
  return (
    entry.file === mutant.file &&
    entry.within === mutant.within &&
    entry.original === mutant.original &&
    entry.replacement === mutant.replacement
  );
}

/** When a recording begins: once pods, Services and one kind of outputs are listed. All else may be refused. */
import { WORDS } from './lines.ts';
import type { RecordedResource } from './recording.ts';

const RESOURCES = Object.keys(WORDS) as RecordedResource[];

/** The resources of which the recorder has learnt. A refused one is not listed. */
export interface Learnt {
  readonly listed: ReadonlySet<RecordedResource>;
  readonly refused: ReadonlySet<RecordedResource>;
}

/** It stays begun: what is listed once is never refused. */
export function hasBegun({ listed, refused }: Learnt): boolean {
  return RESOURCES.every((resource) => listed.has(resource) || refused.has(resource)) && neededOf(refused).length === 0;
}

/** What is refused and without which nothing can be learnt. */
export function neededOf(refused: Iterable<RecordedResource>): RecordedResource[] {
  const all = [...refused];
  const inputs = all.filter((resource) => resource === 'pods' || resource === 'services');
  const outputs = all.filter((resource) => resource === 'endpoints' || resource === 'endpointslices');
  if (inputs.length > 0) return inputs;
  return outputs.length < 2 ? [] : outputs;
}

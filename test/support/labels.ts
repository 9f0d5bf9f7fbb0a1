import { labelsFromPairs } from '../../src/kube/labels.ts';
import type { Labels } from '../../src/kube/types.ts';

export function labelsFromRecord(record: Readonly<Record<string, string>>): Labels {
  return labelsFromPairs(Object.entries(record));
}

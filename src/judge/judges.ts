import type { KubeObject } from '../kube/types.ts';

/**
 * Whether the objects of each Service are right, by `<namespace>/<name>`. A Service without a judge may have any
 * objects.
 */
export type Judges = ReadonlyMap<string, (objects: readonly KubeObject[]) => boolean>;

import type { KubeObject } from '../kube/types.ts';

/** What the objects of each service must be, by `<namespace>/<name>`; of other services they may be anything. */
export type Judges = ReadonlyMap<string, (objects: readonly KubeObject[]) => boolean>;

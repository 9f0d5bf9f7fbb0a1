import type { ShadowPlan } from './writes/shadow-plan.ts';
import type { HttpRequest } from '../ports/transport.ts';
import type { Batch } from '../shard/protocol.ts';

/** Everything that a step can ask of the world. */
export type Effect =
  | { readonly type: 'http'; readonly request: HttpRequest }
  | { readonly type: 'cancel'; readonly id: number }
  | { readonly type: 'shard.post'; readonly shard: number; readonly batchId: number; readonly batch: Batch }
  | { readonly type: 'shard.restart'; readonly shard: number }
  | LogEffect
  | { readonly type: 'shadow'; readonly plan: ShadowPlan }
  | { readonly type: 'stopped' };

export interface LogEffect {
  readonly type: 'log';
  readonly level: 'error' | 'warning' | 'info';
  /** klog verbosity: the line is written when `-v` is at least this. */
  readonly v: number;
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean>>;
  /** `<folder>/<file>:<line>` of who says it; absent where nobody asked. */
  readonly source?: string;
}

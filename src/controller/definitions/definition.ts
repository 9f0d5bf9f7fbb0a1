import type { ControllerName, ControllerOptions } from '../options.ts';
import type { OutputKind } from '../../shard/protocol.ts';

/** One controller, as data: all that tells it from the others. */
export interface Definition<K extends OutputKind = OutputKind> {
  /** What it writes. */
  readonly kind: K;
  readonly name: ControllerName;
  /** `source.component` of its events. */
  readonly component: string;
  /** What marks an EndpointSlice as its own; '' = it writes Endpoints. */
  readonly managedBy: string;
  /** As upstream calls its queue in metrics. */
  readonly queueName: string;
  isEnabled(options: ControllerOptions): boolean;
  pace(options: ControllerOptions): ControllerPace;
}

export interface ControllerPace {
  /** Units that are synced at the same time, at most. */
  readonly concurrent: number;
  /** After a change of a pod. */
  readonly batchPeriodMs: number;
  /** After a change of one of its objects by somebody else, at least; 0 = there is no such period. */
  readonly objectBatchPeriodMs: number;
}

/**
 * The controllers that run in this process. Each has its own queue, batch period, concurrency and back-off; the inputs
 * of a service, and what its planner has of them, are shared (docs/spec/protocols.md "Unit of work").
 */
import type { FailureClass } from './backoff.ts';
import { createControllerInstruments, type ControllerInstruments } from './instruments.ts';
import type { ControllerOptions } from './options.ts';
import type { Unit } from './unit.ts';
import { createWorkQueue, type WorkQueue } from './workqueue.ts';
import { MIRROR_MANAGED_BY_VALUE, SLICE_MANAGED_BY_VALUE } from '../kube/names.ts';
import type { MetricStore } from '../metrics/store.ts';
import { OUTPUT_ENDPOINTS, OUTPUT_MIRROR, OUTPUT_SLICES } from '../shard/protocol.ts';

/** Also the value of the label `controller` in metrics. */
export type ControllerName = 'endpoints' | 'endpointslice' | 'endpointslice-mirroring';

export interface Controller {
  readonly name: ControllerName;
  readonly options: ControllerOptions;
  /** The bit that stands for what it writes. */
  readonly output: number;
  readonly queue: WorkQueue<Unit>;
  readonly instruments: ControllerInstruments;
  /** After a change of a pod. */
  readonly batchPeriodMs: number;
  /** After a change of one of its objects by somebody else, at least; 0 = there is no such period. */
  readonly objectBatchPeriodMs: number;
  /** `source.component` of its events. */
  readonly component: string;
  /** What marks an EndpointSlice as its own; '' = it writes Endpoints. */
  readonly managedBy: string;
  /** The caches that it reads are filled: it works. */
  running: boolean;
  /** Units that cannot be brought up to date, with the class of their last failure. */
  readonly stuck: Map<Unit, FailureClass>;
}

/** Those that the options enable. */
export function createControllers(options: ControllerOptions, metrics: MetricStore): readonly Controller[] {
  const controllers: Controller[] = [];
  const add = (controller: Pick<Controller, 'name' | 'output' | 'component' | 'managedBy'>, more: Timing): void => {
    const { queueName, concurrent, batchPeriodMs, objectBatchPeriodMs } = more;
    controllers.push({
      ...controller,
      options,
      queue: createWorkQueue<Unit>(queueName, concurrent),
      instruments: createControllerInstruments(metrics, controller.name),
      batchPeriodMs,
      objectBatchPeriodMs,
      running: false,
      stuck: new Map(),
    });
  };
  if (options.endpoints) {
    add(
      { name: 'endpoints', output: OUTPUT_ENDPOINTS, component: 'endpoint-controller', managedBy: '' },
      {
        queueName: 'endpoint',
        concurrent: options.concurrentEndpointSyncs,
        batchPeriodMs: options.endpointUpdatesBatchPeriodMs,
        objectBatchPeriodMs: 0,
      },
    );
  }
  if (options.slices) {
    add(
      {
        name: 'endpointslice',
        output: OUTPUT_SLICES,
        component: 'endpoint-slice-controller',
        managedBy: SLICE_MANAGED_BY_VALUE,
      },
      {
        queueName: 'endpoint_slice',
        concurrent: options.concurrentServiceEndpointSyncs,
        batchPeriodMs: options.endpointsliceUpdatesBatchPeriodMs,
        objectBatchPeriodMs: options.endpointsliceUpdatesBatchPeriodMs,
      },
    );
  }
  if (options.mirroring) {
    add(
      {
        name: 'endpointslice-mirroring',
        output: OUTPUT_MIRROR,
        component: 'endpoint-slice-mirroring-controller',
        managedBy: MIRROR_MANAGED_BY_VALUE,
      },
      {
        queueName: 'endpoint_slice_mirroring',
        concurrent: options.mirroringConcurrentServiceEndpointSyncs,
        batchPeriodMs: 0,
        objectBatchPeriodMs: options.mirroringEndpointsliceUpdatesBatchPeriodMs,
      },
    );
  }
  return controllers;
}

interface Timing {
  readonly queueName: string;
  readonly concurrent: number;
  readonly batchPeriodMs: number;
  readonly objectBatchPeriodMs: number;
}

/**
 * The controllers that run in this process. Each has its own queue, batch period, concurrency and back-off; the inputs
 * of a service, and what its planner has of them, are shared (docs/spec/protocols.md "Unit of work").
 */
import { createControllerInstruments } from '../reports/instruments.ts';
import type { ControllerOptions } from '../options.ts';
import { createWorkQueue } from '../queues/workqueue.ts';
import type { Controller, Unit } from '../caches/service-state.ts';
import { MIRROR_MANAGED_BY_VALUE, SLICE_MANAGED_BY_VALUE } from '../../kube/names.ts';
import type { MetricStore } from '../../metrics/store.ts';
import { OUTPUT_ENDPOINTS, OUTPUT_MIRROR, OUTPUT_SLICES } from '../../shard/protocol.ts';

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

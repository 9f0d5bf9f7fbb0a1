/**
 * The controllers that run in this process. Each has its own queue, batch period, concurrency and back-off; the inputs
 * of a service, and what its planner has of them, are shared (docs/spec/protocols.md "Unit of work").
 */
import { createControllerInstruments } from '../reports/instruments.ts';
import type { ControllerOptions } from '../options.ts';
import { createWorkQueue } from '../queues/workqueue.ts';
import type { Controller } from '../caches/service-state.ts';
import type { MetricStore } from '../../metrics/store.ts';
import { OUTPUT_ENDPOINTS, OUTPUT_MIRROR, OUTPUT_SLICES } from '../../shard/protocol.ts';
import type { Definition } from './definition.ts';
import { DEFINITIONS } from './definitions.ts';

const BITS = { endpoints: OUTPUT_ENDPOINTS, slices: OUTPUT_SLICES, mirror: OUTPUT_MIRROR };

/** Those that the options enable. */
export function createControllers(options: ControllerOptions, metrics: MetricStore): readonly Controller[] {
  return Object.values(DEFINITIONS)
    .filter((definition) => definition.isEnabled(options))
    .map((definition) => createController(definition, options, metrics));
}

function createController(definition: Definition, options: ControllerOptions, metrics: MetricStore): Controller {
  const pace = definition.pace(options);
  return {
    ...definition,
    ...pace,
    output: BITS[definition.kind],
    options,
    queue: createWorkQueue(definition.queueName, pace.concurrent),
    instruments: createControllerInstruments(metrics, definition.name),
    running: false,
    stuck: new Map(),
  };
}

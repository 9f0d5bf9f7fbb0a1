/**
 * The controllers that run in this process. Each has its own queue, batch period, concurrency and back-off. They share
 * a service's inputs and its planner (docs/protocols.md "Unit of work").
 */
import { createControllerInstruments } from '../reports/instruments.ts';
import type { ControllerOptions } from '../options.ts';
import { createWorkQueue } from '../queues/workqueue.ts';
import type { Controller } from '../caches/service-state.ts';
import { assert } from '../../lib/assert.ts';
import type { MetricStore } from '../../metrics/store.ts';
import type { Facts, OutputKind } from '../../shard/protocol.ts';
import type { Definition, OutputReport } from './definition.ts';
import { DEFINITIONS } from './definitions.ts';

/**
 * The controllers that the options enable.
 * @param isCounted whether what they do counts in metrics with upstream's names: of a standby it does not
 */
export function createControllers(
  options: ControllerOptions,
  metrics: MetricStore,
  isCounted: () => boolean,
): readonly Controller[] {
  return Object.values(DEFINITIONS)
    .filter(({ kind }) => options[kind])
    .map((definition) => createController(definition, options, metrics, isCounted));
}

function createController<K extends OutputKind>(
  definition: Definition<K>,
  options: ControllerOptions,
  metrics: MetricStore,
  isCounted: () => boolean,
): Controller {
  const limits = definition.limits(options);
  return {
    ...definition,
    ...limits,
    options,
    queue: createWorkQueue(definition.queueName, limits.concurrent, isCounted),
    instruments: createControllerInstruments(metrics, definition.name),
    report: checked(definition.kind, definition.createReport(metrics, isCounted)),
    running: false,
    stuck: new Map(),
  };
}

/** The report, callable with the facts of any output. Facts of another output are refused. */
function checked<K extends OutputKind>(kind: K, report: OutputReport<K>): OutputReport {
  const own = (facts: Facts): Facts<K> => {
    assert(isOf(facts, kind), `facts of ${facts.kind} are told to the report of ${kind}`);
    return facts;
  };
  return {
    sum: (facts, sign) => report.sum(own(facts), sign),
    planned: (facts) => report.planned(own(facts)),
    events: (facts, before) => report.events(own(facts), before),
    applied: (verb) => report.applied(verb),
    synced: (isSuccess, seconds, facts) => report.synced(isSuccess, seconds, facts && own(facts)),
    fields: (facts) => report.fields(own(facts)),
  };
}

function isOf<K extends OutputKind>(facts: Facts, kind: K): facts is Facts & Facts<K> {
  return facts.kind === kind;
}

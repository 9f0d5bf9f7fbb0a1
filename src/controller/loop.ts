/** The controller's only caller of the ports. It feeds events to `step`, one after the other, and performs its effects. */
import type { Effect, LogEffect } from './effect.ts';
import type { Event } from './event.ts';
import { liveness, readiness, type HealthCheck } from './reports/health.ts';
import type { ControllerOptions } from './options.ts';
import type { ShadowPlan } from './writes/shadow-plan.ts';
import { createState } from './initial-state.ts';
import type { LeadershipOptions } from './leader/leadership.ts';
import type { SourceOf } from './outbox.ts';
import type { ControllerState } from './state.ts';
import { step } from './step.ts';
import { unreachable } from '../lib/assert.ts';
import { histogram, type MetricStore } from '../metrics/store.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { Shards } from '../ports/shards.ts';
import type { Transport } from '../ports/transport.ts';

export interface LoopConfig {
  readonly options: ControllerOptions;
  readonly clock: Clock;
  readonly random: Random;
  /**
   * `transport` and `shards` are each given the function to which they deliver their events. The transport delivers
   * events that come together in one call.
   */
  readonly transport: (deliver: (events: readonly Event[]) => void) => Transport;
  readonly shards: (deliver: (event: Event) => void) => Shards;
  /** The host of the API server, for metrics. */
  readonly host: string;
  readonly log: (line: LogEffect) => void;
  /** Which line of the source writes a log line. Default: this is not looked up. */
  readonly sourceOf?: SourceOf;
  readonly metrics: MetricStore;
  /** Default: it writes without holding a Lease. */
  readonly leadership?: LeadershipOptions | null;
  /** Makes the process a shadow, and takes each of its plans, those without a write too. */
  readonly onShadowPlan?: (plan: ShadowPlan) => void;
  /** Called after each step with what came in, which effects it has, and when it began and ended. */
  readonly onStep?: (events: readonly Event[], effects: readonly Effect[], fromMs: number, toMs: number) => void;
  /** Called when the syncs under way have ended after `stop`. Nothing more will happen. */
  readonly onStopped: () => void;
}

export interface Loop {
  start(): void;
  /** Begins no further sync and ends those under way within ten seconds. Then calls `onStopped`. */
  stop(): void;
  readiness(): HealthCheck[];
  liveness(): HealthCheck[];
  /** For gauges, tests and reports. Not to be changed. */
  readonly state: ControllerState;
}

export function createLoop(config: LoopConfig): Loop {
  const { clock } = config;
  const transport = config.transport(deliver);
  const shards = config.shards((event) => deliver([event]));
  const stepSeconds = histogram(config.metrics, 'endpointd_step_duration_seconds');
  /** The monotonic ms for which a wake is set and that have not come; Infinity = none is set. */
  let wakeAskedMs = Infinity;
  const stateConfig = { ...config, isShadow: config.onShadowPlan !== undefined };
  const state = createState(stateConfig, shards.count, config.random.uint32());

  function deliver(events: readonly Event[]): void {
    const nowMs = clock.nowMs();
    const wakeAtMs = step(state, events, { nowMs, wallMs: clock.wallMs() });
    const endedMs = clock.nowMs();
    stepSeconds.observe((endedMs - nowMs) / 1000);
    const { effects } = state.outbox;
    state.outbox.effects = [];
    config.onStep?.(events, effects, nowMs, endedMs);
    for (const effect of effects) perform(effect);
    if (wakeAtMs === Infinity || wakeAtMs === wakeAskedMs) return;
    wakeAskedMs = wakeAtMs;
    clock.wakeAt(wakeAtMs, wake);
  }

  function wake(): void {
    wakeAskedMs = Infinity;
    deliver([{ type: 'wake' }]);
  }

  function perform(effect: Effect): void {
    switch (effect.type) {
      case 'http':
        transport.send(effect.request);
        return;
      case 'cancel':
        transport.cancel(effect.id);
        return;
      case 'shard.post':
        shards.post(effect.shard, effect.batchId, effect.batch);
        return;
      case 'shard.restart':
        shards.restart(effect.shard);
        return;
      case 'log':
        config.log(effect);
        return;
      case 'shadow':
        config.onShadowPlan?.(effect.plan);
        return;
      case 'stopped':
        config.onStopped();
        return;
      default:
        unreachable(effect);
    }
  }

  return {
    start: () => deliver([{ type: 'start' }]),
    stop: () => deliver([{ type: 'stop' }]),
    readiness: () => readiness(state, clock.nowMs()),
    liveness: () => liveness(state, { nowMs: clock.nowMs() }),
    state,
  };
}

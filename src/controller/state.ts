/** The whole state of the controller as one plain object, and the two things that every part of it does: send and log. */
import type { Brake } from './brake.ts';
import type { Controller } from './controllers.ts';
import type { Effect } from './effect.ts';
import type { EventRecorder } from './event-recorder.ts';
import type { FactSums } from './facts.ts';
import type { Instruments } from './instruments.ts';
import type { MirrorZones } from './mirror-zones.ts';
import type { ControllerOptions } from './options.ts';
import type { OutputState } from './output-state.ts';
import type { TokenBucket } from './rate-limit.ts';
import type { Reflector } from './reflector.ts';
import type { ServiceState } from './service-state.ts';
import type { ShardState } from './shard-batches.ts';
import type { Unit } from './unit.ts';
import type { WritePause } from './write-pause.ts';
import type { QueuedWrite, WriteQueue } from './writes.ts';
import type { CpuShares } from '../core/slices/cpu-shares.ts';
import type { NodeTable } from '../core/node-table.ts';
import type { SelectorIndex } from '../core/selector-index.ts';
import type { Interner } from '../lib/interner.ts';
import type { Prng } from '../lib/prng.ts';
import type { HttpRequest } from '../ports/transport.ts';

export interface ControllerState {
  readonly options: ControllerOptions;
  readonly prng: Prng;
  readonly interner: Interner;
  readonly instruments: Instruments;
  /** Appended by a step, taken by the loop. */
  effects: Effect[];
  /** What each request without an answer is for. */
  readonly requests: Map<number, Purpose>;
  nextRequestId: number;

  phase: 'starting' | 'running' | 'stopping' | 'stopped';
  /** Monotonic ms by which a stop ends, drained or not. */
  stopByMs: number;

  /** Those that run in this process. */
  readonly controllers: readonly Controller[];
  /** Empty before the start. */
  reflectors: readonly Reflector[];
  readonly brake: Brake;
  /** Pods, and which services select them. */
  readonly index: SelectorIndex<ServiceState>;
  /** Nodes, and which pods are on them: for slices only. */
  readonly nodes: NodeTable;
  /** namespace -> name -> state, for every Service and every object of ours there is. */
  readonly services: Map<string, Map<string, ServiceState>>;
  serviceCount: number;
  /** namespace -> name -> state, for every EndpointSlice of ours. */
  readonly slices: Map<string, Map<string, OutputState>>;
  readonly shards: ShardState[];
  nextBatch: number;
  readonly writes: WriteQueue;
  readonly tokens: TokenBucket;
  readonly pause: WritePause;
  readonly recorder: EventRecorder;
  readonly sums: FactSums;
  /** null = mirrored endpoints have no zones. */
  readonly mirrorZones: MirrorZones | null;
  /** CPU shares when hints were looked at last. */
  shares: CpuShares | null;
  /** Objects whose `expected` is set. */
  echoesExpected: number;
  /** Monotonic ms of the next resync. */
  resyncAtMs: number;
}

/** Why a request was sent: routes its answer. */
export type Purpose =
  | { readonly for: 'reflector'; readonly reflector: Reflector }
  | { readonly for: 'write'; readonly queued: QueuedWrite }
  | { readonly for: 'read-endpoints'; readonly unit: Unit }
  | { readonly for: 'read-slices'; readonly unit: Unit }
  | { readonly for: 'confirm-orphan'; readonly unit: Unit }
  | { readonly for: 'event' };

/** Asks the loop for a request; its answer comes back as an event with the id that is returned. */
export function send(state: ControllerState, purpose: Purpose, request: Omit<HttpRequest, 'id'>): number {
  const id = state.nextRequestId++;
  state.requests.set(id, purpose);
  state.effects.push({ type: 'http', request: { id, ...request } });
  return id;
}

export function log(
  state: ControllerState,
  level: 'error' | 'warning' | 'info',
  v: number,
  message: string,
  fields: Readonly<Record<string, string | number | boolean>>,
): void {
  state.effects.push({ type: 'log', level, v, message, fields });
}

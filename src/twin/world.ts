/** The inputs and outputs of a controller's model. */
import type { Agenda } from './agenda.ts';
import type { DrawArrivals, DrawLatency } from './api-latency.ts';
import type { DrawFamily, DrawRank } from './draw.ts';
import type { Ledger, Output } from './ledger.ts';
import type { Cores } from './processors.ts';
import type { Costs, Settings } from './settings.ts';
import type { Story, StoryChange } from './story.ts';
import type { WriteTokens } from './write-tokens.ts';

/** A service that has something to write when a story begins or ends. Its changes came before. */
export interface WaitingService {
  readonly service: number;
  /** How many writes it waits for, at least one. */
  readonly writes: number;
  /** When its batch period ends, from then on; 0 = it waits for a worker, or has one. */
  readonly dueMs: number;
}

/** In the order in which they wait. */
export type WaitingServices = Readonly<Record<Output, readonly WaitingService[]>>;

export interface World {
  readonly agenda: Agenda;
  readonly cores: Cores;
  readonly story: Story;
  readonly settings: Settings;
  /** `--max-endpoints-per-slice` of the slices that are there at the start. */
  readonly endpointsPerSliceAtStart: number;
  readonly costs: Costs;
  readonly tokens: WriteTokens;
  readonly watchLagMs: number;
  readonly latencyOf: DrawLatency;
  readonly arrivalsOf: DrawArrivals;
  readonly rankOf: DrawRank;
  readonly firstFamilyOf: DrawFamily;
  readonly kubeMinor: number;
  readonly waitingAtStart: WaitingServices;
  readonly ledger: Ledger;
}

export interface Model {
  /** Called when an event of a watch is in the process. */
  readonly take: (change: StoryChange) => void;
  /** Whether a service that is due waits for a worker. */
  readonly isBehind: () => boolean;
  /** What waits now. It counts as planned then, so the run cannot go on. */
  readonly waiting: () => WaitingServices;
  /** Called when the run is over. */
  readonly close: () => void;
}

/** The inputs and outputs of a controller's model. */
import type { Agenda } from './agenda.ts';
import type { DrawArrivals, DrawLatency } from './api-latency.ts';
import type { DrawFamily, DrawRank } from './draw.ts';
import type { Ledger } from './ledger.ts';
import type { Cores } from './processors.ts';
import type { Costs, Settings } from './settings.ts';
import type { Story, StoryChange } from './story.ts';
import type { WriteTokens } from './write-tokens.ts';

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
  readonly ledger: Ledger;
}

export interface Model {
  /** Called when an event of a watch is in the process. */
  readonly take: (change: StoryChange) => void;
  /** Called when the run is over. */
  readonly close: () => void;
}

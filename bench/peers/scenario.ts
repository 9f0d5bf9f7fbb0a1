/** What a scenario is: a cluster, what it begins with, and a story that is told to each peer. */
import type { ApiRequest } from '../../src/node/api-client.ts';
import type { ClusterObjects } from '../../src/judge/cluster-check.ts';
import type { App, Cluster, PodModel } from '../../src/workload/cluster.ts';
import type { Profile } from '../../src/workload/profile.ts';
import type { LoadTarget } from '../support/http-load.ts';
import { ratioOf } from '../support/statistics.ts';
import type { Disturbance } from './disturbance.ts';
import type { Telling } from './stages.ts';
import type { BenchServer, Outset, ServerKind } from './server.ts';

export type Size = 'tiny' | 'small' | 'full';

export const SIZES: readonly Size[] = ['tiny', 'small', 'full'];

/** Of the command line; null = as the scenario has it. */
export interface Settings {
  readonly size: Size;
  readonly seed: number;
  readonly qps: number | null;
  readonly burst: number | null;
  readonly syncs: number | null;
  /** As the flags of both peers take it, such as `500ms`. */
  readonly batchPeriod: string | null;
  /** Changes a second. */
  readonly rate: number | null;
  /** How long changes are made. */
  readonly seconds: number | null;
  /** Requests under way at once, where a story sends as fast as it can. */
  readonly flight: number | null;
  readonly watchers: number | null;
  readonly fsync: boolean;
  readonly priorityAndFairness: boolean;
  /** More flags of one peer only. */
  readonly endpointdFlags: readonly string[];
  readonly managerFlags: readonly string[];
}

export type PeerName = string;

/** What is measured: a controller, or several processes that do the work of one together. */
export interface Peer {
  readonly name: PeerName;
  /** `target`: where to ask, as the server is now. */
  readonly start: (on: PeerServer) => Promise<RunningPeer>;
  /** True for the echo floor, which writes for each pod event and keeps nothing right. */
  readonly echoes: boolean;
}

export interface PeerServer {
  readonly server: BenchServer;
  readonly target: LoadTarget;
  readonly kubeconfigPath: string;
}

export interface RunningPeer {
  /** By what a report calls them. */
  readonly processes: Readonly<Record<string, number>>;
  readonly stop: () => Promise<void>;
  /** Rejects when a process ends by itself. */
  readonly failed: Promise<never>;
  /** What it says of where time went; absent where nobody is asked. */
  readonly tell?: () => Promise<Telling>;
}

/** An address of a service that the watcher is to show as ready, or not. */
export interface Expectation {
  readonly service: string;
  readonly address: string;
  readonly ready: boolean;
}

export interface ChangeOrder {
  readonly request: ApiRequest;
  readonly dueMs: number;
  readonly expected: readonly Expectation[];
  /** It is of the quiet side of the story, and its latency is told apart. */
  readonly isolated?: boolean;
}

/** What a story can do. All steps are told to the same clock, and the peaks are found by them. */
export interface Stage {
  readonly cluster: Cluster;
  readonly server: BenchServer;
  readonly settings: Settings;
  readonly echoes: boolean;
  /** From here on, what happens belongs to this step. */
  readonly step: (name: string) => void;
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
  /** Until the oracle calls all right that the server held when the stage was set. Of the echo floor nothing is asked. */
  readonly right: () => Promise<void>;
  /** Until the controller rests. */
  readonly rest: () => Promise<void>;
  /** What is done in it is what is measured; once in a story. */
  readonly measure: (work: () => Promise<void>) => Promise<void>;
  /** Sends a change, behind those of the same object. Resolves with the answer. */
  readonly change: (order: ChangeOrder) => Promise<void>;
  /** A pod's readiness, and what follows for its services. */
  readonly turn: (pod: PodModel, ready: boolean, dueMs: number, isolated?: boolean) => Promise<void>;
  /** `<namespace>/<name>` of the services that select the app's pods. */
  readonly servicesOf: (app: App) => readonly string[];
  /** From here on it is right that what the adjusted objects ask for is there. */
  readonly expect: (adjust: (objects: ClusterObjects) => ClusterObjects) => void;
  /** What happens next may take the address away, once. */
  readonly mayVanish: (service: string, address: string) => void;
  /** What the server sends to the controller waits from here on, until `release`; asks for `gated`. */
  readonly hold: () => void;
  /** Changes that were held count from here. */
  readonly release: () => void;
  /** Until each change of the measure is seen. */
  readonly seen: () => Promise<void>;
  /** Kills the API server and starts it again; asks for `lasting`. The embedded one, which keeps nothing, stands still for a while. */
  readonly restartServer: () => Promise<void>;
  /** What was late of the changes that were shown since then. */
  readonly disturbance: (fromMs: number) => Disturbance;
  /** A figure of the scenario's own. */
  readonly note: (figure: string, value: number) => void;
}

export interface Scenario {
  readonly name: string;
  /** One line for the list and the report. */
  readonly what: string;
  /** About what all peers take together at the full size, on two quiet cores. */
  readonly pairSeconds: number;
  readonly server: ServerKind;
  readonly outset: Outset;
  /** The story leaves pods, services and nodes as they were, so that a server that costs much to fill can be used again. */
  readonly leavesInputs?: boolean;
  /** The controller reaches the server through a gate that the story can close. */
  readonly gated?: boolean;
  /** The story restarts the API server: watches and changes go on with the next one. */
  readonly lasting?: boolean;
  /** No change of the story is taken back by a later one, so the changes tell how few writes they need. */
  readonly additionsOnly?: boolean;
  readonly profile: (size: Size) => Profile;
  /** Default: endpoints and endpointslice. */
  readonly controllers?: readonly string[];
  /** Whether the floor of two ready-made writes for each pod event is measured too. */
  readonly echo?: boolean;
  /** In place of kube-controller-manager and endpointd. */
  readonly peers?: (settings: Settings) => readonly Peer[];
  /** Defaults where the command line says nothing. */
  readonly settings?: Partial<Settings>;
  readonly story: (stage: Stage) => Promise<void>;
  readonly marks?: readonly Mark[];
}

/**
 * The median of a figure over all runs of a peer; NaN where there are none.
 * @param scenario another one than the mark's own
 */
export type FigureOf = (peer: PeerName, figure: string, scenario?: string) => number;

export interface Mark {
  readonly what: string;
  /** What came out, as text, and whether it is enough; null = what it needs was not measured. */
  readonly look: (of: FigureOf) => { readonly got: string; readonly reached: boolean } | null;
}

export const MANAGER = 'kube-controller-manager';
export const ENDPOINTD = 'endpointd';
export const ECHO = 'echo floor';
/** The second run of an A/A pair. */
export const ENDPOINTD_AGAIN = 'endpointd again';
/** With a flag or a program of the command line. */
export const ENDPOINTD_OTHERWISE = 'endpointd otherwise';

/** At most that share of kube-controller-manager's figure. */
export function shareMark(what: string, figure: string, share: number, shown: string): Mark {
  return {
    what: `${what} <= ${shown} of kube-controller-manager's`,
    look: (of) => {
      const ratio = ratioOf(of(ENDPOINTD, figure), of(MANAGER, figure));
      return Number.isFinite(ratio) ? { got: ratioText(ratio), reached: ratio <= share } : null;
    },
  };
}

/** What a burst costs others: writes go to every node, so more of them are worth it only where changes show much sooner. */
export const COALESCING_MARKS: readonly Mark[] = [
  shareMark('CPU of controller, API server and etcd', 'sumCpu', 1, '1.00'),
  {
    what: "writes <= 1.05 x kube-controller-manager's, or p99 to the slice <= 1/10 of its",
    look: (of) => {
      const [writes, p99] = ['writes', 'slicesP99'].map((figure) =>
        ratioOf(of(ENDPOINTD, figure), of(MANAGER, figure)),
      ) as [number, number];
      if (!Number.isFinite(writes) || !Number.isFinite(p99)) return null;
      return { got: `${writes.toFixed(2)} x, p99 ${ratioText(p99)}`, reached: writes <= 1.05 || p99 <= 0.1 };
    },
  },
];

/** At most `times` the floor's figure, and so much more. */
export function floorMark(what: string, figure: string, times: number, more: number, unit: string): Mark {
  return {
    what: `${what} <= ${times} x the echo floor's${more === 0 ? '' : ` + ${more} ${unit}`}`,
    look: (of) => {
      const [ours, floor] = [of(ENDPOINTD, figure), of(ECHO, figure)];
      if (!Number.isFinite(ours / floor)) return null;
      const allowed = times * floor + more;
      return { got: `${ours.toFixed(2)} of ${allowed.toFixed(2)} ${unit}`, reached: ours <= allowed };
    },
  };
}

/** Such as `0.58` or `1/14.8`. */
export function ratioText(ratio: number): string {
  if (!Number.isFinite(ratio)) return '-';
  return ratio < 0.2 ? `1/${(1 / ratio).toFixed(1)}` : ratio.toFixed(2);
}

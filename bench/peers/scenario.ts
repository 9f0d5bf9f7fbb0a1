/** A scenario: a cluster, its first state, and a story that is told to each peer. */
import type { Program } from '../../src/metrics/program-of.ts';
import type { ApiRequest } from '../../src/node/api-client.ts';
import type { ClusterObjects } from '../../src/judge/cluster-check.ts';
import type { App, Cluster, PodModel } from '../../src/workload/cluster.ts';
import type { Profile } from '../../src/workload/profile.ts';
import type { LoadTarget } from '../support/http-load.ts';
import { ratioOf } from '../support/statistics.ts';
import type { Disturbance } from './disturbance.ts';
import type { Telling } from './change-stages.ts';
import type { BenchServer, Outset, ServerKind } from './server.ts';

export type Size = 'tiny' | 'small' | 'full';

export const SIZES: readonly Size[] = ['tiny', 'small', 'full'];

/** The settings of the command line; null = the scenario decides. */
export interface Settings {
  readonly size: Size;
  readonly seed: number;
  readonly qps: number | null;
  readonly burst: number | null;
  readonly syncs: number | null;
  /** The batch period in the flag's syntax, such as `500ms`. */
  readonly batchPeriod: string | null;
  /** Changes a second. */
  readonly rate: number | null;
  /** For how many seconds changes are made. */
  readonly seconds: number | null;
  /** How many requests are under way at once, if a story sends as fast as it can. */
  readonly flight: number | null;
  readonly watchers: number | null;
  readonly fsync: boolean;
  readonly priorityAndFairness: boolean;
  /** More flags of this peer only. */
  readonly endpointdFlags: readonly string[];
  readonly managerFlags: readonly string[];
}

export type PeerName = string;

/** The measured peer: a controller, or several processes that do its work together. */
export interface Peer {
  readonly name: PeerName;
  readonly start: (on: PeerServer) => Promise<RunningPeer>;
  /** Who has written the objects with which a scenario may begin. The floor begins with what endpointd has written. */
  readonly writer: Program;
  /** Whether it is the echo floor, which writes for each pod event and keeps nothing right. */
  readonly echoes: boolean;
}

export interface PeerServer {
  readonly server: BenchServer;
  readonly target: LoadTarget;
  readonly kubeconfigPath: string;
}

export interface RunningPeer {
  /** The processes by their names in a report. */
  readonly processes: Readonly<Record<string, number>>;
  readonly stop: () => Promise<void>;
  /** Ends all processes by SIGKILL, so what is under way is lost. */
  readonly kill: () => Promise<void>;
  /** Rejects when a process ends by itself. */
  readonly failed: Promise<never>;
  /** What it tells of its stages; absent = it is not asked. */
  readonly tell?: () => Promise<Telling>;
}

/** Whether the watcher should show an address of a service as ready. */
export interface Expectation {
  readonly service: string;
  readonly address: string;
  readonly ready: boolean;
}

export interface ChangeOrder {
  readonly request: ApiRequest;
  readonly dueMs: number;
  readonly expected: readonly Expectation[];
  /** Whether it is of the quiet side of the story, whose latency is measured apart. */
  readonly isolated?: boolean;
}

/** The actions of a story. All steps have the same clock, by which peaks are found. */
export interface Stage {
  readonly cluster: Cluster;
  readonly server: BenchServer;
  readonly settings: Settings;
  readonly echoes: boolean;
  /** From now on events belong to this step. */
  readonly step: (name: string) => void;
  readonly start: () => Promise<void>;
  readonly kill: () => Promise<void>;
  /** Resolves when the oracle finds everything right for the objects at the begin. The echo floor is not judged. */
  readonly right: () => Promise<void>;
  /**
   * As `right`, for what not every peer does: whether it does so soon. If not, the run is wrong and says that the peer
   * does not follow this, and the story goes on.
   */
  readonly follows: (what: string) => Promise<boolean>;
  /** Resolves when the controller rests. Rejects if it does not. */
  readonly rest: () => Promise<void>;
  /** What the peer's processes have used since they began. */
  readonly cpuSeconds: () => number;
  /**
   * Turns a pod and turns it back, and resolves when both were seen; no figure but memory counts them. Rejects if the
   * controller does not follow. The echo floor is not asked.
   */
  readonly knows: () => Promise<void>;
  /** Measures the work. A story calls it once. */
  readonly measure: (work: () => Promise<void>) => Promise<void>;
  /** Sends a change after earlier ones of the same object. Resolves with the answer. */
  readonly change: (order: ChangeOrder) => Promise<void>;
  /** Changes a pod's readiness, and expects the effects on its services. */
  readonly turn: (pod: PodModel, ready: boolean, dueMs: number, isolated?: boolean) => Promise<void>;
  /** `<namespace>/<name>` of the services that select the app's pods. */
  readonly servicesOf: (app: App) => readonly string[];
  /** From now on the adjusted objects say what is right. */
  readonly expect: (adjust: (objects: ClusterObjects) => ClusterObjects) => void;
  /** The next events may remove the address, once. */
  readonly mayVanish: (service: string, address: string) => void;
  /** Holds back what the server sends to the controller, until `release`. Needs `gated`. */
  readonly hold: () => void;
  /** Releases what is held. The held changes count from here. */
  readonly release: () => void;
  /** Resolves when each change of the measure was seen. */
  readonly seen: () => Promise<void>;
  /**
   * Kills the API server and starts it again. The embedded one, which stores nothing, stands still for a while. Needs
   * `lasting`.
   */
  readonly restartServer: () => Promise<void>;
  /** How late the changes since that time were shown. */
  readonly disturbance: (fromMs: number) => Disturbance;
  /** A figure of the scenario's own. */
  readonly note: (figure: string, value: number) => void;
}

export interface Scenario {
  readonly name: string;
  /** One line for the list and for the report. */
  readonly what: string;
  /** How long all peers take together at the full size, roughly, on two quiet cores. */
  readonly pairSeconds: number;
  readonly server: ServerKind;
  readonly outset: Outset;
  /**
   * Whether the story leaves pods, services and nodes as they were, but for the times of readiness, so that the filled
   * server can be used again.
   */
  readonly leavesInputs?: boolean;
  /** Whether the controller reaches the server through a gate that the story can close. */
  readonly gated?: boolean;
  /** Whether the story restarts the API server, so watches and changes have to go on with the next one. */
  readonly lasting?: boolean;
  /** Whether no later change takes a change back. Then the changes tell how few writes are needed. */
  readonly additionsOnly?: boolean;
  readonly profile: (size: Size) => Profile;
  /** Default: endpoints and endpointslice. */
  readonly controllers?: readonly string[];
  /** Whether the floor of two ready-made writes for each pod event is measured too. */
  readonly echo?: boolean;
  /** Peers in place of kube-controller-manager and endpointd. */
  readonly peers?: (settings: Settings) => readonly Peer[];
  /** The one of these peers with which the other is compared. */
  readonly base?: PeerName;
  /** Defaults where the command line gives nothing. */
  readonly settings?: Partial<Settings>;
  /**
   * Whether the measure ends when the controller is found at rest. Then its wall time is that of the looks, and so is what
   * is divided by it.
   */
  readonly endsAtRest?: boolean;
  /**
   * Whether the measure ends when the judge has found all right, so soon that judge and load, which share one thread, are
   * most of it. Then times have no ratio.
   */
  readonly endsAtJudge?: boolean;
  readonly story: (stage: Stage) => Promise<void>;
  readonly marks?: readonly Mark[];
}

/** What a comparison needs to know of a scenario. */
export type ComparedScenario = Partial<
  Pick<Scenario, 'what' | 'marks' | 'endsAtRest' | 'endsAtJudge' | 'settings' | 'base'>
>;

/**
 * The median of a figure over all runs of a peer; NaN where there are none.
 * @param scenario another one than the mark's own
 */
export type FigureOf = (peer: PeerName, figure: string, scenario?: string) => number;

export interface Mark {
  readonly what: string;
  /** The result as text, and whether it is enough; null = its figures were not measured. */
  readonly look: (of: FigureOf) => { readonly got: string; readonly reached: boolean } | null;
}

/** The two that are compared where a scenario names no others. */
export const CONTROLLERS: readonly string[] = ['endpoints-controller', 'endpointslice-controller'];

export const MANAGER = 'kube-controller-manager';
export const ENDPOINTD = 'endpointd';
/** In the order of their colours, which are the same in the plots of all benches. */
export const PROGRAMS: readonly string[] = [MANAGER, ENDPOINTD];
export const ECHO = 'echo floor';
/** The second run of an A/A pair. */
export const ENDPOINTD_AGAIN = 'endpointd again';
/** The second endpointd, with a flag or a program of the command line. */
export const ENDPOINTD_OTHERWISE = 'endpointd otherwise';

/** The figure should be at most this share of kube-controller-manager's. */
export function shareMark(what: string, figure: string, share: number, shown: string): Mark {
  return {
    what: `${what} <= ${shown} of kube-controller-manager's`,
    look: (of) => {
      const ratio = ratioOf(of(ENDPOINTD, figure), of(MANAGER, figure));
      return Number.isFinite(ratio) ? { got: ratioText(ratio), reached: ratio <= share } : null;
    },
  };
}

/** The cost of a burst to others. Writes go to every node, so more of them only pay if changes show much sooner. */
export const COALESCING_MARKS: readonly Mark[] = [
  shareMark('CPU of controller, API server and etcd', 'sumCpu', 1, '1.00'),
  {
    what: "writes <= 1.05 x kube-controller-manager's, or p99 to the slice <= 1/10 of its",
    look: (of) => lookAtWrites(of, (writes, p99) => writes <= 1.05 || p99 <= 0.1),
  },
];

/** Of a setting for endpointd alone, that could be shipped. */
export const SHIPPED_MARKS: readonly Mark[] = [
  {
    what: "writes <= kube-controller-manager's with its defaults, and p99 to the slice <= 1/2 of its",
    look: (of) => lookAtWrites(of, (writes, p99) => writes <= 1 && p99 <= 0.5),
  },
];

/** @param isEnough takes endpointd's writes and p99 to the slice by kube-controller-manager's */
function lookAtWrites(of: FigureOf, isEnough: (writes: number, p99: number) => boolean): ReturnType<Mark['look']> {
  const writes = ratioOf(of(ENDPOINTD, 'writes'), of(MANAGER, 'writes'));
  const p99 = ratioOf(of(ENDPOINTD, 'slicesP99'), of(MANAGER, 'slicesP99'));
  if (!Number.isFinite(writes) || !Number.isFinite(p99)) return null;
  return { got: `${writes.toFixed(2)} x, p99 ${ratioText(p99)}`, reached: isEnough(writes, p99) };
}

/** The figure should be at most `times` the floor's, and `more`. */
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

/** A text such as `0.58` or `1/14.8`. */
export function ratioText(ratio: number): string {
  if (!Number.isFinite(ratio)) return '-';
  return ratio < 0.2 ? `1/${(1 / ratio).toFixed(1)}` : ratio.toFixed(2);
}

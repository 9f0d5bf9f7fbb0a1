/**
 * What the main thread and a shard's planner say to each other, as plain data. `shard/codec.ts` turns it into bytes.
 */
import type { MirrorFacts } from '../core/mirroring/plan.ts';
import type { Member } from '../core/member.ts';
import type { Problem } from '../core/problem.ts';
import type { CpuShares } from '../core/slices/cpu-shares.ts';
import type { SlicesFacts } from '../core/slices/facts.ts';
import type { ServiceRecord } from '../kube/types.ts';

/** What the plan of each output says of its service beside its writes. The outputs that there are. */
export interface OutputFacts {
  readonly slices: SlicesFacts;
  readonly mirror: MirrorFacts;
  readonly endpoints: EndpointsFacts;
}

/** An output: one kind of objects that is planned for a service. */
export type OutputKind = keyof OutputFacts;

/** The same, of whichever output it is of. */
export type Facts<K extends OutputKind = OutputKind> = {
  readonly [P in K]: { readonly kind: P } & OutputFacts[P];
}[K];

/** In the order in which they are planned and written: slices before Endpoints, for kube-proxy follows slices. */
const KINDS: Readonly<Record<OutputKind, true>> = { slices: true, mirror: true, endpoints: true };
export const OUTPUT_KINDS = Object.keys(KINDS) as readonly OutputKind[];

export interface Batch {
  /** Wall-clock milliseconds when the batch was made: the only time a planner ever sees. */
  readonly wallMs: number;
  /** Drawn at random: the suffixes of the names of new slices come from it. A 32-bit unsigned integer. */
  readonly seed: number;
  /** What topology hints are allotted by; undefined = the planner has the newest, null = there are none. */
  readonly shares: CpuShares | null | undefined;
  /** Of nodes that are new, gone or elsewhere, for mirrored endpoints. */
  readonly zones?: readonly NodeZone[] | undefined;
  readonly entries: readonly BatchEntry[];
}

export interface NodeZone {
  readonly node: string;
  /** '' = the node has none, or does not exist. */
  readonly zone: string;
}

/** News of one service. The planner works on them in this order: acks, observed, inputs, then planning. */
export interface BatchEntry {
  /** `<namespace>/<name>` of the Service. */
  readonly service: string;
  /** What to plan now; none = only take the news. Outputs not asked for stay dirty in the planner. */
  readonly outputs: readonly OutputKind[];
  /** The inputs' version that this entry builds on; 0 = it is a full snapshot and replaces all inputs. */
  readonly base: number;
  /** The inputs' version afterwards. */
  readonly version: number;
  /** undefined = unchanged; null = the Service is gone: the planner forgets it, stored objects included. */
  readonly spec: ServiceRecord | null | undefined;
  /** Pods that match now and are new or changed (full snapshot: all that match). The name identifies a pod. */
  readonly upserts: readonly Member[];
  /** Names of pods that match no more. */
  readonly removals: readonly string[];
  readonly acks: readonly Ack[];
  /** Of these outputs the planner forgets all stored objects first, for `observed` has all that there are. */
  readonly relisted: readonly OutputKind[];
  readonly observed: readonly Observed[];
}

/**
 * What became of a planned write. Only `applied` changes `stored` and the trigger time. The other three leave the
 * planner as if the plan had not been made. `unknown` is always followed by an `observed` before the next plan.
 */
export interface Ack {
  readonly write: number;
  readonly result: 'applied' | 'refused' | 'not-sent' | 'unknown';
  /** Of the object after an applied write; both empty otherwise. */
  readonly uid: string;
  readonly resourceVersion: string;
}

/**
 * Content of an object that we write, as it was read from the server. It is taken if it is newer than `stored`, and
 * never forces a plan.
 */
export interface Observed {
  /** Which output writes it. */
  readonly output: OutputKind;
  readonly name: string;
  /** null = the object does not exist. */
  readonly content: ObjectBytes | null;
}

/** A whole object undecoded: a bare protobuf message (no envelope), or JSON text. */
export interface ObjectBytes {
  readonly encoding: 'protobuf' | 'json';
  readonly bytes: Uint8Array;
}

/** The answer to a batch: one result for each entry, in order. */
export interface PlanReply {
  /** The bytes of the batch could not be read: nothing of it was done and there are no results. */
  readonly error: string | null;
  readonly results: readonly ServiceResult[];
}

export interface ServiceResult {
  readonly service: string;
  /**
   * The planner holds nothing that a further change could build on: send a full snapshot. Either it has not the `base`
   * of the entry, and there are no plans and no failures. Or it has dropped the service after a failure.
   */
  readonly needFull: boolean;
  /** Of outputs that were asked for, in the order of `OUTPUT_KINDS`. */
  readonly plans: readonly Plan[];
  /** The other outputs that were asked for: one that fails holds up no other. */
  readonly failures: readonly PlanFailure[];
  readonly problems: readonly Problem[];
  /** The entry could not be taken: nothing was planned, and the planner has dropped the service. */
  readonly error: string | null;
}

/** One output of one service, planned. */
export interface Plan<K extends OutputKind = OutputKind> {
  readonly facts: Facts<K>;
  /** Slices: by phase. */
  readonly writes: readonly PlannedWrite[];
}

/** Why an output was not planned. */
export interface PlanFailure {
  readonly output: OutputKind;
  readonly message: string;
}

export interface PlannedWrite {
  /** Unique within the life of the planner; names the write in its ack. */
  readonly id: number;
  readonly verb: 'create' | 'update' | 'delete';
  readonly name: string;
  /** Preconditions of updates and deletes, also inside the body of an update; empty for creates. */
  readonly uid: string;
  readonly resourceVersion: string;
  /** 1 = goes first, side by side; more = only after all of the phases before succeeded. */
  readonly phase: number;
  /** The request body in application/vnd.kubernetes.protobuf (with envelope); empty for deletes. A view into the reply. */
  readonly body: Uint8Array;
}

export interface EndpointsFacts {
  /** Addresses in the planned object after truncation. */
  readonly ready: number;
  readonly notReady: number;
  /** Addresses cut off by the limit of 1,000. */
  readonly truncated: number;
}

/** The same for every planner of a process, fixed at its start. The options are called as their flags. */
export interface PlannerConfig {
  /** What this planner may be asked to plan. Of other outputs it keeps nothing. */
  readonly outputs: readonly OutputKind[];
  /** `--tolerate-unready-endpoints-annotation`: honour the annotation that upstream dropped in 1.24. */
  readonly tolerateUnreadyEndpointsAnnotation: boolean;
  /** `--max-endpoints-per-slice` */
  readonly maxEndpointsPerSlice: number;
  /** `--compact-slices`: slices of services that have shrunk are merged. */
  readonly compactSlices: boolean;
  /** `--mirroring-max-endpoints-per-subset` */
  readonly mirroringMaxEndpointsPerSubset: number;
  /** `--mirroring-all-endpoints`: what is above that goes into further slices instead of being left out. */
  readonly mirroringAllEndpoints: boolean;
  /** `--mirroring-zones`: mirrored endpoints have the zone of the node that they name. */
  readonly mirroringZones: boolean;
}

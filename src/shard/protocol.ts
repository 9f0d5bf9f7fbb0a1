/** The messages between the main thread and a planner, as plain data. `shard/codec.ts` turns them into bytes. */
import type { MirrorFacts } from '../core/mirroring/plan.ts';
import type { Member } from '../core/member.ts';
import type { Problem } from '../core/problem.ts';
import type { CpuShares } from '../core/slices/cpu-shares.ts';
import type { SlicesFacts } from '../core/slices/facts.ts';
import type { SlicesConfig } from '../core/slices/service-slices.ts';
import type { SliceWrite, WriteAck } from '../core/slices/slice-write.ts';
import type { ServiceRecord } from '../kube/types.ts';

/**
 * The facts of each output: what its plans say of the service beside their writes. The keys are the outputs that exist.
 */
export interface OutputFacts {
  readonly slices: SlicesFacts;
  readonly mirror: MirrorFacts;
  readonly endpoints: EndpointsFacts;
}

/** An output: one kind of objects that is planned for a service. */
export type OutputKind = keyof OutputFacts;

/** The facts of an output, with the output's name. */
export type Facts<K extends OutputKind = OutputKind> = {
  readonly [P in K]: { readonly kind: P } & OutputFacts[P];
}[K];

/**
 * In the order in which outputs are planned and written. Slices go before Endpoints, because kube-proxy follows slices.
 */
const KINDS: Readonly<Record<OutputKind, true>> = { slices: true, mirror: true, endpoints: true };
export const OUTPUT_KINDS = Object.keys(KINDS) as readonly OutputKind[];

export interface Batch {
  /** A random 32-bit unsigned integer. The names of new slices are drawn from it. */
  readonly seed: number;
  /** The CPU shares for topology hints; undefined = the planner has the newest, null = there are none. */
  readonly shares: CpuShares | null | undefined;
  /** Zones of nodes that are new, gone or moved. Mirrored endpoints need them. */
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
  /** The outputs to plan; none = only take the news. An output that is not asked for is planned with a later entry. */
  readonly outputs: readonly OutputKind[];
  /**
   * The version of the inputs that this entry builds on; 0 = it is a full snapshot and replaces all inputs. After the entry
   * it is one higher.
   */
  readonly base: number;
  /** undefined = unchanged; null = the planner forgets the service, its stored objects included. */
  readonly spec: ServiceRecord | null | undefined;
  /** Pods that match and are new or changed. In a full snapshot: all pods that match. The name identifies a pod. */
  readonly upserts: readonly Member[];
  /** Names of pods that no longer match. */
  readonly removals: readonly string[];
  readonly acks: readonly Ack[];
  /** The planner first forgets all stored objects of these outputs, because `observed` has all that exist. */
  readonly relisted: readonly OutputKind[];
  readonly observed: readonly Observed[];
}

/**
 * The outcome of a planned write. Only `applied` changes `stored` and the trigger time. The other three leave the
 * planner as if there had been no plan. `unknown`: the server may hold what it has not told. It is always followed by an
 * `observed` before the next plan.
 */
export interface Ack extends WriteAck {
  /** `PlannedWrite.id` */
  readonly write: number;
}

/** The content of an object as it was read from the server. Observing it never forces a plan. */
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
  /** The bytes of the batch could not be read. Nothing of it was done, and there are no results. */
  readonly error: string | null;
  readonly results: readonly ServiceResult[];
}

export interface ServiceResult {
  readonly service: string;
  /**
   * The planner needs a full snapshot next, for one of two reasons. It does not have the `base` of the entry: then
   * there are no plans and no failures. Or it has dropped the service after a failure.
   */
  readonly needFull: boolean;
  /** The plans of the outputs that were asked for, in the order of `OUTPUT_KINDS`. */
  readonly plans: readonly Plan[];
  /** The outputs that were asked for and have no plan. One that fails holds up no other. */
  readonly failures: readonly PlanFailure[];
  readonly problems: readonly Problem[];
  /** The entry could not be taken. Nothing was planned, and the planner has dropped the service. */
  readonly error: string | null;
}

/** One output of one service, planned. */
export interface Plan<K extends OutputKind = OutputKind> {
  readonly facts: Facts<K>;
  /** Slices: by phase. */
  readonly writes: readonly PlannedWrite[];
  /** false = further writes would have been too many bytes at once. The next plan has them, after these are answered. */
  readonly isWhole: boolean;
}

/** Why an output was not planned. */
export interface PlanFailure {
  readonly output: OutputKind;
  readonly message: string;
}

/**
 * The id of deletions that no planner has planned, because no unit plans their objects any more. No planner waits for
 * their ack.
 */
export const UNPLANNED = 0;

/** A planned write of a slice, or of Endpoints. Endpoints have no family: ''. */
export interface PlannedWrite extends Omit<SliceWrite, 'object'> {
  /** Unique within the life of the planner; names the write in its ack. */
  readonly id: number;
  /**
   * The request body in application/vnd.kubernetes.protobuf (with envelope); empty for deletes. From a thread it is a
   * view into the reply. It must not be changed, because the planner may keep it.
   */
  readonly body: Uint8Array;
}

export interface EndpointsFacts {
  /** Addresses in the planned object after truncation. */
  readonly ready: number;
  readonly notReady: number;
  /** Addresses cut off by the limit of 1,000. */
  readonly truncated: number;
}

/** The options of all planners of a process, fixed at its start. Options are named after their flags. */
export interface PlannerConfig extends SlicesConfig {
  /** The outputs that this planner plans. It keeps nothing of others. */
  readonly outputs: readonly OutputKind[];
  /** `--mirroring-max-endpoints-per-subset` */
  readonly mirroringMaxEndpointsPerSubset: number;
  /** `--mirroring-all-endpoints`: addresses above that maximum go into further slices. Without it they are left out. */
  readonly mirroringAllEndpoints: boolean;
  /** `--mirroring-zones`: mirrored endpoints have the zone of the node that they name. */
  readonly mirroringZones: boolean;
}

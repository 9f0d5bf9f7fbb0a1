/**
 * What a recording tells, as plain data: what the endpoints controllers read and write, in the order in which it was seen.
 * Whoever uses a recording starts here; `decode.ts` makes events of a file's lines.
 */
import type { OutputSizes } from './sizes.ts';
import type { EndpointConditions, Labels, NodeRecord, PodRecord, ServiceRecord, SlicePort } from '../kube/types.ts';

export type RecordedResource = 'pods' | 'services' | 'nodes' | 'endpoints' | 'endpointslices';

export interface RecordingHeader {
  /** Of endpointd. */
  readonly program: string;
  /** Whether names, addresses and label values are the cluster's own (`plain`). */
  readonly names: 'pseudonyms' | 'plain';
}

/**
 * Times in records (`readyTime`, `creationTime`, `triggerMs`) are those of a clock that read this when the recording
 * began, in seconds since the epoch: a recording has no wall clock. What is older than an hour is told as an hour old.
 */
export const RECORDING_BEGAN_SECONDS = 1_000_000_000;

/** One address of an Endpoints object, or one endpoint of a slice. Empty text or list = absent. */
export interface RecordedEndpoint {
  readonly addresses: readonly string[];
  /** Of Endpoints: `ready` alone, by the list that the address stands in. Of a slice: as it says. */
  readonly conditions: EndpointConditions;
  readonly hostname: string;
  readonly nodeName: string;
  readonly zone: string;
  /** The pod of the same namespace that its targetRef names. */
  readonly pod: string;
  readonly podUid: string;
  readonly forZones: readonly string[];
  readonly forNodes: readonly string[];
  /** Whose ports it has, in `RecordedOutput.ports`; 0 in a slice. */
  readonly subset: number;
}

/** An Endpoints object or an EndpointSlice. */
export interface RecordedOutput {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** As the server gave it while it is recorded; '' when it was read from a file, where `Change.version` tells the order. */
  readonly resourceVersion: string;
  readonly labels: Labels;
  /** The name of its Service. */
  readonly service: string;
  /** '' = it is an Endpoints object. */
  readonly addressType: string;
  /** Milliseconds since the epoch of its annotation last-change-trigger-time; 0 = none. */
  readonly triggerMs: number;
  /** Of Endpoints: it has the annotation of leader election. */
  readonly leaderElection: boolean;
  /** Of Endpoints: it has the annotation over-capacity. */
  readonly overCapacity: boolean;
  /** One list for each subset; one list of a slice. */
  readonly ports: readonly (readonly SlicePort[])[];
  readonly endpoints: readonly RecordedEndpoint[];
}

export interface RecordOf {
  readonly pods: PodRecord;
  readonly services: ServiceRecord;
  readonly nodes: NodeRecord;
  readonly endpoints: RecordedOutput;
  readonly endpointslices: RecordedOutput;
}

/**
 * How a change was told. `start`: it is part of the state that the recording begins with. `list`: a list after a gap told
 * it, at the list's time. `watch`: it came by itself, when it happened.
 */
export type Told = 'start' | 'list' | 'watch';

/**
 * Who made it. `controller`: one of the recorded controllers, so it is evidence, to be compared and never to be replayed.
 * `other`: input, as is all that is no output. `unknown`: a deletion of an output, of which the API does not tell.
 */
export type By = 'controller' | 'other' | 'unknown';

export interface ChangeOf<R extends RecordedResource> {
  readonly type: 'change';
  readonly resource: R;
  /** Milliseconds since the recording began, never falling, to a tenth. */
  readonly atMs: number;
  readonly told: Told;
  readonly by: By;
  /** Unique in the recording to one life of one object. */
  readonly id: number;
  /** How many versions of the API server after the first list; orders changes of one resource only. NaN = not told. */
  readonly version: number;
  /** Null = it is new. */
  readonly before: RecordOf[R] | null;
  /** Null = it is gone. */
  readonly after: RecordOf[R] | null;
}

export type Change = { [R in RecordedResource]: ChangeOf<R> }[RecordedResource];

export type RecordedEvent =
  | Change
  /** A resource is known as a whole: from the first one on, its changes are told when they happen. */
  | {
      readonly type: 'listed';
      readonly atMs: number;
      readonly resource: RecordedResource;
      readonly told: Told;
      /** Of a list after a gap: when the last event before it was seen; else `atMs`. */
      readonly sinceMs: number;
    }
  /** The watch of the resource was opened anew from where it was: nothing is missing, but events may be late. */
  | { readonly type: 'rewatched'; readonly atMs: number; readonly resource: RecordedResource }
  /** The server does not let the recorder read the resource (403, 404). */
  | { readonly type: 'refused'; readonly atMs: number; readonly resource: RecordedResource }
  /** Events since the one before of this kind that changed nothing which these controllers read. */
  | {
      readonly type: 'irrelevant';
      readonly atMs: number;
      readonly counts: Readonly<Partial<Record<RecordedResource, number>>>;
    }
  /** How many bytes watchers are sent for a change of an output: of all changes so far. */
  | { readonly type: 'sizes'; readonly atMs: number; readonly sizes: OutputSizes }
  /** The recorder ended in good order. */
  | { readonly type: 'end'; readonly atMs: number };

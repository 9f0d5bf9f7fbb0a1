/**
 * The events of a recording as plain data: what the endpoints controllers read and write, in the order in which it was
 * seen. Users of recordings start here; `decode.ts` makes events from a file's lines.
 */
import type { OutputSizes } from './sizes.ts';
import type { Program } from '../metrics/program-of.ts';
import type { EndpointConditions, Labels, NodeRecord, PodRecord, ServiceRecord, SlicePort } from '../kube/types.ts';

export type OutputResource = 'endpoints' | 'endpointslices';

export type RecordedResource = 'pods' | 'services' | 'nodes' | OutputResource;

export interface RecordingHeader {
  /** The version of endpointd. */
  readonly program: string;
  /** Whether names, addresses and label values are the cluster's own (`plain`). */
  readonly names: 'pseudonyms' | 'plain';
}

/**
 * Times in records (`readyTime`, `creationTime`, `triggerMs`) are of a clock that read this when the recording began,
 * in seconds since the epoch: a recording has no wall clock. A time that is older than an hour is told as an hour old.
 */
export const RECORDING_BEGAN_SECONDS = 1_000_000_000;

/** One address of an Endpoints object, or one endpoint of a slice. An absent text is '', an absent list []. */
export interface RecordedEndpoint {
  readonly addresses: readonly string[];
  /** In Endpoints: `ready` alone, by the address's list. In a slice: as the slice has them. */
  readonly conditions: EndpointConditions;
  readonly hostname: string;
  readonly nodeName: string;
  readonly zone: string;
  /** The pod that its targetRef names, in the same namespace. */
  readonly pod: string;
  readonly podUid: string;
  readonly forZones: readonly string[];
  readonly forNodes: readonly string[];
  /** The index of its ports in `RecordedOutput.ports`; 0 in a slice. */
  readonly subset: number;
}

/** An Endpoints object or an EndpointSlice. */
export interface RecordedOutput {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /**
   * The server's version during the recording; '' = the object is read from a file, where `Change.version` has the
   * order.
   */
  readonly resourceVersion: string;
  readonly labels: Labels;
  /** The name of its Service. */
  readonly service: string;
  /** '' = the object is an Endpoints object. */
  readonly addressType: string;
  /** Its annotation last-change-trigger-time in milliseconds since the epoch; 0 = there is none. */
  readonly triggerMs: number;
  /** Whether Endpoints have the annotation of leader election. */
  readonly leaderElection: boolean;
  /** Whether Endpoints have the annotation over-capacity. */
  readonly overCapacity: boolean;
  /** One list for each subset. A slice has one list. */
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
 * How a change was told. `start`: it is part of the first state of the recording. `list`: a list after a gap has told
 * it, at the list's time. `watch`: an event has told it when it happened.
 */
export type Told = 'start' | 'list' | 'watch';

/**
 * Who has made the change. `controller`: one of the recorded controllers, so the change is evidence, which is compared
 * and never replayed. `other`: somebody else, so it is input. Every change of an input is. `unknown`: a deletion of an
 * output, whose author the API does not tell.
 */
export type By = 'controller' | 'other' | 'unknown';

export interface ChangeOf<R extends RecordedResource> {
  readonly type: 'change';
  readonly resource: R;
  /** Milliseconds since the recording began, to a tenth. They never fall. */
  readonly atMs: number;
  readonly told: Told;
  readonly by: By;
  /** A number that only this life of this object has in the recording. */
  readonly id: number;
  /**
   * How many versions of the API server came since the first list. It orders changes of one resource only. NaN = not
   * known.
   */
  readonly version: number;
  /** null = the object is new. */
  readonly before: RecordOf[R] | null;
  /** null = the object is gone. */
  readonly after: RecordOf[R] | null;
}

export type Change = { [R in RecordedResource]: ChangeOf<R> }[RecordedResource];

export type RecordedEvent =
  | Change
  /** The whole resource is known. From the first such event on, its changes are told when they happen. */
  | {
      readonly type: 'listed';
      readonly atMs: number;
      readonly resource: RecordedResource;
      /** `late`: the server had refused it (`refused`), and the recording began without it. */
      readonly told: Told | 'late';
      /** After a gap: when the last event, bookmark or list before it came. Else `atMs`. */
      readonly sinceMs: number;
    }
  /**
   * The watch of the resource is lost: what has happened since `sinceMs`, when the last event, bookmark or list came, or
   * when the recorder stood still, is not known until `listed` or `rewatched`.
   */
  | {
      readonly type: 'lost';
      readonly atMs: number;
      readonly resource: RecordedResource;
      readonly sinceMs: number;
    }
  /** The watch of the resource has gone on where it was. Nothing is missing, but events since `lost` may be late. */
  | { readonly type: 'rewatched'; readonly atMs: number; readonly resource: RecordedResource }
  /** The server does not let the recorder read the resource (403, 404), which was not listed yet. */
  | { readonly type: 'refused'; readonly atMs: number; readonly resource: RecordedResource }
  /** How many events since the last such line changed nothing that these controllers read. */
  | {
      readonly type: 'irrelevant';
      readonly atMs: number;
      readonly counts: Readonly<Partial<Record<RecordedResource, number>>>;
    }
  /** How many bytes watchers get for a change of an output, summed over all changes so far. */
  | { readonly type: 'sizes'; readonly atMs: number; readonly sizes: OutputSizes }
  /** The program has written such an output, as managedFields tell. It is told once after each first list. */
  | { readonly type: 'wrote'; readonly atMs: number; readonly resource: OutputResource; readonly writer: Program }
  /** The recorder has ended in good order. */
  | { readonly type: 'end'; readonly atMs: number };

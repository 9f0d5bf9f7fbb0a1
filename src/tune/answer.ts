/** The answer of `endpointd tune` as data. The same question has the same answer, to the byte, on every machine. */
import type { Program } from '../metrics/program-of.ts';
import type { Calibration, Settings } from '../twin/settings.ts';
import type { Unsure } from './bounds.ts';
import type { Confirmation } from './confirmation.ts';
import type { Comparison } from './evidence.ts';
import type { KnownNumber } from './numbers.ts';
import type { Recommendation } from './recommend.ts';

export interface Answer {
  readonly tuneVersion: 1;
  /** The version of endpointd. */
  readonly program: string;
  readonly from: {
    readonly name: string;
    readonly isRecording: boolean;
    /** The version of the endpointd that has recorded it, as the file says; null = it is no recording. */
    readonly recordedBy: string | null;
    readonly minutes: number;
    readonly changes: number;
  };
  readonly controller: Program;
  /** The minor version of kube-controller-manager. */
  readonly kubeMinor: number;
  readonly nodes: number;
  readonly endpointsWatchers: number;
  readonly seed: number;
  readonly objective: string;
  readonly today: Settings;
  readonly calibration: Calibration;
  /** How far its numbers may be off. */
  readonly unsure: Unsure;
  /** null = there is nothing to compare with. */
  readonly backTest: {
    readonly comparisons: readonly Comparison[];
    /**
     * The largest error, as `BackTest` has it; null = nothing was measured. Of a figure that was measured and that the model has
     * nothing of it is no number, because JSON has none without an end.
     */
    readonly worst: number | 'no-prediction' | null;
  } | null;
  /** Why nothing is recommended; [] = something is. */
  readonly refusals: readonly string[];
  /** null = nothing was searched. */
  readonly recommendation: Recommendation | null;
  /** The trials for real; null = there were none. */
  readonly confirmation: Confirmation | null;
  /** The source of each number. */
  readonly numbers: readonly KnownNumber[];
  /** What else is to be told: what could not be used, and why. */
  readonly notes: readonly string[];
  readonly assumptions: readonly string[];
}

/** A model with a larger error is not believed. */
export const ERROR_MAX = 0.3;
/** Fewer changes tell too little. */
export const CHANGES_MIN = 1000;

/** A note of an answer without a back-test. */
export const UNCHECKED = 'the prediction was not checked: a profile has never been measured';

/** The assumptions of every answer. */
export const ASSUMPTIONS: readonly string[] = [
  'Changes come as they came in what was played, whatever the settings do.',
  'The API server takes as long for each write as it takes today, and longer for a larger object; it does not slow down with more writes or more watchers.',
  'Every node watches the slices, as kube-proxy does, and each watcher gets each object whole; where no encoding is named, in protobuf.',
  'endpointd runs all three of its controllers, unless its /configz names fewer or one of them has written nothing. They share their tokens: with fewer of them a QPS counts for less.',
  'Mirroring is left out, and which hints by CPU change. Writes fail by the writes of others alone, as far as they were recorded; of such a conflict, the retry and the Event object that kube-controller-manager sends count.',
  'Slices are packed at the start as today’s limit packs them: all are full but one. Another limit splits and merges none of them.',
  'Of more than 1,000 addresses Endpoints have the ready ones first. Among equals, where addresses decide, they have those that came first.',
  'A change of the ports or the labels of a Service, or of the zone of a node, writes nothing. The objects of a Service that is deleted are deleted by others; kube-controller-manager deletes its Endpoints once more, for a token.',
  "The latency of a removal is the controller's share, so at least that: it is no time for a preStop hook.",
];

/** Another one of an answer for kube-controller-manager. */
export const OTHERS_FASTER =
  'kube-controller-manager gives each of its controllers as many tokens: with a larger --kube-api-qps or --kube-api-burst all others of the process may write faster too, which is not played.';

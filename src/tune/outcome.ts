/** The figures of one setting, as they are told. */
import { cpuOf, writesByTime, writesOf } from '../twin/figures.ts';
import { type ChangeKind, type Ledger, type Output, OUTPUTS, perOutput } from '../twin/ledger.ts';
import type { Encoding } from '../recording/sizes.ts';
import { runModel } from '../twin/run.ts';
import type { Settings } from '../twin/settings.ts';
import { outputsOf, type Story } from '../twin/story.ts';
import { type Check, type Question, scopeOf } from './bounds.ts';
import { createLooks, type Look, lookAt, playAll } from './look.ts';
import { quantilesOf, type Scope, sentBytes, valueOf } from './objective.ts';

/** Milliseconds, shares, and rates per second. */
export interface LatencyRow {
  readonly output: Output;
  readonly kind: ChangeKind;
  /** Of changes that were shown, and of those that nothing showed. */
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly laterThanSecond: number;
}

export interface Outcome {
  readonly settings: Settings;
  readonly latencies: readonly LatencyRow[];
  readonly writesPerSecond: Readonly<Record<Output, number>>;
  /** Bytes to all watchers, if these all use that encoding. */
  readonly bytesPerSecond: Readonly<Record<Output, Readonly<Record<Encoding, number>>>>;
  /** The controller's CPU as a share of one core. */
  readonly cpuShare: number;
  /** The CPU of all API servers for these writes and their watchers, as a share of one core. */
  readonly apiServerCpuShare: number;
  /** The percentiles of the latencies of additions, in milliseconds; [] = there were none. See `additionsTo`. */
  readonly distribution: readonly number[];
  /** The same of removals from that output. */
  readonly removalDistribution: readonly number[];
  /** Writes per second in each ten seconds of the story, what is left of it with the last ones. */
  readonly writesByTime: readonly number[];
  /** Changes that later ones overtook before they were shown. */
  readonly overtaken: number;
  /** Each constraint and the goal: the figure of the run, and its bound. */
  readonly checks: readonly Check[];
}

const KINDS: readonly ChangeKind[] = ['add', 'remove'];

/** The output whose additions are shown beside what the objective asks for: slices, or Endpoints where they alone are written. */
export function additionsTo(story: Story): Output {
  return outputsOf(story).includes('slices') ? 'slices' : 'endpoints';
}

/** In milliseconds; NaN = there were none. */
export function p99OfAdditions(ledger: Ledger, output: Output): number {
  return quantilesOf(ledger, { output, kinds: 'add' }, [0.99])[0]!;
}

export function outcomeOf(question: Question, settings: Settings): Outcome {
  return toldOutcome(question, lookAt(createLooks(question), settings));
}

/** Plays what of the look was not played, and its first run once more, because a look keeps no run. */
export function toldOutcome(question: Question, look: Look): Outcome {
  playAll(look);
  const { settings, checks } = look;
  const scope = scopeOf(question);
  const ledger = runModel({ ...question.run, settings });
  return {
    settings,
    latencies: OUTPUTS.flatMap((output) => KINDS.map((kind) => latencyRow(ledger, output, kind, scope))),
    writesPerSecond: perOutput((output) => writesOf(ledger, [output]) / (scope.durationMs / 1000)),
    bytesPerSecond: perOutput((output) => {
      const bytes = (encoding: Encoding): number =>
        sentBytes(ledger, [output], encoding, scope) / (scope.durationMs / 1000);
      return { protobuf: bytes('protobuf'), json: bytes('json') };
    }),
    cpuShare: cpuOf(ledger) / scope.durationMs,
    apiServerCpuShare: valueOf({ of: 'apiserver-cpu', isWorst: false }, ledger, scope) / 1000,
    distribution: distributionOf(ledger, additionsTo(question.run.story), 'add'),
    removalDistribution: distributionOf(ledger, additionsTo(question.run.story), 'remove'),
    writesByTime: writesByTime(ledger, scope.durationMs),
    overtaken: ledger.overtaken.endpoints + ledger.overtaken.slices,
    checks,
  };
}

function distributionOf(ledger: Ledger, output: Output, kinds: ChangeKind): number[] {
  const shares = Array.from({ length: 100 }, (_, i) => (i + 1) / 100);
  const values = quantilesOf(ledger, { output, kinds }, shares);
  return values.filter((value) => !Number.isNaN(value));
}

function latencyRow(ledger: Ledger, output: Output, kind: ChangeKind, scope: Scope): LatencyRow {
  const [p50, p90, p99, p999] = quantilesOf(ledger, { output, kinds: kind }, [0.5, 0.9, 0.99, 0.999]);
  const count = [...ledger.samples[output], ...ledger.unshown[output]].filter((sample) => sample.kind === kind).length;
  return {
    output,
    kind,
    count,
    p50: p50!,
    p90: p90!,
    p99: p99!,
    p999: p999!,
    laterThanSecond: valueOf({ of: 'later', thanMs: 1000, kinds: kind, output, isWorst: false }, ledger, scope),
  };
}

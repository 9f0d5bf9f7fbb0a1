/**
 * The figures that the objective names, on the recording: those that the back-test has not compared anyhow, and by how much
 * today's flags were measured above their prediction and what chance makes of it. A recommendation has to hold in spite of
 * that.
 */
import { formatDuration } from '../lib/duration.ts';
import { latenciesOf, shareLater } from '../twin/figures.ts';
import { type Output, OUTPUTS } from '../twin/ledger.ts';
import { type Comparison, compareQuantile, type Evidence } from './evidence.ts';
import { type Expression, isOfLatencies, type Objective } from './objective.ts';

/** What a bound of the model becomes if the model errs as it did for today's flags. */
export type Raise = (bound: number) => number;

export interface OwnFigures {
  readonly comparisons: readonly Comparison[];
  /** Of each constraint, and of the goal. */
  readonly raises: readonly Raise[];
}

/** Fewer changes are chance. */
const CHANCE_CHANGES = 3;
const SHARES: readonly number[] = [0.5, 0.9, 0.99];

/** @param smallMs see `compare` */
export function ownFigures(
  { constraints, goal }: Objective,
  predicted: Evidence,
  measured: Evidence,
  smallMs: number,
): OwnFigures {
  const figures = [...constraints, { ...goal, most: 0 }].map(({ expression, most }) => {
    const own = compareOwn(expression, most, predicted, measured, smallMs);
    return { expression, own, raise: raiseOf(expression, own, predicted, measured) };
  });
  // The same figure may have two limits. The smaller one decides what is a small difference.
  const comparisons = new Map<string, Comparison>();
  for (const { expression, own } of figures) {
    if (own === null || isCompared(expression)) continue;
    const { comparison } = own;
    const name = `${comparison.figure} ${comparison.output}`;
    const known = comparisons.get(name);
    if (known === undefined || comparison.small < known.small) comparisons.set(name, comparison);
  }
  return { comparisons: [...comparisons.values()], raises: figures.map(({ raise }) => raise) };
}

/** Whether the back-test compares it in any case. */
function isCompared(expression: Expression): boolean {
  return expression.of === 'quantile' && expression.kinds === 'any' && SHARES.includes(expression.share);
}

interface OwnComparison {
  readonly comparison: Comparison;
  /** How many were measured. */
  readonly changes: number;
}

/** null = it is no figure of latencies, or nothing of it was measured. */
function compareOwn(
  expression: Expression,
  most: number,
  predicted: Evidence,
  measured: Evidence,
  smallMs: number,
): OwnComparison | null {
  if (!isOfLatencies(expression)) return null;
  const { output, kinds } = expression;
  const latencies = latenciesOf(measured.samples[output], kinds);
  if (latencies.length === 0) return null;
  const kind = kinds === 'any' ? '' : kinds;
  if (expression.of === 'quantile') {
    const percent = Number((100 * expression.share).toFixed(1));
    const figure = `p${percent}${kind && `(${kind})`}`;
    const comparison = compareQuantile(figure, expression, predicted, measured, smallMs);
    return { comparison, changes: latencies.length };
  }
  const shares = [
    shareLater(latenciesOf(predicted.samples[output], kinds), expression.thanMs),
    shareLater(latencies, expression.thanMs),
  ] as const;
  const comparison: Comparison = {
    figure: `later(${[formatDuration(expression.thanMs), kind].filter((part) => part !== '').join(', ')})`,
    output,
    unit: 'share',
    predicted: shares[0],
    measured: shares[1],
    error: Math.max(...shares) === 0 ? 0 : Math.abs(shares[0] - shares[1]) / Math.max(...shares),
    small: Math.max(most / 2, CHANCE_CHANGES / latencies.length),
    chance: { least: shares[0], most: shares[0] },
  };
  return { comparison, changes: latencies.length };
}

function raiseOf(expression: Expression, own: OwnComparison | null, predicted: Evidence, measured: Evidence): Raise {
  switch (expression.of) {
    case 'cpu':
      return (bound) => bound;
    case 'quantile': {
      if (own === null) return (bound) => bound;
      const { chance, measured: is } = own.comparison;
      // What chance makes of the prediction is in the bound already, by the resamples.
      const was = chance.most;
      // Of a batch period the error is a sum, of a queue it is a factor. The smaller one counts.
      return (bound) => (is > was ? Math.min(bound + is - was, (bound * is) / was) : bound);
    }
    case 'later': {
      if (own === null) return (bound) => bound;
      const { predicted: was, measured: is } = own.comparison;
      if ((is - was) * own.changes <= CHANCE_CHANGES) return (bound) => bound;
      return (bound) => Math.min(1, bound + is - was, was > 0 ? (bound * is) / was : Infinity);
    }
    case 'apiserver-cpu':
      return raiseByMost(OUTPUTS, predicted, measured);
    case 'bytes':
      return raiseByMost(expression.outputs, predicted, measured);
    case 'writes':
      return raiseBy(writesFactor(expression.outputs, predicted, measured));
  }
}

/** The larger error of the outputs: what is sent of one is not what is sent of the other. */
function raiseByMost(outputs: readonly Output[], predicted: Evidence, measured: Evidence): Raise {
  return raiseBy(Math.max(...outputs.map((output) => writesFactor([output], predicted, measured))));
}

function raiseBy(factor: number): Raise {
  return (bound) => bound * Math.max(1, factor);
}

/** How many times as much was written as predicted; 1 = nothing was predicted. */
function writesFactor(outputs: readonly Output[], predicted: Evidence, measured: Evidence): number {
  const count = ({ writes }: Evidence): number => outputs.reduce((sum, output) => sum + writes[output].length, 0);
  return count(predicted) === 0 ? 1 : count(measured) / count(predicted);
}

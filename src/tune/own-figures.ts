/**
 * The figures that the objective names, on the recording: those that the back-test has not compared anyhow, and by how much
 * today's flags were measured above their prediction. A recommendation has to hold in spite of that.
 */
import { formatDuration } from '../lib/duration.ts';
import { latenciesOf, shareLater } from '../twin/figures.ts';
import { type Output, OUTPUTS } from '../twin/ledger.ts';
import { type Comparison, compareQuantile, type Evidence } from './evidence.ts';
import type { Expression, Objective } from './objective.ts';

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
    const comparison = compareOwn(expression, most, predicted, measured, smallMs);
    return { expression, comparison, raise: raiseOf(expression, comparison, predicted, measured) };
  });
  const isNew = ({ expression, comparison }: (typeof figures)[number]): boolean =>
    comparison !== null &&
    !(expression.of === 'quantile' && expression.kinds === 'any' && SHARES.includes(expression.share));
  const comparisons = new Map(
    figures.filter(isNew).map(({ comparison }) => [`${comparison!.figure} ${comparison!.output}`, comparison!]),
  );
  return { comparisons: [...comparisons.values()], raises: figures.map(({ raise }) => raise) };
}

/** null = it is no figure of latencies, or nothing of it was measured. */
function compareOwn(
  expression: Expression,
  most: number,
  predicted: Evidence,
  measured: Evidence,
  smallMs: number,
): Comparison | null {
  if (expression.of !== 'quantile' && expression.of !== 'later') return null;
  const { output, kinds } = expression;
  const latencies = latenciesOf(measured.samples[output], kinds);
  if (latencies.length === 0) return null;
  const kind = kinds === 'any' ? '' : kinds;
  if (expression.of === 'quantile') {
    const percent = Number((100 * expression.share).toFixed(1));
    return compareQuantile(`p${percent}${kind && `(${kind})`}`, expression, predicted, measured, smallMs);
  }
  const shares = [
    shareLater(latenciesOf(predicted.samples[output], kinds), expression.thanMs),
    shareLater(latencies, expression.thanMs),
  ] as const;
  return {
    figure: `later(${[formatDuration(expression.thanMs), kind].filter((part) => part !== '').join(', ')})`,
    output,
    unit: 'share',
    predicted: shares[0],
    measured: shares[1],
    error: Math.max(...shares) === 0 ? 0 : Math.abs(shares[0] - shares[1]) / Math.max(...shares),
    small: Math.max(most / 2, CHANCE_CHANGES / latencies.length),
  };
}

function raiseOf(
  expression: Expression,
  comparison: Comparison | null,
  predicted: Evidence,
  measured: Evidence,
): Raise {
  switch (expression.of) {
    case 'cpu':
      return (bound) => bound;
    case 'quantile': {
      if (comparison === null) return (bound) => bound;
      const { predicted: was, measured: is } = comparison;
      // Of a batch period the error is a sum, of a queue it is a factor. The smaller one counts.
      return (bound) => (is > was ? Math.min(bound + is - was, (bound * is) / was) : bound);
    }
    case 'later': {
      const more = comparison === null ? 0 : Math.max(0, comparison.measured - comparison.predicted);
      return (bound) => Math.min(1, bound + more);
    }
    case 'apiserver-cpu':
      return raiseOfWrites(OUTPUTS, predicted, measured);
    case 'writes':
    case 'bytes':
      return raiseOfWrites(expression.outputs, predicted, measured);
  }
}

function raiseOfWrites(outputs: readonly Output[], predicted: Evidence, measured: Evidence): Raise {
  const count = ({ writes }: Evidence): number => outputs.reduce((sum, output) => sum + writes[output].length, 0);
  const [was, is] = [count(predicted), count(measured)];
  return (bound) => (was > 0 && is > was ? (bound * is) / was : bound);
}

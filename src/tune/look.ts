/** Looks at settings: their runs one after the other, as far as somebody wants to know. */
import { runModel } from '../twin/run.ts';
import type { Settings } from '../twin/settings.ts';
import {
  boundsOfRun,
  type Check,
  excessOf,
  type Parts,
  partsOfFirst,
  type VariantRun,
  type Question,
  scopeOf,
  type Variant,
  variantsOf,
} from './bounds.ts';
import { type Scope, valueOf } from './objective.ts';

/** What is known of a setting. */
export interface Look {
  readonly settings: Settings;
  /** The figures, and the bounds of the runs so far: those of all runs are as large at least. */
  readonly checks: readonly Check[];
  /** Whether all runs are played. */
  readonly isWhole: boolean;
  /** Plays the next run. */
  readonly goOn: () => void;
}

/** Looks at settings by one question. */
export interface Looks {
  readonly question: Question;
  readonly scope: Scope;
  readonly variants: readonly Variant[];
  /** The numbers of all variants but the first, that which raised a bound last before the others. */
  readonly order: number[];
}

export function createLooks(question: Question, scope = scopeOf(question)): Looks {
  const variants = variantsOf(question);
  return { question, scope, variants, order: [...variants.keys()].slice(1) };
}

/** Plays the first run. */
export function lookAt(looks: Looks, settings: Settings): Look {
  const { question, scope, order } = looks;
  const first = playWith(looks, settings, 0);
  const parts = partsOfFirst(question, first.ledger, scope);
  const left = new Set(order);
  let checks = checksOf(looks, first, parts);
  return {
    settings,
    get checks() {
      return checks;
    },
    get isWhole() {
      return left.size === 0;
    },
    goOn() {
      const next = order.find((variant) => left.has(variant));
      if (next === undefined) return;
      left.delete(next);
      const [bounds] = boundsOfRun(question, playWith(looks, settings, next), parts, [scope]);
      const raised = checks.map((check, i) => ({ ...check, bound: Math.max(check.bound, bounds![i]!) }));
      if (raised.some(({ bound }, i) => bound > checks[i]!.bound)) moveToFront(order, next);
      checks = raised;
    },
  };
}

function playWith({ question: { run }, variants }: Looks, settings: Settings, variant: number): VariantRun {
  const { calibration, story, haste } = variants[variant]!;
  return { ledger: runModel({ ...run, settings, calibration, story }), haste };
}

function checksOf({ question, scope }: Looks, first: VariantRun, parts: Parts): Check[] {
  const { constraints, goal } = question.objective;
  const [bounds] = boundsOfRun(question, first, parts, [scope]);
  return [...constraints, { ...goal, most: Infinity }].map(({ text, expression, most }, i) => ({
    text,
    value: valueOf(expression, first.ledger, scope),
    bound: bounds![i]!,
    most,
  }));
}

function moveToFront(order: number[], one: number): void {
  order.splice(order.indexOf(one), 1);
  order.unshift(one);
}

/** Plays on while it may hold. Whether it holds of all runs: what does not hold of some of them must not hold of all. */
export function holdsWhole(look: Look, holds: (look: Look) => boolean): boolean {
  for (; holds(look); look.goOn()) if (look.isWhole) return true;
  return false;
}

export function playAll(look: Look): void {
  holdsWhole(look, () => true);
}

/** Whether it meets each limit. */
export function meetsAll(look: Look): boolean {
  return holdsWhole(look, meetsSoFar);
}

export function meetsSoFar({ checks }: Look): boolean {
  return excessOf({ checks }) === 0;
}

/** A setting whose order among others is looked for. The figures of a look that is not whole grow, so it may come later. */
export type Compare = (a: Look, b: Look) => number;

/**
 * The first of these by this order, of those that may be there; undefined = none may. Only what may be the first is played
 * on. Of equal ones the first counts.
 */
export function firstOf(looks: readonly Look[], compare: Compare, mayBe: (look: Look) => boolean): Look | undefined {
  for (;;) {
    const possible = looks.filter(mayBe);
    if (possible.length === 0) return undefined;
    const first = possible.reduce((a, b) => (compare(b, a) < 0 ? b : a));
    if (first.isWhole) return first;
    first.goOn();
  }
}

import type { Size } from '../support/micro-bench.ts';
import { grade } from './grade.ts';
import type { Drawn } from './scenarios.ts';

/** Prints each scenario for which the advice was not right, and how many were right. */
export async function runAdviseBench(size: Size, rest: readonly string[]): Promise<void> {
  const real = rest.find((arg) => arg === '--real' || arg.startsWith('--real='));
  const seed = rest.find((arg) => arg.startsWith('--seed='))?.slice('--seed='.length);
  if (real !== undefined) {
    await (await import('./real.ts')).runRealAdvice(real.slice('--real='.length), Number(seed ?? 0));
    return;
  }
  const controller = rest.includes('--controller=endpointd') ? 'endpointd' : 'kube-controller-manager';
  const knowsQps = !rest.includes('--without-qps');
  const from = Number(seed ?? 2001);
  const count = size === 'tiny' ? 4 : 40;
  let lenient = 0;
  let right = 0;
  let wrong = 0;
  for (let seed = from; seed < from + count; seed++) {
    const judged = grade(seed, controller, knowsQps);
    if (isLenient(judged.scenario)) lenient++;
    if (judged.right) right++;
    if (judged.wrong) wrong++;
    if (judged.right) continue;
    const { kind, right: truth } = judged.scenario;
    const what = judged.wrong ? 'confident and wrong' : 'not sure';
    console.log(
      `seed ${seed} (${kind}): ${what}: right ${JSON.stringify(truth)}, said ${JSON.stringify(judged.verdicts)}`,
    );
  }
  console.log(`seeds ${from} to ${from + count - 1}: ${right} of ${count} right, ${wrong} confident and wrong`);
  console.log(`${lenient} with a delay so short that a cause and "no flag" both count as right`);
}

function isLenient({ right }: Drawn): boolean {
  return Object.values(right).some((truths) => truths.length > 1 && truths.includes('none'));
}

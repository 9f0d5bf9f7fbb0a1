/** `endpointd verify` in the simulated world: the real machine as a shadow, the real second looks, in virtual time. */
import type { Sim } from './sim.ts';
import { createListReader } from '../../src/lists/list-reader.ts';
import { reportOf, type Report } from '../../src/verify/report.ts';
import { advance, createVerification, takePlan, type Verification } from '../../src/verify/verification.ts';

const LOOK_EVERY_MS = 200;

export interface SimVerification {
  readonly verification: Verification;
  /** Goes on until it is over. */
  readonly report: () => Report;
}

export function startVerify(sim: Sim, { watchMs = 0, timeoutMs = 60_000, qps = 60, burst = 90 } = {}): SimVerification {
  const clock = { nowMs: () => sim.nowMs(), wallMs: () => 0, wakeAt() {} };
  const reader = createListReader((deliver) => sim.transport(deliver), clock, qps, burst);
  sim.onShadowPlan = (plan) => takePlan(verification, plan);
  sim.start();
  sim.run(0);
  const verification = createVerification({
    state: sim.loop!.state,
    reader,
    nowMs: () => sim.nowMs(),
    watchMs,
    timeoutMs,
  });
  const startedMs = sim.nowMs();
  return {
    verification,
    report() {
      while (!advance(verification)) {
        sim.run(LOOK_EVERY_MS);
        reader.wake();
      }
      return reportOf(verification, { server: 'https://simulated', startedAt: '2026-01-01T00:00:00Z', startedMs });
    },
  };
}

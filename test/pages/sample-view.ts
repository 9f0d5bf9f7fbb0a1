/** The debug view of a small cluster, for the screenshot: the real controllers in virtual time. */
import { debugChanges, debugSummary, type DebugView } from '../../src/controller/reports/debug-view.ts';
import { createNode } from '../support/sim-objects.ts';
import { createPod, createService, createSim, setPodStatus, type Sim } from '../support/sim.ts';

const SERVICES = ['cart', 'checkout', 'payments', 'search', 'web'];
const REFUSED = 'payments';
/** Whose pod turns next: some more often than others. */
const ORDER = [0, 4, 1, 4, 3, 4, 0, 2, 4, 1, 4, 0, 3];
const FLIPS = 60;
const FLIP_EVERY_MS = 137;
const SHARDS = 2;

/** Pods turn one after the other, and the server refuses the writes of one Service. */
export function sampleView(): DebugView {
  const sim = createSim({ options: { slices: true, kubeApiQps: 100, kubeApiBurst: 200 }, shards: SHARDS });
  createNode(sim, { name: 'node-1', zone: 'a' });
  SERVICES.forEach((name, i) => {
    createService(sim, { name, spec: { selector: { app: name } } });
    createPod(sim, { name: `${name}-1`, ip: `10.64.3.${i + 1}`, labels: { app: name } });
  });
  sim.lag = ({ path }) => ({ toMs: 1.2, backMs: path.length % 3 === 0 ? 2.1 : 1.4 });
  sim.start();
  sim.run(2000);
  sim.refuse = ({ method, path }) => (method === 'PUT' && path.includes(REFUSED) ? 422 : 0);
  for (let i = 0; i < FLIPS; i++) flip(sim, i);
  const { state } = sim.loop!;
  const summary = debugSummary(state, { nowMs: sim.processMs(), wallMs: sim.clocks.wallMs() });
  return { ...summary, changes: debugChanges(state, '') };
}

function flip(sim: Sim, i: number): void {
  const name = SERVICES[ORDER[i % ORDER.length]!]!;
  setPodStatus(sim, { name: `${name}-1`, ready: i % 2 === 1 });
  sim.run(FLIP_EVERY_MS);
}

/** What a simulated controller has asked of its server, and what it tells: events and metrics. */
import type { Sim } from './sim.ts';
import { samples } from '../../src/metrics/store.ts';

/** Requests of the controller for slices and Endpoints since `from`, but lists and watches of all, as `PUT endpoints 200`. */
export function asked(sim: Sim, from = 0): string[] {
  return sim.exchanges
    .slice(from)
    .filter(({ path }) => path.includes('/namespaces/') && !path.includes('/events'))
    .map(({ method, path, status }) => `${method} ${/\/namespaces\/[^/]+\/(\w+)/.exec(path)![1]} ${status}`);
}

export function eventsOf(sim: Sim): string[] {
  const { items } = sim.request('GET', '/api/v1/events') as unknown as {
    items: { reason: string; message: string; involvedObject: { kind: string; name: string } }[];
  };
  return items.map(({ reason, message, involvedObject: { kind, name } }) => `${kind} ${name}: ${reason}: ${message}`);
}

/** The sum over all series of the metric that have these labels. */
export function metric(sim: Sim, name: string, labels: Readonly<Record<string, string>> = {}): number {
  return samples(sim.metrics!, name, sim.nowMs())
    .filter((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value))
    .reduce((sum, { value }) => sum + value, 0);
}

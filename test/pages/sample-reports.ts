/** Reports as a cluster would have them, for tests in a browser and for the screenshots of the documents. */
import { listedDifference } from '../../src/verify/listed-difference.ts';
import { reasonOf, type Difference } from '../../src/verify/difference.ts';
import type { DifferentUnit, NamedDifference, Reason, Report } from '../../src/verify/report.ts';

const MANAGED_BY = 'metadata.labels[endpoints.kubernetes.io/managed-by]';

/** A cluster that an old kube-controller-manager has kept, and in which somebody has edited slices. */
export function sampleReport(): Report {
  const different = [
    ...['cart', 'checkout', 'search'].map((service) =>
      unitOf('endpoints', service, [
        { kind: 'Endpoints', name: service, field: MANAGED_BY, stored: null, planned: 'endpoint-controller' },
      ]),
    ),
    unitOf('endpointslice', 'search', [
      slice('endpoints[10.64.3.17].conditions.ready', 'false', 'true'),
      slice('endpoints[10.64.9.2].zone', 'eu-west-1a', 'eu-west-1c'),
    ]),
    unitOf('endpointslice', 'payments', [
      slice('endpoints[10.64.7.40]', 'conditions.ready=true, nodeName=node-0417, zone=eu-west-1b', null),
    ]),
  ];
  return {
    server: 'https://api.prod.example:6443',
    startedAt: '2026-03-01T09:30:00.000Z',
    seconds: 47.2,
    verdict: 'different',
    seen: { services: 10_934, pods: 100_000, nodes: 3000, plans: 21_868 },
    unseen: [],
    failed: [],
    reasons: reasonsOf(different),
    different,
    notLookedAt: 0,
    moving: { count: 2, units: ['endpoints shop/worker', 'endpointslice shop/worker'] },
    cost: { writes: 5, bytes: 6214, seconds: 0, requestsPerSecond: 60 },
    lag: { count: 812, p50Ms: 12.5, p90Ms: 40, p99Ms: 900, maxMs: 2300 },
  };
}

function slice(field: string, stored: string | null, planned: string | null): Difference {
  return { kind: 'EndpointSlice', name: 'search-x7k2p', field, stored, planned };
}

function unitOf(controller: DifferentUnit['controller'], service: string, found: readonly Difference[]): DifferentUnit {
  const differences = found.map((difference): NamedDifference => {
    const listed = listedDifference(difference, { problems: [], writer: '', hasEnded: () => false });
    const writer = 'kube-controller-manager';
    return {
      ...difference,
      writer,
      reason: reasonOf(difference),
      listed: listed?.id ?? null,
      title: listed?.title ?? '',
    };
  });
  return {
    controller,
    namespace: 'shop',
    service,
    writes: 1,
    bytes: 1242,
    seconds: 30,
    differences,
    differencesTotal: differences.length,
  };
}

function reasonsOf(different: readonly DifferentUnit[]): Reason[] {
  const all = Map.groupBy(
    different.flatMap(({ differences }) => differences),
    ({ reason }) => reason,
  );
  return [...all.values()].map((same) => {
    const [{ reason, listed, title } = same[0]!] = same;
    return { reason, listed, title, units: same.length };
  });
}

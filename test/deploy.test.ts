/** What is deployed is held to what the program does. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadAll } from 'js-yaml';
import { CATALOGUE } from '../src/metrics/catalogue.ts';
import { askedBy } from './support/asked-rights.ts';
import { alerts, allExpressions } from './support/monitoring.ts';
import { unknownIn } from './support/promql.ts';
import { ASKED_BY_ADMISSION, rightsIn, rolesOf } from './support/roles.ts';

test('deploy/rbac.yaml grants what the three controllers need, and nothing more', () => {
  const asked = askedBy({ endpoints: true, slices: true, mirroring: true });
  const granted = rolesOf('rbac.yaml').flatMap(({ rules }) => rules.flatMap(rightsIn));
  assert.deepEqual(granted.sort(), [...asked, ...ASKED_BY_ADMISSION].sort());
});

test('alerts and dashboard use existing metrics and labels', () => {
  const exported = new Map(
    CATALOGUE.flatMap(({ name, type, labelNames }) => {
      const labels = new Set<string>(labelNames);
      const bucket = [`${name}_bucket`, new Set([...labels, 'le'])] as const;
      return type === 'histogram' ? [bucket, [`${name}_sum`, labels], [`${name}_count`, labels]] : [[name, labels]];
    }),
  );
  const runtime = /^metric process_/;
  for (const { title, expr } of allExpressions()) {
    assert.deepEqual(
      unknownIn(expr, exported).filter((problem) => !runtime.test(problem)),
      [],
      title,
    );
  }
});

test('each alert says what to do, and where manual or runbook says more', () => {
  const sections = ['docs/manual.md', 'docs/runbook.md'].flatMap((path) => {
    const text = readFileSync(join(import.meta.dirname, '..', path), 'utf8');
    return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title]) => {
      const words = title!.toLowerCase().replaceAll(/[^\w -]/g, '');
      return `${path}#${words.replaceAll(' ', '-')}`;
    });
  });
  assert.ok(alerts().length >= 6);
  for (const { alert, annotations } of alerts()) {
    const [, section] = /^[A-Z].{20,}: (docs\/\w+\.md#[\w-]+)$/.exec(annotations.runbook) ?? [];
    assert.ok(sections.includes(section ?? ''), `${alert}: ${annotations.runbook}`);
  }
});

interface StaticPod {
  readonly spec: {
    readonly serviceAccountName?: string;
    readonly volumes: readonly Readonly<Record<string, unknown>>[];
  };
}

test('the static pod names no service account, Secret or ConfigMap', () => {
  const text = readFileSync(join(import.meta.dirname, '..', 'deploy/static-pod/endpointd.yaml'), 'utf8');
  const [{ spec }] = loadAll(text) as [StaticPod];
  assert.equal(spec.serviceAccountName, undefined);
  assert.deepEqual(
    spec.volumes.map((volume) => Object.keys(volume)),
    [['name', 'hostPath']],
  );
  assert.doesNotMatch(text, /secretKeyRef|configMapKeyRef|envFrom/);
});

test('all deployed objects have the version of the package', () => {
  const root = join(import.meta.dirname, '..');
  const read = (path: string): string => readFileSync(join(root, path), 'utf8');
  const { version } = JSON.parse(read('package.json')) as { version: string };
  assert.match(read('deploy/kustomization.yaml'), new RegExp(`newTag: ${version}\n`));
  assert.match(read('deploy/static-pod/endpointd.yaml'), new RegExp(`image: endpointd:${version}\n`));
  assert.match(
    read('deploy/helm/endpointd/Chart.yaml'),
    new RegExp(`^version: ${version}\nappVersion: ${version}\n`, 'm'),
  );
});

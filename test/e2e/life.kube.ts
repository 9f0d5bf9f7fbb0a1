/**
 * What docs/embedded-api-server.md promises: `kubectl apply` of a service and pods on `endpointd serve`, and `endpointd run` follows. The same
 * scheduler, kubelets and namespace controller bring a real API server to life.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createNodes, runKubelets, runNamespaceController } from '../../src/testbed/cluster-life.ts';
import { namespacedCollections } from '../../src/cli/serve.ts';
import { startController, type ControllerProcess } from '../../src/testbed/controller-process.ts';
import { startServe } from '../../src/testbed/serve-process.ts';
import { kubeBinaries } from './binaries.ts';
import { clientOf } from './client.ts';
import { startCluster } from './cluster.ts';

const SHOWN_MS_MAX = 60_000;
const POLL_MS = 100;

const MANIFEST = `
apiVersion: v1
kind: Namespace
metadata: { name: shop }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec:
  selector: { app: web }
  ports: [{ port: 80, targetPort: 8080 }]
---
apiVersion: v1
kind: Pod
metadata: { name: web-1, namespace: shop, labels: { app: web } }
spec: { containers: [{ name: main, image: "main:1" }] }
---
apiVersion: v1
kind: Pod
metadata: { name: web-2, namespace: shop, labels: { app: web } }
spec:
  containers:
    - { name: main, image: "main:1", readinessProbe: { httpGet: { port: 8080 } } }
`;

const run = promisify(execFile);

interface Living {
  readonly kubeconfig: string;
  readonly stop: () => Promise<unknown>;
}

const STEP_MS = 100;

const SERVERS: Readonly<Record<string, () => Promise<Living>>> = {
  serve: () => startServe([`--pod-step=${STEP_MS}ms`]),
  'kube-apiserver': async () => {
    const cluster = await startCluster();
    const client = clientOf(cluster);
    await createNodes(client, 2);
    const lives = [
      runKubelets(client, { seed: 1, stepMs: STEP_MS, leftAlone: new Set() }),
      runNamespaceController(client, namespacedCollections()),
    ];
    return {
      kubeconfig: cluster.kubeconfigPath,
      stop: async () => {
        for (const life of lives) await life.stop();
        await client.close();
        await cluster.stop();
      },
    };
  },
};

for (const [name, start] of Object.entries(SERVERS)) {
  describe(`kubectl and run on ${name}`, () => {
    let server: Living;
    let controller: ControllerProcess;
    let directory: string;
    let kubectlPath: string;

    before(async () => {
      kubectlPath = (await kubeBinaries()).kubectl;
      directory = await mkdtemp(join(tmpdir(), 'endpointd-life-'));
      server = await start();
      controller = startController([`--kubeconfig=${server.kubeconfig}`]);
    });

    after(async () => {
      await controller?.stop();
      await server?.stop();
      await rm(directory, { recursive: true, force: true });
    });

    async function kubectl(...args: string[]): Promise<string> {
      const flags = [`--kubeconfig=${server.kubeconfig}`, `--cache-dir=${join(directory, 'cache')}`];
      const { stdout } = await run(kubectlPath, [...flags, ...args]);
      return stdout.trim();
    }

    async function eventually(args: readonly string[], wanted: string): Promise<void> {
      const untilMs = Date.now() + SHOWN_MS_MAX;
      for (let said = ''; ; await sleep(POLL_MS)) {
        said = await kubectl(...args).catch((error: Error) => error.message);
        // Names come in the order of their addresses, which any pod may get first.
        if (said.split(' ').toSorted().join(' ') === wanted) return;
        if (Date.now() > untilMs) assert.equal(said, wanted);
      }
    }

    const ADDRESSES = ['-n=shop', 'get', 'endpoints', 'web', '-o=jsonpath={.subsets[*].addresses[*].targetRef.name}'];

    it('an applied change is in Endpoints a moment later', async () => {
      const manifest = join(directory, 'shop.yaml');
      await writeFile(manifest, MANIFEST);
      await kubectl('apply', '-f', manifest);
      await kubectl('-n=shop', 'wait', '--for=condition=Ready', 'pod', '--all', '--timeout=60s');
      await eventually(ADDRESSES, 'web-1 web-2');
    });

    it('a deleted pod leaves Endpoints, and delete waits until it is gone', async () => {
      await kubectl('-n=shop', 'delete', 'pod', 'web-1');
      await eventually(ADDRESSES, 'web-2');
      await assert.rejects(kubectl('-n=shop', 'get', 'pod', 'web-1'), /NotFound/);
    });

    it('a deleted namespace goes, with everything in it', async () => {
      await kubectl('delete', 'namespace', 'shop');
      await eventually(
        ['get', 'pods,services,endpoints', '-A', '--field-selector=metadata.namespace=shop', '-o=name'],
        '',
      );
    });
  });
}

/** What a real API server's refusals with 429 look like, and whom each of them makes wait. */
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { readFile } from 'node:fs/promises';
import { json } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pauseAskedMs } from '../../src/controller/writes/write-pause.ts';
import { ACCEPT_METADATA, JSON_TYPE } from '../../src/kube/media-type.ts';
import type { Access } from '../../src/node/access.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { selfSigned, type TlsIdentity } from '../../src/node/self-signed.ts';
import { createClock } from '../../src/node/clock.ts';
import { createTransport } from '../../src/node/transport.ts';
import type { TransportEvent } from '../../src/ports/transport.ts';
import { clientOf } from './client.ts';
import type { Cluster } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';

const ENDPOINTS = '/api/v1/namespaces/default/endpoints';
const FLOW_CONTROL = '/apis/flowcontrol.apiserver.k8s.io/v1';
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
/** A level without any seat still serves one request at a time. */
const TOGETHER = 20;
const ROUNDS_MAX = 100;
const BETWEEN_ROUNDS_MS = 100;

/** An admission webhook that refuses everything until tomorrow. */
async function startWebhook({ cert, key }: TlsIdentity): Promise<Server> {
  const server = createServer({ cert, key }, (request, response) => void refuse(request, response));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return server;
}

async function refuse(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { uid } = ((await json(request)) as { request: { uid: string } }).request;
  const status = { code: 429, reason: 'TooManyRequests', message: 'full', details: { retryAfterSeconds: 86_400 } };
  const answer = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' };
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ ...answer, response: { uid, allowed: false, status } }));
}

describe('429 from a real API server', () => {
  let cluster: Cluster;
  let client: ApiClient;
  let webhook: Server;
  const identity = selfSigned({ hosts: ['127.0.0.1'], nowMs: Date.now(), days: 1 });

  before(async () => {
    cluster = await startCluster({ priorityAndFairness: true });
    client = clientOf(cluster);
    webhook = await startWebhook(identity);
  });

  after(async () => {
    await client?.close();
    await cluster?.stop();
    webhook?.closeAllConnections();
    webhook?.close();
  });

  /** Creates Endpoints as that user, through the transport of endpointd, until the answer is 429. */
  async function refusalOf(user: string): Promise<TransportEvent & { type: 'response' }> {
    const tls = { ca: await readFile(cluster.caFile, 'utf8'), cert: null, key: null, serverName: null, verify: true };
    const headers = {
      Authorization: `Bearer ${cluster.token}`,
      'Impersonate-User': user,
      'Impersonate-Group': 'system:authenticated',
    };
    const access: Access = { origin: cluster.url, basePath: '', proxyUrl: null, tls, headers };
    const answers = new Map<number, (event: TransportEvent) => void>();
    const ignore = (): undefined => undefined;
    const transport = createTransport(
      {
        access,
        readAccess: () => Promise.resolve(access),
        refreshMs: 60_000,
        userAgent: 'endpointd/test',
        maxWritesInFlight: TOGETHER,
        clock: createClock(),
        log: ignore,
        observe: ignore,
      },
      (events) => {
        for (const event of events) answers.get(event.id)?.(event);
      },
    );
    const create = (id: number): Promise<TransportEvent> =>
      new Promise((resolve) => {
        answers.set(id, resolve);
        const object = { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: `${user}-${id}` } };
        transport.send({
          id,
          pool: 'write',
          method: 'POST',
          path: ENDPOINTS,
          accept: ACCEPT_METADATA,
          contentType: JSON_TYPE,
          body: Buffer.from(JSON.stringify(object)),
          stream: false,
          timeoutMs: 10_000,
        });
      });
    try {
      for (let round = 0; round < ROUNDS_MAX; round++) {
        const ids = Array.from({ length: TOGETHER }, (_, i) => round * TOGETHER + i);
        const events = await Promise.all(ids.map(create));
        const refusal = events.find((event) => event.type === 'response' && event.status === 429);
        if (refusal?.type === 'response') return refusal;
        await sleep(BETWEEN_ROUNDS_MS);
      }
      throw new Error(`no 429 after ${ROUNDS_MAX} rounds of ${TOGETHER} writes`);
    } finally {
      await transport.close();
    }
  }

  it('429 of a webhook makes its object wait alone, with or without the header', async () => {
    const { port } = webhook.address() as AddressInfo;
    const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['endpoints'] };
    const config = {
      name: 'full.example.com',
      clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle: Buffer.from(identity.cert).toString('base64') },
      rules: [rule],
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
    };
    await client.send({
      method: 'POST',
      path: WEBHOOKS,
      body: {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingWebhookConfiguration',
        metadata: { name: 'full' },
        webhooks: [config],
      },
    });
    const refusal = await refusalOf('hopeful');
    assert.notEqual(refusal.priorityLevel, '');
    assert.equal(refusal.retryAfterSeconds, 86_400);
    assert.equal(pauseAskedMs(refusal), null);
    await client.send({ method: 'DELETE', path: `${WEBHOOKS}/full` });
  });

  it('429 of priority and fairness is plain text with its header, and pauses writes', async () => {
    await client.send({
      method: 'POST',
      path: `${FLOW_CONTROL}/prioritylevelconfigurations`,
      body: {
        apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
        kind: 'PriorityLevelConfiguration',
        metadata: { name: 'none' },
        spec: {
          type: 'Limited',
          limited: { nominalConcurrencyShares: 0, borrowingLimitPercent: 0, limitResponse: { type: 'Reject' } },
        },
      },
    });
    await client.send({
      method: 'POST',
      path: `${FLOW_CONTROL}/flowschemas`,
      body: {
        apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
        kind: 'FlowSchema',
        metadata: { name: 'none' },
        spec: {
          priorityLevelConfiguration: { name: 'none' },
          matchingPrecedence: 2,
          rules: [
            {
              subjects: [{ kind: 'User', user: { name: 'unlucky' } }],
              resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'] }],
            },
          ],
        },
      },
    });
    const refusal = await refusalOf('unlucky');
    assert.notEqual(refusal.priorityLevel, '');
    assert.match(refusal.contentType, /^text\/plain/);
    const askedMs = pauseAskedMs(refusal);
    assert.ok(askedMs !== null && askedMs >= 1000 && askedMs <= 32_000, `${askedMs} ms`);
  });
});

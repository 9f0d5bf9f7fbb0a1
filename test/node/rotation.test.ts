/**
 * Credentials that are replaced again and again while the whole controller is busy, on the embedded API server behind a
 * door that knows only the newest: no sync fails, no connection stays, no secret is told.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { createApiServer } from '../../src/apiserver/server.ts';
import { parseRunFlags } from '../../src/cli/flags/flags.ts';
import { shardsFactory } from '../../src/cli/shards.ts';
import { createLoop } from '../../src/controller/loop.ts';
import { createMetricStore, samples, type MetricStore } from '../../src/metrics/store.ts';
import type { Access } from '../../src/node/access.ts';
import { createApiClient, type ApiClient } from '../../src/node/api-client.ts';
import { serveApi, type ApiServerHttp } from '../../src/node/apiserver-http.ts';
import { createClock } from '../../src/node/clock.ts';
import { createCredentials } from '../../src/node/credentials.ts';
import type { LogLine } from '../../src/node/log.ts';
import { createRandom } from '../../src/node/random.ts';
import { selfSigned, type TlsIdentity } from '../../src/node/self-signed.ts';
import { createTransport } from '../../src/node/transport.ts';
import { expectRight } from '../e2e/client.ts';
import { createPod, createService, createWorld, setReady, until, type World } from '../e2e/world.ts';
import { PKI } from '../support/pki.ts';
import { refusal } from '../support/stub-server.ts';

const ROTATIONS = 4;
/** Long enough for old credentials to be refused before new ones are read. */
const REFRESH_MS = 400;
const SERVICES = 4;
const PODS = 3;
const NODE = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' } };
const CLIENTS = [
  { name: 'client', cert: PKI.clientCert, key: PKI.clientKey },
  { name: 'client2', cert: PKI.otherCert, key: PKI.otherKey },
] as const;

interface Door {
  readonly server: Server;
  /** Who is let in. */
  readonly known: { token: string; client: string };
  readonly refusals: () => number;
  /** Connections that are open. */
  readonly sockets: ReadonlySet<Socket>;
}

/** TLS in front of the API server. It lets in who has both the token and the client certificate of the moment. */
function createDoor(api: ApiServerHttp, identity: TlsIdentity): Door {
  const known = { token: '', client: '' };
  const sockets = new Set<Socket>();
  let refusals = 0;
  const server = createServer({ ...identity, requestCert: true, rejectUnauthorized: false }, (incoming, response) => {
    const { subject } = (incoming.socket as TLSSocket).getPeerCertificate();
    if (incoming.headers.authorization === `Bearer ${known.token}` && subject?.CN === known.client) {
      passOn(api, incoming, response);
      return;
    }
    refusals++;
    const { status, body } = refusal(401, 'Unauthorized', 'Unauthorized');
    incoming.resume().on('end', () => response.writeHead(status, { 'content-type': 'application/json' }).end(body));
  });
  server.on('secureConnection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  return { server, known, refusals: () => refusals, sockets };
}

function passOn(api: ApiServerHttp, incoming: IncomingMessage, response: ServerResponse): void {
  const { method = '', url = '', headers } = incoming;
  const onward = request(api.url + url, { method, headers: { ...headers, host: new URL(api.url).host } });
  onward.on('response', (answer) => {
    response.writeHead(answer.statusCode!, answer.headers);
    response.flushHeaders();
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  incoming.pipe(onward);
}

interface Running {
  readonly lines: readonly LogLine[];
  readonly metrics: MetricStore;
  /** The client certificates that were in effect. */
  readonly certificates: ReadonlySet<string | null>;
  readonly stop: () => Promise<void>;
}

/** As `endpointd run` with this kubeconfig, but that files are read more often. */
async function startController(kubeconfig: string): Promise<Running> {
  const flags = ['--shards=0', '--kube-api-qps=1000', '--kube-api-burst=1000'];
  const options = parseRunFlags(flags, () => undefined);
  const { read } = createCredentials({ kubeconfig, master: '', env: {}, serviceAccountDirectory: '' });
  const access = await read('refresh');
  const createShards = await shardsFactory(options);
  const [clock, metrics, lines] = [createClock(), createMetricStore(), [] as LogLine[]];
  const log = (line: LogLine): void => void lines.push(line);
  const stopped = Promise.withResolvers<void>();
  const closers: (() => void | Promise<void>)[] = [() => clock.close()];
  const certificates = new Set<string | null>();
  const observeAccess = ({ tls }: Access): void => void certificates.add(tls.cert);
  const loop = createLoop({
    options: options.controller,
    clock,
    random: createRandom(),
    transport(deliver) {
      const more = { userAgent: 'endpointd/test', maxWritesInFlight: 64, clock, log, observe: () => undefined };
      const transport = createTransport(
        { access, readAccess: read, refreshMs: REFRESH_MS, refusedMs: 0, observeAccess, ...more },
        deliver,
      );
      closers.push(() => transport.close());
      return transport;
    },
    shards(deliver) {
      const shards = createShards(deliver, metrics);
      closers.push(() => shards.close());
      return shards;
    },
    host: new URL(access.origin).host,
    log,
    metrics,
    onStopped: stopped.resolve,
  });
  loop.start();
  return {
    lines,
    metrics,
    certificates,
    async stop() {
      loop.stop();
      await stopped.promise;
      for (const close of closers) await close();
    },
  };
}

async function fill(client: ApiClient): Promise<World> {
  await client.send({ method: 'POST', path: '/api/v1/nodes', body: NODE });
  const world = await createWorld(client, 'shop');
  for (let service = 0; service < SERVICES; service++) {
    await createService(world, `web-${service}`);
    for (let pod = 0; pod < PODS; pod++) {
      await createPod(world, `web-${service}-${pod}`, {
        ip: `10.1.${service}.${pod + 1}`,
        labels: { app: `web-${service}` },
      });
    }
  }
  return world;
}

/** Readiness comes and goes, one pod after the other. */
async function keepFlipping(world: World, signal: AbortSignal): Promise<void> {
  for (let n = 0; !signal.aborted; n++) {
    const service = n % SERVICES;
    const pod = Math.floor(n / SERVICES) % PODS;
    await setReady(world, `web-${service}-${pod}`, Math.floor(n / SERVICES / PODS) % 2 === 1);
  }
}

test('token, client certificate and authority are replaced under load', { timeout: 60_000 }, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-rotation-'));
  const fileOf = (name: string): string => join(directory, name);
  // Of two authorities.
  const old = { cert: PKI.serverCert, key: PKI.serverKey };
  const next = selfSigned({ hosts: ['kubernetes.test'], nowMs: Date.now(), days: 1 });
  const api = await serveApi(createApiServer({ random: () => 0.5 }));
  const door = createDoor(api, old);
  door.server.listen(0, '127.0.0.1');
  await once(door.server, 'listening');
  const url = `https://127.0.0.1:${(door.server.address() as AddressInfo).port}`;

  function rotate(n: number): void {
    const { name, cert, key } = CLIENTS[n % CLIENTS.length]!;
    writeFileSync(fileOf('client.crt'), cert);
    writeFileSync(fileOf('client.key'), key);
    writeFileSync(fileOf('token'), `secret-${n}`);
    Object.assign(door.known, { token: `secret-${n}`, client: name });
  }
  writeFileSync(fileOf('ca.crt'), PKI.ca);
  rotate(0);
  writeFileSync(
    fileOf('kubeconfig'),
    JSON.stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [
        {
          name: 'c',
          cluster: { server: url, 'certificate-authority': 'ca.crt', 'tls-server-name': 'kubernetes.test' },
        },
      ],
      users: [
        { name: 'u', user: { tokenFile: 'token', 'client-certificate': 'client.crt', 'client-key': 'client.key' } },
      ],
    }),
  );

  const running = await startController(fileOf('kubeconfig'));
  const { lines, metrics, certificates } = running;
  const client = createApiClient({ url: api.url }, 8);
  const world = await fill(client);
  await expectRight(client);

  const load = new AbortController();
  const loaded = keepFlipping(world, load.signal);
  for (let n = 1; n <= ROTATIONS; n++) {
    if (n === ROTATIONS / 2) {
      // As authorities are replaced: both are trusted before the server has a certificate of the new one.
      const before = lines.length;
      writeFileSync(fileOf('ca.crt'), PKI.ca + next.cert);
      await until(() => Promise.resolve(lines.slice(before).some(isRotation)));
      door.server.setSecureContext(next);
    }
    const seen = lines.length;
    rotate(n);
    await until(() => Promise.resolve(lines.slice(seen).some(isRotation)));
    const written = writes(metrics);
    await until(() => Promise.resolve(writes(metrics) > written + SERVICES));
  }
  load.abort();
  await loaded;
  await expectRight(client);

  const syncs = samples(metrics, 'endpointd_syncs_total', 0).filter(({ value }) => value > 0);
  const failed = syncs.filter(({ labels }) => !['written', 'unchanged'].includes(labels['result']!));
  assert.deepEqual(failed, []);
  // It was not by reading in time alone.
  assert.ok(door.refusals() > 0);
  assert.ok(syncs.reduce((sum, { value }) => sum + value, 0) > ROTATIONS);
  // Streams stay on the connection that they began on, which is one each; what else is open is of the last lanes.
  await until(() => Promise.resolve(door.sockets.size <= 20));
  assert.deepEqual(certificates, new Set(CLIENTS.map(({ cert }) => cert)));
  const told = JSON.stringify(lines);
  assert.doesNotMatch(told, /secret-|PRIVATE|BEGIN/);
  await running.stop();
  await until(() => Promise.resolve(door.sockets.size === 0));
  await client.close();
  door.server.close();
  await api.close();
  rmSync(directory, { recursive: true });
});

function writes(metrics: MetricStore): number {
  return samples(metrics, 'endpointd_writes_total', 0).reduce((sum, { value }) => sum + value, 0);
}

function isRotation({ message }: LogLine): boolean {
  return message.startsWith('Credentials changed');
}

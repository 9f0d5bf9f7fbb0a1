/** The echo floor of the bench of the peers: it loses no change, whatever the server does to its connections, and hides no error. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { watchPods } from '../../bench/peers/echo-watch.ts';
import { openWriters } from '../../bench/peers/echo-writers.ts';
import { echoPeer } from '../../bench/peers/peers.ts';
import type { PeerServer, RunningPeer } from '../../bench/peers/scenario.ts';
import { ECHO_ANNOTATION } from '../../bench/peers/stream.ts';
import { createApiServer } from '../../src/apiserver/server.ts';
import { createApiClient } from '../../src/node/api-client.ts';
import { serveApi } from '../../src/node/apiserver-http.ts';
import { encodeObject } from '../../src/kube/codec.ts';
import { PROTOBUF_WATCH } from '../../src/kube/media-type.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { encodeWatchFrame, type WatchType } from '../../src/kube/watch-framing.ts';
import { NODE_FLAGS } from '../../src/testbed/controller-process.ts';
import { create } from '../../src/workload/request.ts';
import { until } from '../support/until.ts';

// A lost change would be waited for without an end.
const MS_MAX = 60_000;
const DONE = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}';

interface Scripted {
  readonly url: string;
  /** Those that are open, the oldest first. */
  readonly connections: Socket[];
  /** The path of each request, in their order. */
  readonly asked: string[];
}

/** A server that answers as the script says: the nth request of all, on this connection. */
async function scripted(
  test: TestContext,
  script: (socket: Socket, path: string, nth: number) => void,
): Promise<Scripted> {
  const [connections, asked]: [Socket[], string[]] = [[], []];
  const server = createServer((socket) => {
    connections.push(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => void connections.splice(connections.indexOf(socket), 1));
    socket.on('data', (bytes: Buffer) => {
      const path = bytes.toString('latin1').split(' ')[1]!;
      asked.push(path);
      script(socket, path, asked.length);
    });
  });
  const url = await listening(server);
  test.after(() => {
    for (const socket of connections) socket.destroy();
    server.close();
  });
  return { url, connections, asked };
}

async function listening(server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function put(path: string): Buffer {
  return Buffer.from(`PUT ${path} HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}`);
}

describe('the writers of the echo floor', { timeout: MS_MAX }, () => {
  it('a connection that the server has closed unused takes no write with it', async (test) => {
    const server = await scripted(test, (socket) => void socket.write(DONE));
    const failures: Error[] = [];
    const { write, close } = await openWriters(server, 3, (error) => void failures.push(error));
    test.after(close);
    await until(() => server.connections.length === 3);
    for (const socket of server.connections) socket.end();
    await until(() => server.connections.length === 0);
    for (const path of ['/a', '/b', '/c', '/d']) write(put(path));
    await until(() => server.asked.length === 4);
    assert.deepEqual([server.asked.toSorted(), failures], [['/a', '/b', '/c', '/d'], []]);
  });

  it('a write whose connection closes before the answer is sent again', async (test) => {
    const server = await scripted(test, (socket, _, nth) => {
      if (nth === 1) socket.destroy();
      else if (nth === 2) socket.end('HTTP/1.1 200 OK\r\ncontent-le');
      else socket.write(DONE);
    });
    const failures: Error[] = [];
    const { write, close } = await openWriters(server, 1, (error) => void failures.push(error));
    test.after(close);
    write(put('/a'));
    write(put('/b'));
    await until(() => server.asked.length === 4);
    assert.deepEqual([server.asked, failures], [['/a', '/a', '/a', '/b'], []]);
  });

  it('a write that is cut off each time is an error', async (test) => {
    const server = await scripted(test, (socket) => void socket.destroy());
    const failure = Promise.withResolvers<Error>();
    const { write, close } = await openWriters(server, 2, failure.resolve);
    test.after(close);
    write(put('/a'));
    assert.match((await failure.promise).message, /^the server has closed 3 connections before its answer to PUT \/a$/);
  });

  it('a write that the server refuses is an error, with the answer', async (test) => {
    const refused = 'HTTP/1.1 409 Conflict\r\ncontent-length: 4\r\n\r\nbusy';
    const server = await scripted(test, (socket) => void socket.write(refused));
    const failure = Promise.withResolvers<Error>();
    const { write, close } = await openWriters(server, 2, failure.resolve);
    test.after(close);
    write(put('/a'));
    assert.match((await failure.promise).message, /^PUT \/a was answered: HTTP\/1\.1 409 Conflict\r\n[^]*busy$/);
  });
});

/** Each character is a byte. */
function eventOf(type: WatchType, name: string, version: string): string {
  const object =
    type === 'ERROR'
      ? { apiVersion: 'v1', kind: 'Status', message: 'too old' }
      : { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata: { name, resourceVersion: version } };
  return Buffer.from(encodeWatchFrame(PROTOBUF_WATCH, type, encodeObject(object))).toString('latin1');
}

function chunkOf(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

const HEAD = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
const LAST = '0\r\n\r\n';

describe('the watch of the echo floor', { timeout: MS_MAX }, () => {
  it('each event is told once, wherever chunks and packets end', async (test) => {
    const events = ['a', 'b', 'c'].map((name, i) => eventOf('MODIFIED', name, String(i))).join('');
    for (const length of [1, 7, events.length - 1, events.length]) {
      const chunks = events.match(new RegExp(`[^]{1,${length}}`, 'g'))!.map(chunkOf);
      for (const size of [1, 50, 10_000]) {
        const packets = (HEAD + chunks.join('')).match(new RegExp(`[^]{1,${size}}`, 'g'))!;
        const server = await scripted(test, (socket) => {
          socket.setNoDelay(true);
          for (const packet of packets) socket.write(packet, 'latin1');
        });
        const told: string[] = [];
        const watch = await watchPods(server, '7', ({ name }) => void told.push(name), assert.ifError);
        await until(() => told.length === 3);
        watch.stop();
        assert.deepEqual(told, ['a', 'b', 'c'], `chunks of ${length} bytes in packets of ${size}`);
      }
    }
  });

  it('a watch that ends goes on behind the last version that it has told', async (test) => {
    const answers = [
      HEAD + chunkOf(eventOf('MODIFIED', 'a', '11')) + LAST,
      HEAD + chunkOf(eventOf('BOOKMARK', '', '12')),
      HEAD + chunkOf(eventOf('MODIFIED', 'b', '13')),
    ];
    const server = await scripted(test, (socket, _, nth) => {
      socket.write(answers[nth - 1]!, 'latin1');
      // The first one ends in good order, the second one is cut.
      if (nth === 2) socket.end();
    });
    const told: string[] = [];
    const watch = await watchPods(server, '7', ({ name }) => void told.push(name), assert.ifError);
    await until(() => told.length === 2);
    watch.stop();
    assert.deepEqual(told, ['a', 'b']);
    const versions = server.asked.map((path) => /resourceVersion=(\d+)/.exec(path)![1]);
    assert.deepEqual(versions, ['7', '11', '12']);
  });

  for (const [what, answer, said] of [
    ['tells an error', HEAD + chunkOf(eventOf('ERROR', '', '')), /^the watch of pods has told: .*"too old"/],
    [
      'is refused',
      'HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n',
      /^the watch of pods was answered: HTTP\/1.1 403/,
    ],
    ['is not answered', null, /^the watch of pods had no answer: the server has closed the connection$/],
  ] as const) {
    it(`a watch that ${what} is an error`, async (test) => {
      const server = await scripted(test, (socket) => {
        if (answer === null) socket.end();
        else socket.write(answer, 'latin1');
      });
      const failure = Promise.withResolvers<Error>();
      await watchPods(server, '7', () => undefined, failure.resolve);
      assert.match((await failure.promise).message, said);
      assert.equal(server.asked.length, 1);
    });
  }
});

/** A way to the server whose connections can be closed. */
async function openWay(test: TestContext, url: string): Promise<{ readonly url: string; readonly ways: Set<Way> }> {
  const ways = new Set<Way>();
  const { port, hostname } = new URL(url);
  const server = createServer((client) => {
    const way: Way = { client, isUsed: false };
    const upstream = connect(Number(port), hostname);
    ways.add(way);
    client.once('data', () => (way.isUsed = true));
    client.on('close', () => ways.delete(way));
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
    client.pipe(upstream).pipe(client);
  });
  test.after(() => {
    for (const { client } of ways) client.destroy();
    server.close();
  });
  return { url: await listening(server), ways };
}

interface Way {
  readonly client: Socket;
  isUsed: boolean;
}

const TARGETED = { targetRef: { kind: 'Pod', namespace: 'shop', name: 'web-1' } };
const POD: KubeObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'shop', name: 'web-1', labels: { app: 'web' } },
  spec: { containers: [{ name: 'web', image: 'web' }] },
};
const OBJECTS: readonly KubeObject[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
  POD,
  {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { namespace: 'shop', name: 'web' },
    subsets: [{ addresses: [{ ip: '10.0.0.1', ...TARGETED }], ports: [{ port: 80 }] }],
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'shop', name: 'web-a', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.0.0.1'], ...TARGETED }],
  },
];
const OUTPUTS = ['/api/v1/namespaces/shop/endpoints', '/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices'];

/** The floor as a process on the embedded server, and the versions that its writes have told, by the kind of the object. */
async function startFloor(test: TestContext) {
  const closing: (() => unknown)[] = [];
  // The last first: a watch has to be stopped before its server is.
  test.after(async () => {
    for (const close of closing.toReversed()) await close();
  });
  const api = await serveApi(createApiServer({ random: () => 0.5 }));
  closing.push(() => api.close());
  const client = createApiClient({ url: api.url }, 4);
  closing.push(() => client.close());
  for (const object of OBJECTS) await client.send(create(object));
  const echoed = new Map<string, Set<number>>();
  for (const path of OUTPUTS) {
    const { resourceVersion } = await client.list(path);
    const versions = new Set<number>();
    echoed.set(path, versions);
    const { stop } = client.watch(path, resourceVersion, (_, { metadata: { annotations } }) => {
      versions.add(Number(annotations?.[ECHO_ANNOTATION]));
    });
    closing.push(stop);
  }
  const { url, ways } = await openWay(test, api.url);
  const floor: RunningPeer = await echoPeer(['shop']).start({ target: { url } } as PeerServer);
  closing.push(() => floor.kill());
  const turn = async (): Promise<number> => {
    const path = '/api/v1/namespaces/shop/pods/web-1';
    const body = { metadata: { annotations: { turn: String(++turns) } } };
    const contentType = 'application/merge-patch+json';
    const pod = (await client.send({ method: 'PATCH', path, body, contentType })) as KubeObject;
    return Number(pod.metadata.resourceVersion);
  };
  let turns = 0;
  return { client, floor, ways, echoed, turn };
}

describe('the echo floor as a process', { timeout: MS_MAX }, () => {
  it('changes at once are answered where the server has closed unused connections', async (test) => {
    const { floor, ways, echoed, turn } = await startFloor(test);
    // A floor whose garbage is collected otherwise would be none.
    const command = readFileSync(`/proc/${floor.processes['echo']}/cmdline`, 'utf8').split('\0');
    assert.deepEqual(command.slice(1, 1 + NODE_FLAGS.length), NODE_FLAGS);
    // kube-apiserver does so 32 s after they were opened.
    for (const { client, isUsed } of ways) if (!isUsed) client.end();
    await until(() => [...ways].every(({ isUsed }) => isUsed));
    const versions = await Promise.all([turn(), turn(), turn()]);
    for (const seen of echoed.values()) await until(() => versions.every((version) => seen.has(version)));
  });

  it('a write that the server refuses ends the floor, and the run says why', async (test) => {
    const { client, floor, turn } = await startFloor(test);
    await client.send({ method: 'DELETE', path: `${OUTPUTS[0]}/web` });
    await turn();
    await assert.rejects(
      floor.failed,
      /^Error: the echo floor has ended with status 1: .*PUT .*\/web was answered: HTTP/,
    );
  });
});

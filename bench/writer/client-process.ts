/**
 * One way to send small PUTs. It is a process of its own, so that no way pays for the garbage or the compiler of
 * another.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2, constants, type ClientHttp2Session } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { ACCEPT_METADATA, PROTOBUF } from '../../src/kube/media-type.ts';
import { createClock } from '../../src/node/clock.ts';
import { createTransport } from '../../src/node/transport.ts';
import { encodeRequest, onAnswer, openSocket } from '../support/http-load.ts';
import { createOwnWriter } from './own-writer.ts';
import { NUMBER_LENGTH, type ClientOrder, type Round, type RoundResult } from './messages.ts';

/** Sends a body. `answered` gets the body of the answer, once. */
type Put = (body: Uint8Array, answered: (body: Uint8Array) => void) => void;

const CONNECTIONS = 16;
const BODY_BYTES = 500;
const TOKEN = 'eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ'.padEnd(900, 'a');

const WAYS: Readonly<Record<string, (order: ClientOrder) => Promise<Put>>> = {
  transport: (order) => Promise.resolve(byTransport(order)),
  'own writer': byOwnWriter,
  http2: byHttp2,
  sockets: bySockets,
};

process.once('message', (order) => void run(order as ClientOrder));
process.once('disconnect', () => process.exit());

async function run(order: ClientOrder): Promise<void> {
  const put = await WAYS[order.way]!(order);
  process.on('message', (round) => {
    void play(put, round as Round).then((result) => process.send!(result));
  });
  process.send!('ready');
}

async function play(put: Put, round: Round): Promise<RoundResult> {
  const answers = new Set<number>();
  const from = performance.now();
  const before = process.cpuUsage();
  if (round.every === null) await closedLoop(put, answers, round);
  else await paced(put, answers, round.count, round.every);
  const { user, system } = process.cpuUsage(before);
  assert.equal(answers.size, round.count, 'each PUT has its own answer');
  return { cpuUs: user + system, seconds: (performance.now() - from) / 1000 };
}

function closedLoop(put: Put, answers: Set<number>, { count, flight }: Round): Promise<void> {
  return new Promise((resolve) => {
    let next = 0;
    const send = (): void => {
      const number = next++;
      put(bodyOf(number), (body) => {
        answers.add(checked(number, body));
        if (next < count) send();
        else if (answers.size === count) resolve();
      });
    };
    while (next < Math.min(flight, count)) send();
  });
}

async function paced(
  put: Put,
  answers: Set<number>,
  count: number,
  { together, ms }: NonNullable<Round['every']>,
): Promise<void> {
  const all = Promise.withResolvers<void>();
  for (let next = 0; next < count; await sleep(ms)) {
    for (let i = 0; i < together && next < count; i++) {
      const number = next++;
      put(bodyOf(number), (body) => {
        if (answers.add(checked(number, body)).size === count) all.resolve();
      });
    }
  }
  await all.promise;
}

function pathOf(id: number): string {
  const name = `web-${String(id % 1000).padStart(5, '0')}`;
  return `/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/${name}-abcde`;
}

/** A new body each time, as planning makes them. */
function bodyOf(number: number): Buffer {
  const body = Buffer.alloc(BODY_BYTES, 0x6a);
  body.write(String(number).padStart(NUMBER_LENGTH, '0'), 0, 'latin1');
  return body;
}

function checked(number: number, body: Uint8Array): number {
  const text = Buffer.from(body.buffer, body.byteOffset, NUMBER_LENGTH).toString('latin1');
  assert.equal(Number(text), number, 'the answer is the one to this PUT');
  return number;
}

/** The transport as it is shipped, with its counters and time limits. */
function byTransport({ origin, ca }: ClientOrder): Put {
  const tls = { ca, cert: null, key: null, serverName: null, verify: true };
  const access = { origin, basePath: '', proxyUrl: null, tls, headers: { Authorization: `Bearer ${TOKEN}` } };
  const answeredOf = new Map<number, (body: Uint8Array) => void>();
  const transport = createTransport(
    {
      access,
      readAccess: () => Promise.resolve(access),
      refreshMs: 60_000,
      userAgent: 'endpointd/bench (linux/amd64)',
      maxWritesInFlight: CONNECTIONS,
      clock: createClock(),
      log: ({ message }) => assert.fail(message),
      observe: () => undefined,
    },
    (events) => {
      for (const event of events) {
        assert.ok(event.type === 'response' && event.status === 200, JSON.stringify(event));
        const answered = answeredOf.get(event.id)!;
        answeredOf.delete(event.id);
        answered(event.body);
      }
    },
  );
  let id = 0;
  return (body, answered) => {
    answeredOf.set(++id, answered);
    const [pool, method] = ['write', 'PUT'] as const;
    const path = pathOf(id);
    const request = { id, pool, method, path, accept: ACCEPT_METADATA, contentType: PROTOBUF, body };
    transport.send({ ...request, stream: false, timeoutMs: 10_000 });
  };
}

async function byOwnWriter({ origin, ca }: ClientOrder): Promise<Put> {
  const lines = [
    `host: ${new URL(origin).host}`,
    `authorization: Bearer ${TOKEN}`,
    `accept: ${ACCEPT_METADATA}`,
    `content-type: ${PROTOBUF}`,
  ];
  const headers = lines.map((line) => `${line}\r\n`).join('');
  const writer = await createOwnWriter(origin, ca, CONNECTIONS, headers);
  let id = 0;
  return (body, answered) =>
    writer.put(pathOf(++id), body, (status, _headers, answer) => {
      assert.equal(status, 200);
      answered(answer);
    });
}

/** One session, as HTTP/2 clients have. */
async function byHttp2({ origin, ca }: ClientOrder): Promise<Put> {
  const session = await new Promise<ClientHttp2Session>((resolve) => {
    const made = connectHttp2(origin, ca === null ? {} : { ca }, () => resolve(made));
  });
  let id = 0;
  return (body, answered) => {
    const stream = session.request({
      [constants.HTTP2_HEADER_METHOD]: 'PUT',
      [constants.HTTP2_HEADER_PATH]: pathOf(++id),
      accept: ACCEPT_METADATA,
      'content-type': PROTOBUF,
      'content-length': body.length,
      authorization: `Bearer ${TOKEN}`,
    });
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => answered(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    stream.end(body);
  };
}

/** The floor: without a deadline, without a pool that grows. Of the headers only the length is read. */
async function bySockets({ origin: url, ca }: ClientOrder): Promise<Put> {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-writer-'));
  const caFile = join(directory, 'ca.crt');
  if (ca !== null) writeFileSync(caFile, ca);
  const target = { url, token: TOKEN, ...(ca === null ? {} : { caFile }) };
  const opened = Promise.all(Array.from({ length: CONNECTIONS }, () => openSocket(target)));
  const sockets = await opened.finally(() => rmSync(directory, { recursive: true }));
  const answeredOn = new Map<unknown, (body: Uint8Array) => void>();
  for (const socket of sockets) {
    onAnswer(socket, (answer) => {
      const answered = answeredOn.get(socket)!;
      sockets.push(socket);
      answered(answer.subarray(answer.indexOf('\r\n\r\n') + 4));
    });
  }
  let id = 0;
  return (body, answered) => {
    const socket = sockets.pop()!;
    answeredOn.set(socket, answered);
    const path = pathOf(++id);
    socket.write(encodeRequest(target, { method: 'PUT', path, accept: ACCEPT_METADATA, contentType: PROTOBUF, body }));
  };
}

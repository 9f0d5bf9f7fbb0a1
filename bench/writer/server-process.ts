/**
 * The server of the writer's bench. It answers each PUT with ready-made bytes, as long as a real API server's answer,
 * and with the request's number in them. It looks at nothing else, so that a core is left for the client.
 */
import { createSecureServer, createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import process from 'node:process';
import { createServer as createTlsServer } from 'node:tls';
import { selfSigned } from '../../src/node/self-signed.ts';
import { NUMBER_LENGTH, type ServerReady } from './messages.ts';

const HEAD_END = Buffer.from('\r\n\r\n');
const LENGTH = /content-length: (\d+)/i;
const BODY_BYTES = 480;

process.once('message', () => void start());
process.once('disconnect', () => process.exit());

async function start(): Promise<void> {
  const identity = selfSigned({ hosts: ['127.0.0.1'], nowMs: Date.now(), days: 1 });
  const ready: ServerReady = {
    plain: await listen(createServer(serve)),
    tls: await listen(createTlsServer(identity, serve)),
    plainHttp2: await listen(answering(createHttp2Server())),
    tlsHttp2: await listen(answering(createSecureServer(identity))),
    ca: identity.cert,
  };
  process.send!(ready);
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** Requests of one connection come one after the other. */
function serve(socket: Socket): void {
  let received: Buffer = Buffer.alloc(0);
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const end = received.indexOf(HEAD_END);
    if (end < 0) return;
    const body = end + HEAD_END.length;
    const length = Number(LENGTH.exec(received.toString('latin1', 0, end))![1]);
    if (received.length < body + length) return;
    socket.write(replyTo(received.subarray(body, body + NUMBER_LENGTH)));
    received = received.subarray(body + length);
  });
}

/** The answer of kube-apiserver to a PUT whose sender asks for metadata only. */
const REPLY_HEAD = Buffer.from(
  [
    'HTTP/1.1 200 OK',
    'Audit-Id: 0b1f8a2e-6a2f-4d0e-9c0f-5d1b2f9f7a11',
    'Cache-Control: no-cache, private',
    'Content-Type: application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    'X-Kubernetes-Pf-Flowschema-Uid: 6b1ce26e-51a7-4e0b-8c5b-1c3c5d8d6a10',
    'X-Kubernetes-Pf-Prioritylevel-Uid: 5a3a1d61-1a0a-4a4e-9d3d-0a5e0f8b1c22',
    'Date: Sun, 22 Nov 2026 12:00:00 GMT',
    `Content-Length: ${BODY_BYTES}`,
    '',
    '',
  ].join('\r\n'),
);
const REPLY = Buffer.concat([REPLY_HEAD, Buffer.alloc(BODY_BYTES, 0x6b)]);

function replyTo(number: Uint8Array): Buffer {
  const reply = Buffer.from(REPLY);
  reply.set(number, REPLY_HEAD.length);
  return reply;
}

function answering<T extends Server>(server: T): T {
  server.on('stream', (stream: ServerHttp2Stream) => {
    let first: Buffer | null = null;
    stream.on('data', (chunk: Buffer) => (first ??= chunk));
    stream.on('end', () => {
      stream.respond({
        ':status': 200,
        'audit-id': '0b1f8a2e-6a2f-4d0e-9c0f-5d1b2f9f7a11',
        'cache-control': 'no-cache, private',
        'content-type': 'application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
        'x-kubernetes-pf-flowschema-uid': '6b1ce26e-51a7-4e0b-8c5b-1c3c5d8d6a10',
        'x-kubernetes-pf-prioritylevel-uid': '5a3a1d61-1a0a-4a4e-9d3d-0a5e0f8b1c22',
        'content-length': BODY_BYTES,
      });
      stream.end(replyTo(first!.subarray(0, NUMBER_LENGTH)).subarray(REPLY_HEAD.length));
    });
  });
  return server;
}

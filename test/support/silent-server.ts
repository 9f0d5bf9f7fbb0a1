/**
 * A program: answers every request with a stream that has begun and then brings nothing, over HTTP on port 8080 and TLS on
 * 8443; 8080 is also an HTTP proxy to 8443. Ends when its input does, as it does when the test is killed.
 */
import http, { type RequestListener } from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { pipeline } from 'node:stream';
import { PKI } from './pki.ts';

const begin: RequestListener = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).write('x');
};

const server = http.createServer(begin);
server.on('connect', (_request, client: net.Socket) => {
  const upstream = net.connect(8443, '127.0.0.1', () => {
    client.write('HTTP/1.1 200 OK\r\n\r\n');
    pipeline(client, upstream, client, () => undefined);
  });
});
server.listen(8080);
https.createServer({ cert: PKI.serverCert, key: PKI.serverKey }, begin).listen(8443);
process.stdin.on('end', () => process.exit()).resume();

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';

/** Tunnels for CONNECT, for who has the password. */
export interface ConnectProxy extends AsyncDisposable {
  /** With name and password. */
  readonly url: string;
  readonly password: string;
  /** So many were made. */
  readonly tunnels: () => number;
  /** So many are open. */
  readonly open: () => number;
}

export async function startConnectProxy(): Promise<ConnectProxy> {
  const password = randomBytes(12).toString('hex');
  const wanted = `Basic ${Buffer.from(`someone:${password}`).toString('base64')}`;
  const sockets = new Set<Socket>();
  let tunnels = 0;
  const server = createServer((_request, response) => void response.writeHead(405).end());
  server.on('connect', ({ url = '', headers }: IncomingMessage, client: Socket) => {
    sockets.add(client);
    client.on('close', () => sockets.delete(client));
    if (headers['proxy-authorization'] !== wanted) {
      client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    const { hostname, port } = new URL(`http://${url}`);
    const onward = connect(Number(port), hostname, () => {
      tunnels++;
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      client.pipe(onward).pipe(client);
    });
    onward.on('error', () => client.destroy());
    onward.on('close', () => client.destroy());
    client.on('error', () => onward.destroy());
    client.on('close', () => onward.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://someone:${password}@127.0.0.1:${(server.address() as AddressInfo).port}`,
    password,
    tunnels: () => tunnels,
    open: () => sockets.size,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

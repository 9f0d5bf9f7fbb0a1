import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** One address for several servers, as a load balancer of TCP is: connections in turn, past those that do not answer. */
export interface Balancer extends AsyncDisposable {
  readonly port: number;
  /** Connections that each server has had, in the order of the ports. */
  readonly served: readonly number[];
  /** Those that are open now. */
  readonly open: readonly number[];
}

export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const [served, open] = [ports.map(() => 0), ports.map(() => 0)];
  const sockets = new Set<Socket>();
  let turn = 0;

  function join(client: Socket, triesLeft: number): void {
    const at = turn++ % ports.length;
    const server = connect(ports[at]!, '127.0.0.1');
    let joined = false;
    server.on('connect', () => {
      joined = true;
      served[at]!++;
      open[at]!++;
      client.pipe(server).pipe(client);
    });
    server.on('error', () => {
      if (!joined && triesLeft > 1) join(client, triesLeft - 1);
      else client.destroy();
    });
    server.on('close', () => {
      if (!joined) return;
      open[at]!--;
      client.destroy();
    });
    client.on('close', () => server.destroy());
  }

  const balancer = createServer((client) => {
    sockets.add(client);
    client.on('error', () => client.destroy());
    client.on('close', () => sockets.delete(client));
    join(client, ports.length);
  });
  balancer.listen(0, '127.0.0.1');
  await once(balancer, 'listening');
  return {
    port: (balancer.address() as AddressInfo).port,
    served,
    open,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => void balancer.close(resolve));
    },
  };
}

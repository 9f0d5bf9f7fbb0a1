import { readFile, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Cluster } from '../../src/testbed/kube-cluster.ts';

/** Passes bytes between a client and a real API server, as a load balancer of connections does. */
export interface Tunnel {
  /** Of a client that goes through the tunnel, with the rights of the cluster's administrator. */
  readonly kubeconfigPath: string;
  /** Brings nothing more on connections that are open, and says so to nobody; new ones work. */
  forget(): void;
  stop(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

export async function startTunnel(cluster: Cluster): Promise<Tunnel> {
  const port = Number(new URL(cluster.url).port);
  const pairs = new Set<Pair>();
  const listener = createServer((client) => {
    const server = connect(port, '127.0.0.1');
    const pair: Pair = { client, server };
    pairs.add(pair);
    client.pipe(server);
    server.pipe(client);
    const end = (): void => {
      pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) socket.on('error', end).on('close', end);
  });
  await new Promise<void>((resolve) => void listener.listen(0, '127.0.0.1', resolve));
  const own = (listener.address() as AddressInfo).port;
  const kubeconfigPath = join(cluster.directory, `tunnel-${own}.kubeconfig`);
  const text = await readFile(cluster.kubeconfigPath, 'utf8');
  await writeFile(kubeconfigPath, text.replaceAll(cluster.url, `https://127.0.0.1:${own}`));
  return {
    kubeconfigPath,
    forget() {
      for (const { client, server } of pairs) {
        for (const socket of [client, server]) {
          socket.unpipe();
          // What comes is thrown away; who closes is heard of by nobody.
          socket.removeAllListeners('close');
          socket.resume();
        }
      }
    },
    async stop() {
      for (const { client, server } of pairs) {
        client.destroy();
        server.destroy();
      }
      await new Promise((resolve) => void listener.close(resolve));
    },
  };
}

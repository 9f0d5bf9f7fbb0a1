/**
 * A gate before the API server that can hold back what the server sends: bytes of any protocol, also TLS. Other
 * connections do not pass it.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { LoadTarget } from '../support/http-load.ts';
import type { BenchServer } from './server.ts';

export interface Gate {
  readonly target: LoadTarget;
  readonly kubeconfigPath: string;
  /**
   * Holds back everything from the server, however much it is. The server sees a client that reads, if it serves no
   * HTTP/2: there the client would have to make room.
   */
  readonly hold: () => void;
  readonly release: () => void;
  readonly close: () => void;
}

interface Way {
  readonly client: Socket;
  readonly server: Socket;
  readonly held: Buffer[];
}

export async function openGate({ target, kubeconfigPath }: BenchServer): Promise<Gate> {
  const { hostname, port, host } = new URL(target.url);
  const ways = new Set<Way>();
  let holding = false;
  const gate = createServer((client) => {
    const way: Way = { client, server: connect(Number(port), hostname), held: [] };
    ways.add(way);
    const end = (): void => {
      ways.delete(way);
      way.client.destroy();
      way.server.destroy();
    };
    for (const socket of [way.client, way.server]) socket.setNoDelay(true).on('error', end).on('close', end);
    way.client.pipe(way.server);
    way.server.on('data', (chunk: Buffer) => {
      if (holding) way.held.push(chunk);
      else way.client.write(chunk);
    });
  });
  await new Promise<void>((resolve) => void gate.listen(0, hostname, resolve));
  const ownHost = `${hostname}:${(gate.address() as AddressInfo).port}`;
  const ownKubeconfig = `${kubeconfigPath}.gate`;
  writeFileSync(ownKubeconfig, readFileSync(kubeconfigPath, 'utf8').replaceAll(host, ownHost));
  return {
    target: { ...target, url: target.url.replace(host, ownHost) },
    kubeconfigPath: ownKubeconfig,
    hold: () => void (holding = true),
    release: () => {
      holding = false;
      for (const { client, held } of ways) {
        for (const chunk of held.splice(0)) client.write(chunk);
      }
    },
    close: () => {
      gate.close();
      for (const { client, server } of ways) {
        client.destroy();
        server.destroy();
      }
      rmSync(ownKubeconfig, { force: true });
    },
  };
}

import { createServer } from 'node:net';
import process from 'node:process';

/** Below the ports that Linux gives to who asks for any: nobody is given one of these before it is used. */
const FIRST_PORT = 12_000;
const PORT_COUNT = 20_000;
/** So far from each other begin processes that start one after the other. */
const PROCESS_PORTS = 16;

let drawn = 0;

/** Different ports of 127.0.0.1 that are free, and that no other call of this process gives. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    if (drawn === PORT_COUNT) throw new Error('there is no free port of 127.0.0.1 any more');
    const port = FIRST_PORT + ((process.pid * PROCESS_PORTS + drawn++) % PORT_COUNT);
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

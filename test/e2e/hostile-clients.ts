/** Clients of a metrics port that mean no good, or are broken: all at once, until they are let go. */
import { connect, type Socket } from 'node:net';

const IDLE_CONNECTIONS = 200;
const PIPELINED_REQUESTS = 1700;
const GREEDY_CONNECTIONS = 4;
const SLOW_BYTE_MS = 500;

/** @param address host and port. Returns what ends them. */
export function startHostileClients(address: string): () => void {
  const [host, port] = address.split(':') as [string, string];
  const sockets = new Set<Socket>();
  const open = (): Socket => {
    const socket = connect(Number(port), host);
    // To be refused or cut off is what they have to expect.
    socket.on('error', () => socket.destroy());
    sockets.add(socket);
    return socket;
  };
  for (let i = 0; i < IDLE_CONNECTIONS; i++) open();
  for (let i = 0; i < GREEDY_CONNECTIONS; i++) {
    const greedy = open();
    // It asks for everything at once and reads nothing.
    greedy.pause();
    greedy.write(`GET /metrics HTTP/1.1\r\nHost: ${address}\r\n\r\n`.repeat(PIPELINED_REQUESTS));
  }
  const slow = open();
  const timer = setInterval(() => slow.write('G'), SLOW_BYTE_MS);
  open().write(Buffer.alloc(1 << 20, 0xff));
  return () => {
    clearInterval(timer);
    for (const socket of sockets) socket.destroy();
  };
}

import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

const HEAD_END = Buffer.from('\r\n\r\n');

/**
 * A connection as node:http may see it: up to the end of the first request's head, when `onHead` is called. What the
 * client sends behind it is not read. Otherwise node:http would parse all that a packet holds before it sends an
 * answer: 64 KB of small requests would take some 50 ms, and as many answers would wait for their turn.
 */
export function oneRequest(socket: Socket, onHead: () => void): Duplex {
  /** The last bytes that came: the end of the head may be cut anywhere. */
  let tail: Buffer = Buffer.alloc(0);
  const connection = new Duplex({
    read() {
      // The socket flows until the head is there, and node:http refuses one that is too large.
    },
    write(chunk: Buffer, _encoding, done) {
      socket.write(chunk, done);
    },
    final(done) {
      socket.destroySoon();
      done();
    },
    destroy(error, done) {
      socket.destroy();
      done(error);
    },
  });
  socket.on('data', (chunk: Buffer) => {
    const seen = Buffer.concat([tail, chunk]);
    const end = seen.indexOf(HEAD_END);
    if (end < 0) {
      connection.push(chunk);
      tail = seen.subarray(1 - HEAD_END.length);
      return;
    }
    socket.pause();
    onHead();
    connection.push(chunk.subarray(0, end + HEAD_END.length - tail.length));
  });
  socket.on('end', () => connection.push(null));
  // 'close' follows.
  socket.on('error', () => undefined);
  socket.on('close', () => connection.destroy());
  return connection;
}

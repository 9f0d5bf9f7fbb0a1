import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

const HEAD_END = Buffer.from('\r\n\r\n');
const [CR, LF] = HEAD_END;

/**
 * The part of a connection that node:http may see: up to the end of the first request's head. Then `onHead` is called,
 * and nothing more is read. Otherwise node:http would parse everything in a packet before it sends an answer. 64 KB of
 * small requests would take some 50 ms, and all their answers would wait for their turn.
 * @param headBytesMax a client that sends more without ending the head is closed; node:http does not count empty lines
 * before a request, nor spaces within its head
 */
export function oneRequest(socket: Socket, headBytesMax: number, onHead: () => void): Duplex {
  /** The last bytes that came. The end of the head may be cut anywhere. */
  let tail: Buffer = Buffer.alloc(0);
  let hasBegun = false;
  let bytes = 0;
  const connection = new Duplex({
    read() {
      // The socket flows until the head is there. node:http refuses a head that is too large.
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
  socket.on('data', (received: Buffer) => {
    const chunk = hasBegun ? received : withoutEmptyLines(received);
    hasBegun ||= chunk.length > 0;
    bytes += received.length;
    const seen = Buffer.concat([tail, chunk]);
    const end = seen.indexOf(HEAD_END);
    if (end < 0) {
      if (chunk.length > 0) connection.push(chunk);
      tail = seen.subarray(1 - HEAD_END.length);
      if (bytes <= headBytesMax) return;
      socket.pause();
      // node:http may have an answer to send before.
      socket.destroySoon();
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

/** HTTP lets a client send empty lines before its request. */
function withoutEmptyLines(chunk: Buffer): Buffer {
  const start = chunk.findIndex((byte) => byte !== CR && byte !== LF);
  return chunk.subarray(start < 0 ? chunk.length : start);
}

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The most requests of one connection that wait. One more ends the connection. */
const WAITING_MAX = 100;

type Exchange = readonly [IncomingMessage, ServerResponse];

/**
 * Takes the requests of a connection one after another, even if the client has sent them without waiting for answers.
 * So each request sees what the one before has done. node:http keeps only the order of the answers.
 */
export function inTurn(listener: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, Exchange[]>();
  const take = (socket: Socket, [request, response]: Exchange): void => {
    response.once('close', () => {
      const next = waiting.get(socket)?.shift();
      if (next === undefined || socket.destroyed) waiting.delete(socket);
      else take(socket, next);
    });
    listener(request, response);
  };
  return (request, response) => {
    const { socket } = request;
    const behind = waiting.get(socket);
    if (behind === undefined) {
      waiting.set(socket, []);
      take(socket, [request, response]);
    } else if (behind.length < WAITING_MAX) behind.push([request, response]);
    else socket.destroy();
  };
}

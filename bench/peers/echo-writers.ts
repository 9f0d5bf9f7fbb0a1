/** Connections that write, and lose no write when the server closes one of them. */
import type { Socket } from 'node:net';
import { isSuccess, type LoadTarget, onAnswer, openSocket } from '../support/http-load.ts';

export interface Writers {
  readonly write: (request: Buffer) => void;
  readonly close: () => void;
}

interface Sent {
  readonly request: Buffer;
  /** How often its connection was closed before the answer. */
  cuts: number;
}

/** A server closes what is idle, and may do so while a request is on its way. It does not three times in a row. */
const CUTS_MAX = 3;
const SAID_MAX = 500;

/**
 * Each connection has one request under way. If none is free, requests wait, first come, first served. kube-apiserver closes
 * a connection that was not used for 32 s after it was opened, or for 90 s later: another one is opened when it is needed,
 * and a request without an answer is sent again, which must do no harm.
 * @param connections at most; so many are opened at once
 * @param onFailure is told of each write that the server has refused or that could not be sent
 */
export async function openWriters(
  target: LoadTarget,
  connections: number,
  onFailure: (error: Error) => void,
): Promise<Writers> {
  const sockets = new Set<Socket>();
  const free: Socket[] = [];
  const waiting: Sent[] = [];
  const underWay = new Map<Socket, Sent>();
  let [opening, closing] = [0, false];

  const send = (socket: Socket, sent: Sent): void => {
    underWay.set(socket, sent);
    socket.write(sent.request);
  };
  const goOn = (socket: Socket): void => {
    const sent = waiting.shift();
    if (sent === undefined) free.push(socket);
    else send(socket, sent);
  };
  const place = (sent: Sent): void => {
    const socket = free.pop();
    if (socket !== undefined) {
      send(socket, sent);
      return;
    }
    if (sent.cuts > 0) waiting.unshift(sent);
    else waiting.push(sent);
    if (sockets.size + opening < connections) open().catch(onFailure);
  };
  const lost = (socket: Socket): void => {
    sockets.delete(socket);
    const at = free.indexOf(socket);
    if (at >= 0) free.splice(at, 1);
    const sent = underWay.get(socket);
    underWay.delete(socket);
    if (sent === undefined || closing) return;
    sent.cuts++;
    if (sent.cuts < CUTS_MAX) place(sent);
    else
      onFailure(
        new Error(`the server has closed ${CUTS_MAX} connections before its answer to ${textOf(sent.request)}`),
      );
  };
  const open = async (): Promise<void> => {
    opening++;
    const socket = await openSocket(target).finally(() => opening--);
    sockets.add(socket);
    // The connection closes then, and that is what counts.
    socket.on('error', () => undefined);
    socket.on('close', () => lost(socket));
    onAnswer(socket, (answer) => {
      const { request } = underWay.get(socket)!;
      underWay.delete(socket);
      if (!isSuccess(answer)) onFailure(new Error(`${textOf(request)} was answered: ${saidOf(answer)}`));
      goOn(socket);
    });
    goOn(socket);
  };

  await Promise.all(Array.from({ length: connections }, open));
  return {
    write: (request) => place({ request, cuts: 0 }),
    close: () => {
      closing = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** The method and the path. */
function textOf(request: Buffer): string {
  return request.toString('latin1', 0, request.indexOf(' HTTP/1.1'));
}

function saidOf(answer: Buffer): string {
  return answer.toString('latin1').slice(0, SAID_MAX);
}

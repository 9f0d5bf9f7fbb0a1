/** A watch of the metadata of all pods in protobuf, as controllers have it, on bare sockets. */
import type { Socket } from 'node:net';
import { decodeBare } from '../../src/kube/codec.ts';
import { AS_PARTIAL, PROTOBUF, PROTOBUF_WATCH } from '../../src/kube/media-type.ts';
import { type MetaRecord, projectMeta } from '../../src/kube/object-meta.ts';
import { createWatchReader, type WatchFrame } from '../../src/kube/watch-framing.ts';
import { encodeRequest, type LoadTarget, onBody, openSocket } from '../support/http-load.ts';

export interface PodWatch {
  readonly stop: () => void;
}

const NO_BODY = new Uint8Array(0);
const OK = 'HTTP/1.1 200 ';

/**
 * Calls `take` with each pod of which an event tells. A watch that ends, however it does, goes on with another one from the
 * last version that it has told. Resolves when the server has begun to answer.
 * @param version the first event is behind it
 * @param onFailure is told when the watch cannot go on
 */
export async function watchPods(
  target: LoadTarget,
  version: string,
  take: (pod: MetaRecord) => void,
  onFailure: (error: Error) => void,
): Promise<PodWatch> {
  let [last, stopped] = [version, false];
  let socket: Socket;
  const stop = (): void => {
    stopped = true;
    socket.destroy();
  };
  const fail = (what: string): void => {
    stop();
    onFailure(new Error(`the watch of pods ${what}`));
  };
  const takeFrame = ({ type, object }: WatchFrame): void => {
    if (type === 'ERROR') {
      fail(`has told: ${errorText(object)}`);
      return;
    }
    const pod = projectMeta(object);
    last = pod.resourceVersion;
    if (type !== 'BOOKMARK') take(pod);
  };
  const open = async (): Promise<void> => {
    socket = await openSocket(target);
    const begun = Promise.withResolvers<void>();
    let hasBegun = false;
    // The connection closes then, and that is what counts.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      begun.resolve();
      if (stopped) return;
      if (hasBegun) open().catch(onFailure);
      else fail('had no answer: the server has closed the connection');
    });
    const onHead = (head: string): void => {
      hasBegun = head.startsWith(OK);
      if (hasBegun) begun.resolve();
      else fail(`was answered: ${head}`);
    };
    const reader = createWatchReader(PROTOBUF_WATCH);
    const takeBody = (bytes: Buffer): void => {
      reader.push(bytes);
      for (let frame = reader.next(); frame !== null; frame = reader.next()) takeFrame(frame);
    };
    onBody(socket, { onHead, take: takeBody });
    // With bookmarks the last version is never so old that the server knows it no more.
    const path = `/api/v1/pods?watch=1&allowWatchBookmarks=true&resourceVersion=${last}`;
    const accept = `${PROTOBUF};${AS_PARTIAL}`;
    socket.write(encodeRequest(target, { method: 'GET', path, accept, contentType: '', body: NO_BODY }));
    await begun.promise;
  };
  await open();
  return { stop };
}

function errorText(object: WatchFrame['object']): string {
  if (object.encoding === 'json') return JSON.stringify(object.value);
  return JSON.stringify(decodeBare(object.apiVersion, object.kind, object.bytes));
}

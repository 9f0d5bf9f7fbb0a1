/**
 * How a standby follows the Lease: by a watch on its name. The watch only saves time. What it misses is found by the
 * read that follows its end, or by a write that is refused because the Lease has another version.
 */
import { leaseOf, type Lease, type LeaseKey } from '../../kube/lease.ts';
import { JSON_TYPE } from '../../kube/media-type.ts';
import { DecodeError } from '../../kube/protobuf.ts';
import { createWatchReader, type WatchReader } from '../../kube/watch-framing.ts';
import type { HttpRequest, TransportEvent } from '../../ports/transport.ts';

export type LeaseWatch =
  | { readonly name: 'closed' }
  | { readonly name: 'opening'; readonly id: number }
  | { readonly name: 'open'; readonly id: number; readonly reader: WatchReader };

/** What a watch has told: the Lease as it is now, that it is gone, or that the watch has ended. */
export type LeaseNews = { readonly type: 'lease'; readonly lease: Lease } | { readonly type: 'gone' | 'over' };

const TIMEOUT_SECONDS = 300;
const OPEN_TIMEOUT_MS = 10_000;

export function leasesPath(namespace: string): string {
  return `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
}

export function leaseWatchRequest({ namespace, name }: LeaseKey, version: string): Omit<HttpRequest, 'id'> {
  const query = `watch=true&fieldSelector=metadata.name%3D${name}&resourceVersion=${version}&timeoutSeconds=${TIMEOUT_SECONDS}`;
  return {
    pool: 'watch',
    method: 'GET',
    path: `${leasesPath(namespace)}?${query}`,
    accept: JSON_TYPE,
    contentType: '',
    body: null,
    stream: true,
    timeoutMs: OPEN_TIMEOUT_MS,
  };
}

/** Takes an event of the watch's request. Returns the watch as it is then, and what it told, oldest first. */
export function takeWatchEvent(
  watch: Exclude<LeaseWatch, { name: 'closed' }>,
  key: LeaseKey,
  event: TransportEvent,
): { watch: LeaseWatch; news: readonly LeaseNews[] } {
  const over = { watch: { name: 'closed' }, news: [{ type: 'over' }] } as const;
  try {
    if (event.type === 'response' && event.status === 200) {
      return { watch: { name: 'open', id: watch.id, reader: createWatchReader(event.contentType) }, news: [] };
    }
    if (event.type !== 'chunk' || watch.name !== 'open') return over;
    watch.reader.push(event.bytes);
    const news = readNews(watch.reader, key);
    return news.at(-1)?.type === 'over' ? { watch: { name: 'closed' }, news } : { watch, news };
  } catch (error) {
    if (error instanceof DecodeError) return over;
    throw error;
  }
}

function readNews(reader: WatchReader, key: LeaseKey): LeaseNews[] {
  const news: LeaseNews[] = [];
  for (let frame = reader.next(); frame !== null; frame = reader.next()) {
    if (frame.type === 'BOOKMARK') continue;
    if (frame.type === 'ERROR' || frame.object.encoding !== 'json') return [...news, { type: 'over' }];
    const lease = leaseOf(frame.object.value as Record<string, unknown>, key);
    news.push(frame.type === 'DELETED' ? { type: 'gone' } : { type: 'lease', lease });
  }
  return news;
}

/** Watches all Endpoints and all slices many times over, and tells what has come. Its own process: it costs the judge nothing. */
import process from 'node:process';
import { PROTOBUF_WATCH } from '../../src/kube/media-type.ts';
import { openLoadWatch, type LoadWatch } from '../support/http-load.ts';
import type { Received, WatchersOrder } from './watchers.ts';

const PATHS = ['/api/v1/endpoints', '/apis/discovery.k8s.io/v1/endpointslices'];

process.once('message', (order) => void run(order as WatchersOrder));

async function run({ target, count }: WatchersOrder): Promise<void> {
  const watches: LoadWatch[] = [];
  for (let i = 0; i < count; i++) {
    for (const path of PATHS) watches.push(await openLoadWatch(target, `${path}?watch=1`, PROTOBUF_WATCH));
  }
  const received = (): Received => ({
    bytes: watches.reduce((sum, { bytes }) => sum + bytes(), 0),
    ended: watches.filter(({ hasEnded }) => hasEnded()).length,
  });
  // Each further message asks for what has come.
  process.on('message', () => process.send!(received()));
  process.send!(received());
}

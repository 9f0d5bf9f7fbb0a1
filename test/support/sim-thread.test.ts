import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createSimThread } from './sim-thread.ts';
import { createSimTime } from './sim-time.ts';
import type { Call } from '../../src/node/transport-call.ts';
import { createTransportDelivery } from '../../src/node/transport-delivery.ts';
import type { TransportEvent } from '../../src/ports/transport.ts';

const FREE = { event: () => 0, effect: () => 0, plan: () => 0 };

test('the simulated thread takes as many events at once as the transport delivers', async () => {
  const events = Array.from({ length: 500 }, (_, id): TransportEvent => ({ type: 'ended', id, error: null }));
  const real: number[] = [];
  const simulated: number[] = [];
  const delivery = createTransportDelivery(
    (together) => real.push(together.length),
    () => undefined,
  );
  for (const event of events) delivery.emit({ cancelled: false, settled: false } as Call, event);
  await nextTurn();
  const time = createSimTime();
  createSimThread(time, FREE).transport(
    (together) => simulated.push(together.length),
    (deliver) => {
      deliver(events);
      return { send: () => undefined, cancel: () => undefined };
    },
  );
  time.run(1);
  assert.ok(real.length > 1, real.join());
  assert.deepEqual(simulated, real);
});

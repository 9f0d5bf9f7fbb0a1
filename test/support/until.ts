/** Waits for what real sockets, files and processes bring about. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

/** Far more than anything takes that is waited for, also beside many other tests. */
const MS_MAX = 30_000;

/**
 * @param everyMs between two looks; more than 1 where a look costs something
 * @throws AssertionError when it does not come true
 */
export async function until(isSo: () => boolean | Promise<boolean>, everyMs = 1): Promise<void> {
  const endMs = Date.now() + MS_MAX;
  while (!(await isSo())) {
    assert.ok(Date.now() < endMs, `not so after ${MS_MAX} ms: ${isSo.toString()}`);
    await sleep(everyMs);
  }
}

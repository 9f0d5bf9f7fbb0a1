import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type SliceChange, writePhases } from '../../../src/core/slices/write-phases.ts';
import type { Endpoint, EndpointSlice } from '../../../src/kube/types.ts';

/** Each change as `endpoints before > endpoints after`, an endpoint as its address, and its pod behind `:`; `-` = no slice. */
function check(name: string, changes: readonly string[], expected: readonly number[]): void {
  test(`write phases: ${name}`, () => {
    const made = new Map<string, Endpoint>();
    // As planned, where an endpoint that stays is the same object, and as read.
    for (const known of [made, null]) {
      const parsed = changes.map((text) => {
        const [before, after] = text.split('>').map((side) => side.trim());
        return { before: slice(before!, known), after: slice(after!, known) };
      });
      assert.deepEqual(phasesOf(parsed), expected);
    }
  });
}

/** A write that goes after phase 1 without waiting for another is told as its phase and a half. */
function phasesOf(changes: readonly SliceChange[]): number[] {
  return writePhases(changes).map(({ phase, waits }) => (phase > 1 && !waits ? phase + 0.5 : phase));
}

/** @param known endpoints that are the same object again; null = each is another object */
function slice(addresses: string, known: Map<string, Endpoint> | null): EndpointSlice | null {
  if (addresses === '-') return null;
  const endpoints = addresses.split(' ').map((text) => {
    const [address, pod] = text.split(':');
    const endpoint: Endpoint =
      known?.get(text) ??
      (pod === undefined
        ? { addresses: [address!] }
        : { addresses: [address!], targetRef: { kind: 'Pod', name: pod } });
    known?.set(text, endpoint);
    return endpoint;
  });
  return { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', metadata: {}, addressType: 'IPv4', endpoints };
}

check('nothing', [], []);
check('creates first, deletes second', ['- > a', 'b > -'], [1, 2.5]);
check('an update that only adds', ['a > a b'], [1]);
check('an update that drops what nobody adds', ['a b > a'], [1]);
check('an update that replaces', ['a > b'], [1]);
check('what moves from one update to another: first in, then out', ['a b > a', 'c > c b'], [2, 1]);
check('what moves into a new slice', ['a b > a', '- > b'], [2, 1]);
check('a conditions-only update beside a delete', ['a > a', 'b > -'], [1, 2.5]);
check('a conditions-only update beside a delete of the same endpoint', ['a > a', 'a b > -'], [1, 2]);
check('what moves from a deleted slice into an update', ['b > -', 'a > a b'], [2, 1]);
check('an exchange has no good order', ['a > b', 'b > a'], [2, 2]);
check('what follows from an exchange comes after it', ['a > b', 'b > a c', 'c d > d'], [2, 2, 3]);
check('in a chain each waits for the slice that takes in what it drops', ['a > b', 'b > c', 'c > d'], [1, 2, 3]);
check('a deleted slice waits for the end of its chain', ['a > -', 'b > a', 'c > b'], [3, 2, 1]);
check('a pod moves although another with its address stays', ['x:a x:b > x:b', '- > x:a'], [2, 1]);
check('a pod moves to where another with its address is', ['x:a y:c > y:c', 'x:b > x:b x:a'], [2, 1]);
check('an address that another pod takes over is never in no slice', ['x:a y:c > y:c', '- > x:b'], [2, 1]);

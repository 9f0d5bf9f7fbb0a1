import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  addEntry,
  createFamilySlices,
  enterGroup,
  type PortGroup,
  type SliceEntry,
} from '../../../src/core/slices/family-slices.ts';
import { refreshGroup } from '../../../src/core/slices/pack-group.ts';
import { storeSlice } from '../../../src/core/slices/slice-state.ts';
import { makePod } from '../../support/records.ts';
import { endpointOf, HTTP, slice } from './slices-world.ts';

const PORTS = { key: 'http', ports: HTTP };

/** Counts how often slices are looked at that all list one pod: while they come, and in two plans that nobody writes. */
function looksAt(count: number): { coming: number; planning: number } {
  let looks = 0;
  const family = createFamilySlices('IPv4', 100, false);
  const endpoint = endpointOf(makePod('p'));
  enterGroup(family, PORTS, 'p', endpoint);
  for (let i = count; i > 0; i--) {
    const name = `web-${String(i).padStart(6, '0')}`;
    let group: PortGroup | null = null;
    const entry: SliceEntry = {
      name,
      stored: storeSlice(slice(name, [endpoint])),
      get group() {
        looks++;
        return group;
      },
      set group(it) {
        group = it;
      },
    };
    addEntry(family, PORTS, entry);
  }
  const coming = looks;
  for (let i = 0; i < 2; i++) {
    const { updates, emptied } = refreshGroup(family, family.groups.get('http')!, () => true);
    assert.deepEqual([updates.length, emptied.length], [0, count - 1]);
  }
  return { coming, planning: looks - coming };
}

describe('many slices that list one pod', () => {
  it('each that comes marks at most one other, however many there are', () => {
    assert.ok(looksAt(1000).coming <= 2000, `${looksAt(1000).coming} looks`);
  });

  it('whether one of them has the pod is found without a look at all others', () => {
    assert.ok(looksAt(1000).planning <= 4000, `${looksAt(1000).planning} looks`);
  });
});

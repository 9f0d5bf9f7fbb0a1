import assert from 'node:assert/strict';
import { test } from 'node:test';
import { packGroup } from '../../../src/core/mirroring/pack-group.ts';
import { endpointIdentity } from '../../../src/core/slices/endpoint-identity.ts';
import { deepFreeze } from '../../support/deep-freeze.ts';
import { mirrorSlice } from '../../support/mirror-text.ts';

interface Case {
  readonly max: number;
  /** The last octets of the addresses; `!` = not ready. */
  readonly desired: string;
  /** A name and the same; a trailing `*` = must be written for its metadata. */
  readonly stored: readonly string[];
  /** Kept slices that are written, dropped ones as `-name`, new ones as `+`; in this order. */
  readonly writes: readonly string[];
  /** added, updated, removed */
  readonly counts: readonly [number, number, number];
}

function check(name: string, { max, desired, stored, writes, counts }: Case): void {
  test(name, () => {
    const endpoints = new Map(
      mirrorSlice(`x IPv4 ${expand(desired)} ->`).endpoints!.map((endpoint) => [endpointIdentity(endpoint), endpoint]),
    );
    const outdated = new Set<string>();
    const slices = stored.map((text) => {
      const [, sliceName, octets, mark] = /^(\w+) ?([^*]*)(\*?)$/.exec(text)!;
      if (mark === '*') outdated.add(sliceName!);
      return deepFreeze(mirrorSlice(`${sliceName} IPv4 ${expand(octets!)} ->`));
    });
    const packed = packGroup(endpoints, slices, max, (slice) => outdated.has(slice.metadata.name!));
    const held = (list: readonly { addresses: readonly string[]; conditions?: { ready?: boolean } }[]): string =>
      list.map((e) => `${e.conditions?.ready === true ? '' : '!'}${e.addresses[0]!.slice(7)}`).join(' ');
    assert.deepEqual(
      [
        ...packed.kept
          .filter((kept) => kept.changed)
          .map((kept) => `${kept.slice.metadata.name} ${held(kept.endpoints)}`),
        ...packed.dropped.map((slice) => `-${slice.metadata.name}`),
        ...packed.created.map((created) => `+ ${held(created)}`),
      ],
      writes,
    );
    assert.deepEqual([packed.added, packed.updated, packed.removed], counts);
  });
}

function expand(octets: string): string {
  return octets
    .split(' ')
    .filter((octet) => octet !== '')
    .map((octet) => (octet.startsWith('!') ? `!10.0.0.${octet.slice(1)}` : `10.0.0.${octet}`))
    .join(' ');
}

check('nothing wanted, nothing there', { max: 3, desired: '', stored: [], writes: [], counts: [0, 0, 0] });
check('nothing there', { max: 3, desired: '1 2', stored: [], writes: ['+ 1 2'], counts: [2, 0, 0] });
check('nothing wanted', { max: 3, desired: '', stored: ['a 1 2', 'b 3'], writes: ['-a', '-b'], counts: [0, 0, 3] });
check('all is right', { max: 3, desired: '1 2', stored: ['a 2 1'], writes: [], counts: [0, 0, 0] });
check('all is right, in several slices', {
  max: 3,
  desired: '1 2 3',
  stored: ['a 1', 'b 3', 'c 2'],
  writes: [],
  counts: [0, 0, 0],
});
check('a flip is one write', {
  max: 2,
  desired: '1 !2 3 4',
  stored: ['a 1 2', 'b 3 4'],
  writes: ['a 1 !2'],
  counts: [0, 1, 0],
});
check('more than fits goes into more slices', {
  max: 2,
  desired: '1 2 3 4 5',
  stored: [],
  writes: ['+ 1 2', '+ 3 4', '+ 5'],
  counts: [5, 0, 0],
});
check('order is kept, new ones come last', {
  max: 5,
  desired: '1 2 3',
  stored: ['a 3 1'],
  writes: ['a 3 1 2'],
  counts: [1, 0, 0],
});
check('a replacement takes the place', {
  max: 2,
  desired: '1 5 3 4',
  stored: ['a 1 2', 'b 3 4'],
  writes: ['a 1 5'],
  counts: [1, 0, 1],
});
check('a new one goes where something else changes, though another is fuller', {
  max: 4,
  desired: '1 3 4 5 9',
  stored: ['a 1 2', 'b 3 4 5'],
  writes: ['a 1 9'],
  counts: [1, 0, 1],
});
check('of several that change, the fullest is filled first', {
  max: 3,
  desired: '!1 !2 3 9',
  stored: ['a 1', 'b 2 3'],
  writes: ['a !1', 'b !2 3 9'],
  counts: [1, 2, 0],
});
check('one that is written for its labels has room too', {
  max: 2,
  desired: '1 2 3',
  stored: ['a 1 *', 'b 2'],
  writes: ['a 1 3'],
  counts: [1, 0, 0],
});
check('the best fit of those that nothing else changes', {
  max: 5,
  desired: '1 2 3 4 5 6 8 9',
  stored: ['a 1', 'b 2 3 4', 'c 5 6'],
  writes: ['b 2 3 4 8 9'],
  counts: [2, 0, 0],
});
check('the first of equal fits', {
  max: 2,
  desired: '1 2 9',
  stored: ['a 1', 'b 2'],
  writes: ['a 1 9'],
  counts: [1, 0, 0],
});
check('new ones that fit nowhere together make a slice rather than two updates', {
  max: 3,
  desired: '1 2 3 4 8 9',
  stored: ['a 1 2', 'b 3 4'],
  writes: ['+ 8 9'],
  counts: [2, 0, 0],
});
check('a full load is a new slice, the rest goes into one with room', {
  max: 2,
  desired: '1 7 8 9',
  stored: ['a 1'],
  writes: ['a 1 9', '+ 7 8'],
  counts: [3, 0, 0],
});
check('one that lost all of its own is filled rather than deleted', {
  max: 2,
  desired: '1 9',
  stored: ['a 1', 'b 2'],
  writes: ['b 9'],
  counts: [1, 0, 1],
});
check('one that lost all of its own and is not needed goes', {
  max: 2,
  desired: '1',
  stored: ['a 1', 'b 2'],
  writes: ['-b'],
  counts: [0, 0, 1],
});
check('an empty one is filled, or goes', {
  max: 2,
  desired: '1 2 3',
  stored: ['a', 'b', 'c 1 2'],
  writes: ['a 3', '-b'],
  counts: [1, 0, 0],
});
check('an empty one takes a full load, too', {
  max: 2,
  desired: '1 2',
  stored: ['a'],
  writes: ['a 1 2'],
  counts: [2, 0, 0],
});
check('what is in two slices stays in the first', {
  max: 3,
  desired: '1 2',
  stored: ['a 1', 'b 1 2'],
  writes: ['b 2'],
  counts: [0, 0, 1],
});
check('what is twice in one slice stays once', {
  max: 3,
  desired: '1',
  stored: ['a 1 1'],
  writes: ['a 1'],
  counts: [0, 0, 1],
});
check('one above the maximum is cut', {
  max: 2,
  desired: '1 2 3',
  stored: ['a 1 2 3'],
  writes: ['a 1 2', '+ 3'],
  counts: [1, 0, 1],
});

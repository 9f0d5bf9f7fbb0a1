import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { fewestWrites } from '../../bench/peers/fewest-writes.ts';
import { propertyRuns } from '../support/runs.ts';

interface Seen {
  readonly services: readonly string[];
  readonly ackedMs: number;
  readonly endpointsMs: number | null;
  readonly slicesMs: number | null;
}

/** A change that one slice shows `lateMs` after its answer, and that no Endpoints are to show. */
function seen(service: string, ackedMs: number, lateMs: number): Seen {
  return { services: [service], ackedMs, endpointsMs: null, slicesMs: ackedMs + lateMs };
}

describe('the fewest writes for a p99', () => {
  it('one write is enough for all changes of a service that come within the p99', () => {
    assert.equal(fewestWrites([seen('a/web', 0, 100), seen('a/web', 60, 40), seen('a/web', 100, 20)], 1), 1);
    assert.equal(fewestWrites([seen('a/web', 0, 100), seen('a/web', 101, 20)], 1), 2);
  });

  it('half of the time needs more writes', () => {
    const changes = [seen('a/web', 0, 100), seen('a/web', 60, 40), seen('a/web', 100, 20)];
    assert.equal(fewestWrites(changes, 0.5), 2);
  });

  it('each service needs a write at least, and both kinds of objects count', () => {
    assert.equal(fewestWrites([seen('a/web', 0, 100), seen('a/api', 10, 90)], 1), 2);
    assert.equal(fewestWrites([{ services: ['a/web', 'a/api'], ackedMs: 0, endpointsMs: 9, slicesMs: 9 }], 1), 4);
  });

  it('one change in a hundred is left out, because a p99 allows it', () => {
    const changes = Array.from({ length: 100 }, (_, i) => seen('a/web', i * 1000, 1));
    assert.equal(fewestWrites(changes, 1), 99);
  });

  it('property: no controller needs fewer writes, whenever it writes', () => {
    const changesOf = fc.array(fc.record({ service: fc.constantFrom('a/x', 'a/y'), atMs: fc.nat(2000) }), {
      minLength: 1,
      maxLength: 150,
    });
    const writesAt = fc.array(fc.nat(2000), { maxLength: 30 });
    fc.assert(
      fc.property(changesOf, writesAt, writesAt, (changes, x, y) => {
        // The last write shows what is left.
        const schedule: Readonly<Record<string, readonly number[]>> = { 'a/x': [...x, 2500], 'a/y': [...y, 2500] };
        const used = new Set<string>();
        const shown = changes.map(({ service, atMs }) => {
          const writtenMs = Math.min(...schedule[service]!.filter((ms) => ms >= atMs));
          used.add(`${service} ${writtenMs}`);
          return seen(service, atMs, writtenMs - atMs);
        });
        assert.ok(fewestWrites(shown, 1) <= used.size);
      }),
      propertyRuns(100),
    );
  });
});

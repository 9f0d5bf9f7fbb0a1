/**
 * Stories from seeds, in virtual time: whatever happens, what always holds is never breached, all becomes right in time, and
 * then nobody writes any more. `npm run sim` plays many; here are few, and tests of the simulation itself.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HappeningKind } from './happenings.ts';
import { play } from './play.ts';
import type { SecondKind } from './second.ts';
import { playShapes } from './shapes.ts';
import { shrink } from './shrink.ts';
import { makeStory, SIMPLEST_WORLD, type Happening, type Story } from './story.ts';
import type { Sim } from '../support/sim.ts';
import type { HttpRequest } from '../../src/ports/transport.ts';

const SEEDS = 10;
const SHAPES = 80;

describe('stories from seeds', () => {
  it(`none of the first ${SEEDS} seeds goes wrong`, () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { wrong, told } = play(makeStory(seed));
      assert.equal(wrong, null, `npm run sim -- --seed=${seed}\n${told.join('\n')}`);
    }
  });

  it('a story that is played twice is the same', () => {
    const story = makeStory(7);
    assert.deepEqual(play(story), play(story));
  });
});

describe('stories of objects of every shape', () => {
  it(`none of the first ${SHAPES} seeds goes wrong`, () => {
    for (let seed = 1; seed <= SHAPES; seed++) playShapes(seed);
  });
});

/** Each kind once, a second apart. */
function storyOf(kinds: readonly HappeningKind[], world: Partial<Story['world']> = {}): Story {
  const happenings = kinds.map((what, i): Happening => ({ atMs: 1000 * i, what, forMs: 0, draw: i }));
  return { seed: 1, world: { ...SIMPLEST_WORLD, services: 2, pods: 6, ...world }, happenings };
}

const SHORT_STORIES: Readonly<Record<string, Story>> = {
  'pods come and go': storyOf(['pod-create', 'pod-ready', 'pod-recreate', 'pod-delete', 'pod-ip'], {
    options: { maxEndpointsPerSlice: 2, compactSlices: true },
  }),
  'a Service changes': storyOf(['service-ports', 'service-selector', 'service-label', 'service-recreate']),
  'a Service is mirrored, then not': storyOf(
    ['outside-edit', 'service-unselect', 'endpoints-create', 'service-unselect', 'outside-edit'],
    { handMade: 2, services: 0 },
  ),
  'others write': storyOf(['endpoints-delete', 'slice-touch', 'endpoints-edit', 'slice-touch', 'endpoints-orphan']),
};

describe('a crash after any write', () => {
  for (const [name, story] of Object.entries(SHORT_STORIES)) {
    it(`${name}: each write is the last one of a process once`, () => {
      const { writes, wrong } = play(story);
      assert.equal(wrong, null);
      assert.ok(writes > 5, `a story with ${writes} writes shows little`);
      for (let crashAfterWrite = 1; crashAfterWrite <= writes; crashAfterWrite++) {
        assert.equal(play(story, { crashAfterWrite }).wrong, null, `after write ${crashAfterWrite} of ${writes}`);
      }
    });
  }
});

describe('a second writer through a whole story', () => {
  const story = storyOf(['pod-create', 'service-ports', 'slice-touch', 'pod-delete', 'outside-edit'], {
    handMade: 1,
    options: { maxEndpointsPerSlice: 2 },
  });
  const playWith = (second: SecondKind): string | null => play({ ...story, world: { ...story.world, second } }).wrong;

  it('two endpointd with the same flags and no Lease come to rest', () => {
    assert.equal(playWith('same'), null);
  });

  for (const second of ['other', 'kube-controller-manager'] as const) {
    it(`${second}: repairs have a bound, and all is right in time after its end`, () => {
      assert.equal(playWith(second), null);
    });
  }
});

describe('the simulation finds', () => {
  /** Some slices hold several ready endpoints. */
  const flip: Story = {
    ...storyOf(['pod-ready', 'pod-ready', 'pod-ready', 'pod-ready'], { services: 1, pods: 14 }),
    seed: 2,
  };
  /** The world is sound until the first happening, then something is wrong with it. */
  const wrongOf = (spoil: (sim: Sim) => void, story = flip): string | null =>
    play(story, { prepare: (sim) => sim.at(1900, () => spoil(sim)) }).wrong;

  it('the simulation finds a write that takes a ready endpoint out of its last slice', () => {
    const wrong = wrongOf((sim) => {
      sim.admission = (object) => {
        if (object['addressType'] === 'IPv4') object['endpoints'] = [];
      };
    });
    assert.match(wrong!, /takes IPv4 .* away, which is in no other slice/);
  });

  it('the simulation finds a write that changes nothing', () => {
    const wrong = wrongOf((sim) => {
      sim.admission = (object) => {
        if (object['subsets'] !== undefined) object['subsets'] = [];
      };
    });
    assert.match(wrong!, /PUT .* changes nothing/);
  });

  /** 150 requests for one path, 20 ms apart. */
  const askOften = (sim: Sim, between: (i: number) => void = () => undefined): void => {
    const request = { pool: 'read', method: 'GET', path: '/api/v1/pods' } as HttpRequest;
    for (let i = 0; i < 150; i++) {
      sim.at(sim.nowMs() + 20 * i, () => {
        between(i);
        sim.observer.before(request);
      });
    }
  };

  it('the simulation finds a process that asks without a pause', () => {
    assert.match(
      wrongOf((sim) => askOften(sim))!,
      /^at .* GET \/api\/v1\/pods is asked for 150 times within ten/,
    );
    const restart = (sim: Sim) => (i: number) => {
      if (i % 50 === 0) sim.start();
    };
    assert.equal(
      wrongOf((sim) => askOften(sim, restart(sim))),
      null,
    );
  });

  const loseStreams = (sim: Sim): void => {
    sim.tamper = () => new Uint8Array(0);
  };

  it('the simulation finds a gauge of 0 while something is unwritten', () => {
    assert.match(wrongOf(loseStreams)!, /endpointd_oldest_unwritten_change_seconds is 0 with .*lacks "not ready/);
  });

  it('the simulation finds what is wrong for longer than its trouble allows', () => {
    const lasting = { atMs: 4000, what: 'cut-watches', forMs: 100, draw: 1 } as const;
    const story = { ...flip, happenings: [...flip.happenings, lasting] };
    assert.match(wrongOf(loseStreams, story)!, /160.000 s after the last happening: .*lacks "not ready/);
  });
});

describe('shrinking', () => {
  const long = makeStory(3);
  const [first, second] = [long.happenings[1]!, long.happenings[4]!];
  const has = (story: Story, { atMs, draw }: Happening): boolean =>
    story.happenings.some((happening) => happening.atMs === atMs && happening.draw === draw);

  it('shrinking leaves what the failure needs, in the simplest world', () => {
    const shortest = shrink(long, (story) => has(story, first) && has(story, second));
    assert.deepEqual(
      shortest.happenings.map(({ atMs, draw }) => [atMs, draw]),
      [first, second].map(({ atMs, draw }) => [atMs, draw]),
    );
    assert.deepEqual(shortest.world, SIMPLEST_WORLD);
  });

  it('shrinking keeps the parts of the world on which the failure depends', () => {
    const fails = ({ world }: Story): boolean => world.options.maxEndpointsPerSlice === 2;
    const story = { ...long, world: { ...long.world, options: { ...long.world.options, maxEndpointsPerSlice: 2 } } };
    assert.deepEqual(shrink(story, fails), {
      seed: 3,
      world: { ...SIMPLEST_WORLD, options: { maxEndpointsPerSlice: 2 } },
      happenings: [],
    });
  });

  it('shrinking ends when no more stories may be played', () => {
    let plays = 0;
    shrink(long, () => ++plays > 0, 5);
    assert.equal(plays, 5);
  });
});

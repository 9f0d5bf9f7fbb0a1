/**
 * Seeded stories of nearly right requests, told to the embedded server and to kube-apiserver: the same statuses, the same
 * Status bodies and the same objects, answer by answer, but for the listed differences.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createApiServer } from '../../src/apiserver/server.ts';
import { createPrng, nextFloat } from '../../src/lib/prng.ts';
import { serveApi } from '../../src/node/apiserver-http.ts';
import { YAML_FORMAT } from '../../src/node/yaml.ts';
import { createClient, type Client } from '../suites/apiserver-client.ts';
import { answers } from '../suites/apiserver-answers.ts';
import { ANSWER_DIFFERENCES, listedDifference, requestLine } from '../suites/apiserver-differences.ts';
import { nextStory } from '../suites/apiserver-fuzz.ts';
import type { Step } from '../suites/apiserver-script.ts';
import { startCluster } from './cluster.ts';
import { seeds } from '../support/runs.ts';

const SEED = seeds({ first: 20_261_121, count: 1 }).first;
const STORIES = 150;
const REQUESTS = 8;
const TOKEN = 'secret';
const SHOWN_CHARS = 1500;

describe('nearly right requests', () => {
  let sides: { readonly real: Client; readonly embedded: Client };
  const stops: (() => Promise<void>)[] = [];

  before(async () => {
    const cluster = await startCluster();
    stops.unshift(() => cluster.stop());
    const prng = createPrng(SEED);
    const api = createApiServer({
      random: () => nextFloat(prng),
      startWallMs: Date.now(),
      yaml: YAML_FORMAT,
    });
    const http = await serveApi(api, { token: TOKEN });
    stops.unshift(() => http.close());
    sides = {
      real: createClient(cluster),
      embedded: createClient({ url: http.url, token: TOKEN, stop: () => http.close() }),
    };
    for (const client of Object.values(sides)) stops.unshift(() => client.close());
  });

  after(async () => {
    for (const stop of stops) await stop();
  });

  /** By entry of the list: how many answers it has excused. */
  const excused = new Map(ANSWER_DIFFERENCES.map((known) => [known, 0]));

  it('nearly right requests get the same answers from both servers', async (t) => {
    const prng = createPrng(SEED);
    let compared = 0;
    for (let story = 0; story < STORIES; story++) {
      const steps = nextStory(prng, REQUESTS);
      const [real, embedded] = await Promise.all([sides.real, sides.embedded].map((client) => answers(client, steps)));
      for (const [at, step] of steps.entries()) {
        const [theirs, ours] = [real![at]!, embedded![at]!];
        if (theirs === ours) {
          compared++;
          continue;
        }
        const listed = listedDifference(step, theirs, ours);
        assert.ok(listed, `seed ${SEED}, story ${story}, ${shown(step)}\nreal:\n${theirs}\nembedded:\n${ours}`);
        excused.set(listed, excused.get(listed)! + 1);
        // From here on the two may hold different objects.
        break;
      }
    }
    t.diagnostic(`seed ${SEED}: ${compared} answers were the same; excused were`);
    for (const [{ why }, count] of excused) t.diagnostic(`${count}: ${why}`);
    assert.ok(compared > (STORIES * REQUESTS) / 2, `only ${compared} answers were compared`);
  });

  for (const known of ANSWER_DIFFERENCES) {
    it(`a listed difference shows: ${known.why}`, async () => {
      const [theirs, ours] = await Promise.all(
        [sides.real, sides.embedded].map(async (client) => (await answers(client, known.example)).at(-1)!),
      );
      assert.notEqual(theirs, ours, 'there is no such difference any more');
      assert.equal(
        listedDifference(known.example.at(-1)!, theirs!, ours!),
        known,
        `real:\n${theirs}\nembedded:\n${ours}`,
      );
    });
  }
});

function shown(step: Step): string {
  return requestLine(step).slice(0, SHOWN_CHARS);
}

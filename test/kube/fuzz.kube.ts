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
import { createClient } from '../suites/apiserver-client.ts';
import type { Client } from '../suites/apiserver-client.ts';
import { ANSWER_DIFFERENCES } from '../suites/apiserver-differences.ts';
import { nextStory } from '../suites/apiserver-fuzz.ts';
import { play } from '../suites/apiserver-script.ts';
import type { Step } from '../suites/apiserver-script.ts';
import { startCluster } from './cluster.ts';

const SEED = 20_261_121;
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

  it('get the same answers', async () => {
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
        const listed = ANSWER_DIFFERENCES.find(
          (known) => (known.request?.test(`${step.method} ${step.path}`) ?? true) && known.real.test(theirs),
        );
        assert.ok(listed, `seed ${SEED}, story ${story}, ${shown(step)}\nreal:\n${theirs}\nembedded:\n${ours}`);
        // From here on the two hold different objects.
        break;
      }
    }
    assert.ok(compared > (STORIES * REQUESTS) / 2, `only ${compared} answers were compared`);
  });

  for (const { why, real, example } of ANSWER_DIFFERENCES) {
    it(`differ: ${why}`, async () => {
      const [theirs, ours] = await Promise.all(
        [sides.real, sides.embedded].map(async (client) => (await answers(client, example)).at(-1)!),
      );
      assert.match(theirs!, real);
      assert.notEqual(theirs, ours, 'there is no such difference any more');
    });
  }
});

/**
 * What each step sees: its status, then the lines of it in the order of the alphabet, as maps have none in the real server.
 * A story that a server breaks off has one answer that says so.
 */
async function answers(client: Client, steps: readonly Step[]): Promise<string[]> {
  const blocks: string[][] = [];
  const lines = await play(client, steps).catch((error: Error) => [`no answer: ${error.message}`]);
  for (const line of lines) {
    if (line.startsWith(' ')) blocks.at(-1)!.push(VARYING.reduce((text, [from, to]) => text.replace(from, to), line));
    else blocks.push([line]);
  }
  return blocks.map(([status, ...lines]) => [status, ...lines.sort()].join('\n'));
}

/** Versions, uids, and how much of an object is shown, with managedFields and in which order. */
const VARYING: readonly (readonly [RegExp, string])[] = [
  [/current: \d+/, 'current: N'],
  [/in record \([^)]*\)/, 'in record'],
  [
    /patch: Invalid value: "[^]*": (?=json:|quantities|unable to|unrecognized|cannot|no kind|converting|parsing)/,
    'patch: ',
  ],
  [/\([^()]*\.\.\.\)$/, '(...)'],
];

function shown({ method, path, body, options }: Step): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return `${method} ${path} ${options?.contentType ?? ''} ${text}`.slice(0, SHOWN_CHARS);
}

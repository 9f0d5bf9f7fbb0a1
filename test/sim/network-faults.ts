/** What happens between the controller and the API server, and what the server refuses or changes. */
import { finalizeRestored } from './changes.ts';
import { pick } from './hand.ts';
import { holdFor, type Deed, type Deeds, type Run } from './run.ts';
import type { Trouble } from './settle.ts';
import { addAddress, type Sim } from '../support/sim.ts';
import { turnedAway, type FaultChances, type FaultReply } from '../../src/apiserver/faults.ts';
import { makeStatus } from '../../src/kube/status.ts';
import type { KubeObject, Status } from '../../src/kube/types.ts';
import { createPrng, nextInt, type Prng } from '../../src/lib/prng.ts';
import type { HttpRequest } from '../../src/ports/transport.ts';

/** Each exchange of a kind meets the fault with one of a few chances. */
function chance(fault: keyof FaultChances, chances: readonly number[]): Deed {
  return {
    trouble: 'network',
    lastsMs: [100, 20_000],
    act(run, prng, forMs) {
      const { faults } = run.sim;
      const share = pick(prng, chances)!;
      holdFor(
        run,
        fault,
        forMs,
        () => (faults[fault] = share),
        () => (faults[fault] = 0),
      );
      return `${share * 100} %`;
    },
  };
}

type Refusal = (request: HttpRequest) => Status | number | FaultReply;

/** Requests are refused before anything is done; the newest refusal counts. */
function refusing(trouble: Trouble, draw: (prng: Prng) => { readonly told: string; readonly refusal: Refusal }): Deed {
  return {
    trouble,
    lastsMs: [100, 20_000],
    act(run, prng, forMs) {
      const { sim } = run;
      const { told, refusal } = draw(prng);
      holdFor(
        run,
        'refuse',
        forMs,
        () => (sim.refuse = refusal),
        () => (sim.refuse = () => 0),
      );
      return told;
    },
  };
}

const isWrite = ({ pool }: HttpRequest): boolean => pool === 'write';
const isCreate = ({ pool, method }: HttpRequest): boolean => pool === 'write' && method === 'POST';

function drawErrors(prng: Prng): { told: string; refusal: Refusal } {
  const code = pick(prng, [409, 500, 503, 504])!;
  const what = pick(prng, ['read', 'write'])!;
  return { told: `${what}s: ${code}`, refusal: ({ pool }) => (pool === what ? code : 0) };
}

function drawRejection(prng: Prng): { told: string; refusal: Refusal } {
  const resource = pick(prng, ['/endpoints', '/endpointslices'])!;
  const status = pick(prng, [
    makeStatus(403, 'Forbidden', 'not allowed to write'),
    makeStatus(422, 'Invalid', 'admission denies it'),
    makeStatus(400, 'BadRequest', 'admission denies it'),
  ])!;
  return {
    told: `${resource}: ${status.code}`,
    refusal: (request) => (isWrite(request) && request.path.includes(resource) ? status : 0),
  };
}

function drawQuota(): { told: string; refusal: Refusal } {
  const status = makeStatus(403, 'Forbidden', 'exceeded quota: objects, requested: 1, used: 10, limited: 10');
  return { told: 'creates: 403', refusal: (request) => (isCreate(request) ? status : 0) };
}

/** Of flow control, or of a webhook, with any time that they may name. */
function drawRetryAfter(prng: Prng): { told: string; refusal: Refusal } {
  const seconds = pick(prng, [0, 1, 10, 300])!;
  const resource = pick(prng, ['/endpoints', '/endpointslices'])!;
  const ofWebhook = nextInt(prng, 2) === 0;
  const answer = ofWebhook
    ? makeStatus(429, 'TooManyRequests', 'the webhook is busy', { retryAfterSeconds: seconds })
    : turnedAway(seconds);
  const told = `${ofWebhook ? 'a webhook' : 'flow control'} for ${resource}: 429, Retry-After ${seconds}`;
  return { told, refusal: (request) => (isWrite(request) && request.path.includes(resource) ? answer : 0) };
}

/** Of the writes of one plan some are done and some are not. */
function drawFlakyWebhook(prng: Prng): { told: string; refusal: Refusal } {
  const every = 2 + nextInt(prng, 2);
  const status = makeStatus(500, 'InternalError', 'failed calling webhook "check": connection refused');
  let seen = 0;
  return {
    told: `one write of ${every}: 500`,
    refusal: (request) => (isWrite(request) && seen++ % every === 0 ? status : 0),
  };
}

function drawNoRights(prng: Prng): { told: string; refusal: Refusal } {
  const resource = pick(prng, ['pods', 'services', 'nodes', 'endpoints', 'endpointslices'])!;
  const status = makeStatus(403, 'Forbidden', `not allowed to list ${resource}`);
  const refusal: Refusal = ({ pool, path }) =>
    (pool === 'list' || pool === 'watch') && path.split('?')[0]!.endsWith(`/${resource}`) ? status : 0;
  return { told: `lists of ${resource}: 403`, refusal };
}

/** What mutating admission may do to a write. It takes no endpoint away. */
const MUTATIONS: Readonly<Record<string, (object: KubeObject) => void>> = {
  'adds a label': ({ metadata }) => {
    metadata.labels = { ...metadata.labels, 'by/admission': '1' };
  },
  'adds an address': addAddress,
  'adds an endpoint': (object) => {
    const endpoints = object['endpoints'] as object[] | undefined;
    if (object['addressType'] !== 'IPv4') return;
    object['endpoints'] = [...(endpoints ?? []), { addresses: ['192.168.0.1'], conditions: { ready: false } }];
  },
};

function admit(run: Run, prng: Prng, forMs: number): string {
  const name = pick(prng, Object.keys(MUTATIONS))!;
  holdFor(
    run,
    'admission',
    forMs,
    () => (run.sim.admission = MUTATIONS[name]!),
    () => (run.sim.admission = null),
  );
  return name;
}

function spoiledStreams(flag: 'muteWatches' | 'trickleWatches' | 'keepEndsBack', told: string): Deed {
  return {
    trouble: 'silent',
    lastsMs: [100, 40_000],
    act(run, _, forMs) {
      const { sim }: { sim: Sim } = run;
      holdFor(
        run,
        flag,
        forMs,
        () => (sim[flag] = true),
        () => (sim[flag] = false),
      );
      return told;
    },
  };
}

const OTHER_WRITES = 100_000;
const OTHER_WRITES_FEWER = 1000;

/** A proxy's page of text comes in the place of what was to come. */
function garble(run: Run, prng: Prng, forMs: number): string {
  const { sim } = run;
  const every = 1 + nextInt(prng, 10);
  let seen = 0;
  const page = Buffer.from('<html><body>upstream connect error</body></html>');
  holdFor(
    run,
    'tamper',
    forMs,
    () => (sim.tamper = (bytes) => (++seen % every === 0 ? page : bytes)),
    () => (sim.tamper = (bytes) => bytes),
  );
  return `one piece of ${every}`;
}

/** Bytes that nobody has sent come within what a stream brings. What follows them may still look like an object. */
function drawNoise(run: Run, prng: Prng, forMs: number): string {
  const { sim } = run;
  const every = 1 + nextInt(prng, 20);
  const noise = createPrng(nextInt(prng, 1_000_000));
  holdFor(
    run,
    'tamper',
    forMs,
    () =>
      (sim.tamper = (bytes, { stream }) => (stream && nextInt(noise, every) === 0 ? withNoise(bytes, noise) : bytes)),
    () => (sim.tamper = (bytes) => bytes),
  );
  return `${NOISE_BYTES} bytes within one piece of ${every}`;
}

const NOISE_BYTES = 64;

function withNoise(bytes: Uint8Array, prng: Prng): Uint8Array {
  const at = nextInt(prng, bytes.length + 1);
  const noise = Uint8Array.from({ length: NOISE_BYTES }, () => nextInt(prng, 256));
  return Buffer.concat([bytes.subarray(0, at), noise, bytes.subarray(at)]);
}

export const NETWORK = {
  'lose-requests': chance('loseRequest', [0.05, 0.3, 1]),
  'lose-replies': chance('loseReply', [0.05, 0.3, 1]),
  'server-errors': chance('serverError', [0.05, 0.3, 1]),
  'too-many': chance('tooMany', [0.05, 0.3]),
  gone: chance('gone', [0.05, 0.3, 1]),
  'cut-watches': chance('cutWatch', [0.01, 0.1, 1]),
  lag: chance('lag', [0.05, 0.3]),
  down: {
    trouble: 'network',
    lastsMs: [100, 40_000],
    act(run, _, forMs) {
      const { sim } = run;
      holdFor(
        run,
        'down',
        forMs,
        () => sim.down(),
        () => sim.up(),
      );
      return '';
    },
  },
  'watches-end': {
    trouble: 'network',
    act({ sim }) {
      sim.cutWatches();
      return '';
    },
  },
  compaction: {
    trouble: 'network',
    act({ sim }) {
      sim.compact();
      return '';
    },
  },
  restore: {
    trouble: 'restored',
    lastsMs: [1000, 30_000],
    act(run, prng, forMs) {
      const { sim } = run;
      // Restore upon restore within seconds, seen through API servers that lag behind each other, is not promised.
      const before = run.history.backups;
      if (run.world.lagMs > 0 && before > 0) return 'not again, with API servers that lag';
      run.history.backups++;
      const backup = sim.backup();
      // Other resources are written too. Where they are not, writes after the restore may take the version past what was
      // reached before it, and nothing tells then that history went back. Each time they are fewer, so that a later restore
      // does not lead to just the version which an earlier history had reached.
      sim.server.revision += OTHER_WRITES - before * OTHER_WRITES_FEWER;
      const bump = pick(prng, [0, 1_000_000_000])!;
      const streams = pick(prng, ['cut', 'mute', 'end'] as const)!;
      sim.at(sim.nowMs() + forMs, () => {
        run.held.set('restored', 1);
        sim.restore(backup, { bump, streams });
        finalizeRestored(sim);
      });
      return `etcd goes back to here, the version ${bump === 0 ? 'too' : `plus ${bump}`}, streams: ${streams}`;
    },
  },
  silence: spoiledStreams('muteWatches', 'streams that have something to say stay open and never say it'),
  trickle: spoiledStreams('trickleWatches', 'streams come byte by byte'),
  'lost-ends': spoiledStreams('keepEndsBack', 'the ends of streams do not arrive'),
  'big-pages': {
    trouble: 'network',
    lastsMs: [100, 40_000],
    act(run, prng, forMs) {
      const { sim } = run;
      const bytes = pick(prng, [2000, 5000])!;
      holdFor(
        run,
        'pages',
        forMs,
        () => (sim.pageBytesMax = () => bytes),
        () => (sim.pageBytesMax = () => Infinity),
      );
      return `pages of more than ${bytes} bytes do not arrive`;
    },
  },
  garbage: { trouble: 'network', lastsMs: [100, 20_000], act: garble },
  noise: { trouble: 'silent', lastsMs: [100, 20_000], act: drawNoise },
  errors: refusing('network', drawErrors),
  rejection: refusing('refused', drawRejection),
  quota: refusing('refused', drawQuota),
  'retry-after': refusing('network', drawRetryAfter),
  'flaky-webhook': refusing('network', drawFlakyWebhook),
  'no-rights': refusing('network', drawNoRights),
  admission: { trouble: 'altered', lastsMs: [100, 20_000], act: admit },
} as const satisfies Deeds;

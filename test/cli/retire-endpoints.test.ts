/** `endpointd retire-endpoints` as a process, on the embedded API server. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process, { execPath } from 'node:process';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApiClient, type ApiClient } from '../../src/node/api-client.ts';
import type { Asker } from '../../src/node/asker.ts';
import { startServe, type ServeProcess } from '../../src/testbed/serve-process.ts';
import { endpointsWithServices } from '../../src/cli/retire/retire-lists.ts';
import { fateOf, isControllerWrite } from '../../src/cli/retire/retire-rules.ts';
import { BUSY, startFront, type Passage } from '../support/front.ts';
import { labelsFromRecord } from '../support/labels.ts';
import { refusal } from '../support/stub-server.ts';
import { BIN, MAIN } from '../support/installed.ts';
import { until } from '../support/until.ts';

const LABEL = { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' };
const LEADER = { 'control-plane.alpha.kubernetes.io/leader': '{}' };

describe('which Endpoints go', () => {
  const marks = (labels: Record<string, string>, annotations: Record<string, string> = {}) => ({
    labels: labelsFromRecord(labels),
    annotations: labelsFromRecord(annotations),
    managers: [] as readonly string[],
  });
  const writtenBy = (...managers: string[]) => ({ ...marks({}), managers });
  const withSelector = { type: 'ClusterIP', selector: labelsFromRecord({ app: 'web' }), labels: labelsFromRecord({}) };
  const withoutSelector = { ...withSelector, selector: null };
  const optedOut = { ...withSelector, labels: labelsFromRecord({ 'example.com/own': '' }) };

  const CASES = [
    ['labelled, with its Service', marks(LABEL), withSelector, true],
    ['labelled, without a Service', marks(LABEL), null, true],
    ['labelled, and its Service has lost its selector', marks(LABEL), withoutSelector, false],
    ['labelled, and its Service is an ExternalName', marks(LABEL), { ...withSelector, type: 'ExternalName' }, false],
    ['labelled by another program', marks({ 'endpoints.kubernetes.io/managed-by': 'x' }), withSelector, false],
    ['without a label, with a Service that selects', marks({}), withSelector, true],
    ['without a label, made by hand', marks({}), withoutSelector, false],
    ['without a label and without a Service', marks({}), null, false],
    ['the lock of a leader election', marks(LABEL, LEADER), withSelector, false],
    ['without a label, and its Service is opted out', marks({}), optedOut, false],
    ['labelled, and its Service is opted out', marks(LABEL), optedOut, false],
    ['without a label, written by another program alone', writtenBy('consul', 'kubectl'), withSelector, false],
    [
      'without a label, written by the manager and others',
      writtenBy('kubectl', 'kube-controller-manager'),
      withSelector,
      true,
    ],
    ['without a label, written by endpointd', writtenBy('endpointd'), withSelector, true],
    ['labelled, last of all by another program', { ...marks(LABEL), managers: ['kubectl'] }, withSelector, true],
  ] as const;
  for (const [title, endpoints, service, goes] of CASES) {
    it(`${title}: ${goes ? 'the object goes' : 'the object stays'}`, () => {
      assert.equal(fateOf(endpoints, service, 'example.com/own').goes, goes);
    });
  }

  it('the reason tells opted-out objects from objects of other writers', () => {
    assert.equal(fateOf(marks({}), optedOut, 'example.com/own').why, 'opted out');
    assert.equal(fateOf(writtenBy('consul'), withSelector, '').why, 'another program wrote it');
  });

  it('without --opt-out-label no label opts out', () => {
    assert.equal(fateOf(marks({}), optedOut, '').goes, true);
  });

  it('the names of the writers come with the list', async () => {
    const metadata = { namespace: 'shop', name: 'web', managedFields: [{ manager: 'consul' }, { manager: 'kubectl' }] };
    const lists: Record<string, object> = {
      '/api/v1/endpoints?limit=500': { kind: 'EndpointsList', apiVersion: 'v1', metadata: {}, items: [{ metadata }] },
      '/api/v1/services?limit=500': { kind: 'ServiceList', apiVersion: 'v1', metadata: {}, items: [] },
    };
    const ask: Asker = ({ path }) =>
      Promise.resolve({
        type: 'response',
        id: 1,
        status: 200,
        contentType: 'application/json',
        body: Buffer.from(JSON.stringify(lists[path])),
        retryAfterSeconds: 0,
        priorityLevel: '',
      });
    const found = [];
    for await (const { endpoints } of endpointsWithServices(ask, '', '')) found.push(endpoints.managers);
    assert.deepEqual(found, [['consul', 'kubectl']]);
  });

  it("a write is a controller's by its label or its writer, unless it renews a lock", () => {
    assert.equal(isControllerWrite(marks(LABEL), false), true);
    assert.equal(isControllerWrite(marks({}), true), true);
    assert.equal(isControllerWrite(marks({}), false), false);
    assert.equal(isControllerWrite(marks({}, LEADER), true), false);
  });
});

interface Ended {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

let server: ServeProcess;
let client: ApiClient;

/** A server for the tests of a `describe`, and what they do on it. */
function onServer() {
  before(async () => {
    server = await startServe([], MAIN);
    client = createApiClient({ url: server.url }, 4);
    for (const name of ['shop', 'bank']) {
      await create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    }
    await service('shop', 'selected', { app: 'web' });
    await service('shop', 'by-hand', undefined);
    await service('bank', 'selected', { app: 'web' });
  });
  after(async () => {
    await client.close();
    await server.stop();
  });

  const create = (path: string, body: object): Promise<unknown> => client.send({ method: 'POST', path, body });

  function service(namespace: string, name: string, selector: object | undefined): Promise<unknown> {
    const spec = { ports: [{ port: 80 }], ...(selector === undefined ? {} : { selector }) };
    return create(`/api/v1/namespaces/${namespace}/services`, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec,
    });
  }

  function endpoints(namespace: string, name: string, labels: object): Promise<unknown> {
    const subsets = [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80 }] }];
    const metadata = { name, labels };
    return create(`/api/v1/namespaces/${namespace}/endpoints`, {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata,
      subsets,
    });
  }

  async function left(namespace = ''): Promise<string[]> {
    const { items } = await client.list(`/api/v1${namespace === '' ? '' : `/namespaces/${namespace}`}/endpoints`);
    return items.map(({ metadata }) => `${metadata.namespace}/endpoints/${metadata.name}`).sort();
  }

  const retire = (...args: string[]): Promise<Ended> => retireAt(server.url, ...args);

  function retireAt(url: string, ...args: string[]): Promise<Ended> {
    const all = [BIN, 'retire-endpoints', `--master=${url}`, '--quiet-for=1s', ...args];
    return new Promise((resolve) => {
      execFile(execPath, all, (error, stdout, stderr) => {
        resolve({ status: error === null ? 0 : Number(error.code), stdout, stderr });
      });
    });
  }

  return { create, service, endpoints, left, retire, retireAt };
}

describe('endpointd retire-endpoints', () => {
  const { endpoints, left, retire } = onServer();
  beforeEach(async () => {
    for (const path of await left()) await client.send({ method: 'DELETE', path: `/api/v1/namespaces/${path}` });
    await endpoints('bank', 'selected', {});
    await endpoints('shop', 'by-hand', {});
    await endpoints('shop', 'orphan', LABEL);
    await endpoints('shop', 'selected', { ...LABEL, team: 'blue' });
  });

  const ALL = ['bank/endpoints/selected', 'shop/endpoints/by-hand', 'shop/endpoints/orphan', 'shop/endpoints/selected'];

  it('retire-endpoints lists what would go, and deletes nothing', async () => {
    const { status, stdout, stderr } = await retire();
    assert.equal(status, 0);
    assert.deepEqual(stdout.split('\n'), [
      'would go: bank/selected (its Service has a selector; made before Kubernetes 1.33)',
      'would go: shop/orphan (labelled as made by the endpoints controller)',
      'would go: shop/selected (labelled as made by the endpoints controller)',
      '',
    ]);
    assert.match(stderr, /^2 would go: labelled as made by the endpoints controller$/m);
    assert.match(stderr, /^1 stay: its Service has no selector$/m);
    assert.deepEqual(await left(), ALL);
  });

  it('--delete deletes what the controller has made, and nothing made by hand', async () => {
    const { status, stdout } = await retire('--delete', '-o', 'json');
    assert.equal(status, 0);
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { name: string; became: string });
    assert.deepEqual(
      lines.map(({ name, became }) => [name, became]),
      [
        ['selected', 'deleted'],
        ['orphan', 'deleted'],
        ['selected', 'deleted'],
      ],
    );
    assert.deepEqual(await left(), ['shop/endpoints/by-hand']);
  });

  it('--namespace and --selector limit the command to a namespace and to labels', async () => {
    assert.equal((await retire('--delete', '-n', 'shop', '-l', 'team=blue')).status, 0);
    assert.deepEqual(await left(), ALL.slice(0, 3));
  });

  it('an empty namespace, selector or label is refused, and does not mean all', async () => {
    const name = /--namespace: "[^"]*" is no name of a namespace\. Allowed: a name, or no flag for all of them\.$/m;
    const selector = /--selector: " *" is no selector\. Allowed: a selector, or no flag for all of them\.$/m;
    const key = /--opt-out-label: "" is no key of a label\. Allowed: a key, or no flag if no label opts out\.$/m;
    const refused = [
      [['--namespace='], name],
      [['--namespace=a/b'], name],
      [['--namespace=Shop'], name],
      [['--selector='], selector],
      [['-l', ''], selector],
      [['-l', '  '], selector],
      [['--opt-out-label='], key],
    ] as const;
    for (const [flags, why] of refused) {
      const { status, stdout, stderr } = await retire('--delete', ...flags);
      assert.deepEqual([status, stdout], [2, ''], flags.join(' '));
      assert.match(stderr, why);
    }
    assert.deepEqual(await left(), ALL);
  });

  it('a namespace without Endpoints, as one with a slip in its name, is told', async () => {
    const { status, stdout, stderr } = await retire('--delete', '-n', 'shpo');
    assert.deepEqual([status, stdout], [0, '']);
    assert.match(stderr, /^No Endpoints were seen in namespace shpo\.$/m);
  });

  it('an object with finalizers is told as marked, and no controller is blamed', async () => {
    const path = '/api/v1/namespaces/shop/endpoints/orphan';
    const contentType = 'application/merge-patch+json';
    const finalize = (finalizers: string[]): Promise<unknown> =>
      client.send({ method: 'PATCH', path, contentType, body: { metadata: { finalizers } } });
    await finalize(['example.com/hold']);
    for (let run = 0; run < 2; run++) {
      const { status, stdout, stderr } = await retire('--delete', '-n', 'shop', '-l', '!team');
      assert.equal(status, 0, stderr);
      assert.match(stdout, /^waits for its finalizers: shop\/orphan /);
    }
    assert.deepEqual(await left(), ALL);
    await finalize([]);
    assert.ok(!(await left()).includes('shop/endpoints/orphan'));
  });

  it('the command stops before the first deletion if a controller writes', async () => {
    const writer = setInterval(() => {
      const body = { metadata: { annotations: { beat: String(performance.now()) } } };
      const path = '/api/v1/namespaces/shop/endpoints/orphan';
      void client.send({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body });
    }, 100);
    const { status, stdout, stderr } = await retire('--delete', '--quiet-for=60s');
    clearInterval(writer);
    assert.deepEqual([status, stdout], [1, '']);
    assert.match(
      stderr,
      /^Stopped: .* has written Endpoints shop\/orphan: switch the endpoints controller off first$/m,
    );
    assert.deepEqual(await left(), ALL);
  });

  it('the command stops after the first deletion if an idle controller undoes it', async () => {
    const flags = ['--leader-elect=false', '--secure-port=0', '--controllers=endpoints-controller'];
    const controller = spawn(execPath, [BIN, 'run', `--master=${server.url}`, ...flags], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let log = '';
    for await (const chunk of controller.stderr) if ((log += String(chunk)).includes('All services are synced')) break;
    const { status, stdout, stderr } = await retire('--delete', '--quiet-for=2s', '-n', 'shop', '-l', '!team');
    controller.kill('SIGKILL');
    await once(controller, 'exit');
    assert.equal(status, 1, stderr);
    assert.match(stderr, /^Stopped: \w+ has written Endpoints shop\/\w+: /m);
    assert.ok(stdout.split('\n').length <= 2, stdout);
  });

  it('the command ends when nobody reads the list any more', async () => {
    const args = [BIN, 'retire-endpoints', `--master=${server.url}`, '--quiet-for=1s', '--delete'];
    const child = spawn(execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    child.stdout.destroy();
    const [status] = (await once(child, 'exit')) as [number];
    assert.equal(status, 1);
    assert.equal((await left()).length, 3);
  });

  it('the command deletes also if nobody reads the progress', async () => {
    const args = [BIN, 'retire-endpoints', `--master=${server.url}`, '--quiet-for=1s', '--delete'];
    const child = spawn(execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    child.stderr.destroy();
    assert.deepEqual(await once(child, 'exit'), [0, null]);
    assert.deepEqual(await left(), ['shop/endpoints/by-hand']);
  });
});

// They mostly wait, and share nothing.
describe('endpointd retire-endpoints in a namespace of its own', { concurrency: 8 }, () => {
  const { create, service, endpoints, left, retire, retireAt } = onServer();

  /** Long enough for a test to do something in it, on a machine that is out of breath. */
  const QUIET = '--quiet-for=4s';

  /** Until the object has gone, or the command has ended without. */
  const gone = async (path: string, ended: Promise<Ended>): Promise<void> => {
    const command = { over: false };
    void ended.then(() => (command.over = true));
    await until(async () => command.over || !(await left(path.split('/')[0])).includes(path), 20);
  };

  async function namespaceOf(namespace: string, names: readonly string[]): Promise<void> {
    await create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    for (const name of names) {
      await service(namespace, name, { app: name });
      await endpoints(namespace, name, {});
    }
  }

  it('the command waits after the first deletion of an object with a Service', async () => {
    await namespaceOf('idle', ['first', 'second']);
    await endpoints('idle', 'an-orphan', LABEL);
    const ended = retire('--delete', '-n', 'idle', QUIET, '--qps=1000');
    await gone('idle/endpoints/first', ended);
    await endpoints('idle', 'first', LABEL);
    const { status, stdout, stderr } = await ended;
    assert.equal(status, 1, stderr);
    assert.match(stdout, /^deleted: idle\/an-orphan .*\ndeleted: idle\/first .*\n$/);
    assert.deepEqual(await left('idle'), ['idle/endpoints/first', 'idle/endpoints/second']);
  });

  it('an opted-out object stays, even if it is opted out after the list was read', async () => {
    await namespaceOf('own', ['first', 'late', 'opted']);
    const optOut = (name: string): Promise<unknown> => {
      const body = { metadata: { labels: { 'example.com/own': '' } } };
      const path = `/api/v1/namespaces/own/services/${name}`;
      return client.send({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body });
    };
    await optOut('opted');
    const ended = retire('--delete', '-n', 'own', QUIET, '--opt-out-label=example.com/own');
    await gone('own/endpoints/first', ended);
    await optOut('late');
    const { status, stderr } = await ended;
    assert.equal(status, 0, stderr);
    assert.match(stderr, /^1 stay: opted out$/m);
    assert.deepEqual(await left('own'), ['own/endpoints/late', 'own/endpoints/opted']);
  });

  it('an object that somebody has changed since it was listed stays', async () => {
    await namespaceOf('changed', ['first', 'second']);
    const ended = retire('--delete', '-n', 'changed', QUIET);
    await gone('changed/endpoints/first', ended);
    // By a program that is no controller.
    const body = { metadata: { annotations: { theirs: 'yes' } } };
    const path = '/api/v1/namespaces/changed/endpoints/second';
    await client.send({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body });
    const { status, stdout, stderr } = await ended;
    assert.match(stdout, /^stay: the object has changed since the list: changed\/second /m);
    assert.match(stderr, /^1 object stayed that should go: start the command again$/m);
    assert.equal(status, 1);
    assert.ok((await left('changed')).includes('changed/endpoints/second'));
  });

  it('deletions come no faster than --qps', async () => {
    await create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'slow' } });
    for (const name of ['a', 'b', 'c']) await endpoints('slow', name, LABEL);
    const fromMs = performance.now();
    assert.equal((await retire('--delete', '-n', 'slow', '--qps=1')).status, 0);
    // A second of quiet before, and one behind each deletion.
    assert.ok(performance.now() - fromMs > 4000);
  });

  it('the command says in one line what it cannot read', async () => {
    const { status, stderr } = await retire('-n', 'shop', '-l', 'a b c');
    assert.equal(status, 1);
    assert.match(stderr, /^endpointd retire-endpoints: cannot list \/api\/v1\/namespaces\/shop\/endpoints: .*$/m);
  });

  it('Endpoints and Services of several pages are matched', async () => {
    const names = Array.from({ length: 620 }, (_, i) => `many-${i}`);
    await create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'many' } });
    for (const name of names) await Promise.all([service('many', name, { a: 'b' }), endpoints('many', name, {})]);
    const { stdout } = await retire('-n', 'many');
    assert.equal(stdout.match(/^would go: many\//gm)?.length, names.length);
  });

  it('a page to sign in is no answer, and has deleted nothing', async () => {
    await namespaceOf('signed', ['a', 'b']);
    const page = { status: 200, headers: { 'content-type': 'text/html' }, body: '<title>Sign in</title>' };
    const none = 'no answer of an API server: HTTP status 200';
    for (const [isAsked, failure] of [
      [
        (_method: string, path: string) => path.includes('/endpoints?'),
        'cannot list /api/v1/namespaces/signed/endpoints',
      ],
      [(_method: string, path: string) => path.includes('/services/a'), 'cannot read Service signed/a'],
      [(method: string) => method === 'DELETE', 'cannot delete Endpoints signed/a'],
    ] as const) {
      await using front = await startFront(server.url, (method, path) => (isAsked(method, path) ? page : 'pass'));
      const { status, stdout, stderr } = await retireAt(front.url, '--delete', '-n', 'signed');
      assert.deepEqual([status, stdout], [1, ''], stderr);
      assert.equal(stderr.trimEnd().split('\n').at(-1), `endpointd retire-endpoints: ${failure}: ${none}`);
    }
    assert.deepEqual(await left('signed'), ['signed/endpoints/a', 'signed/endpoints/b']);
  });

  it('a list of what goes that a full disk cannot take ends the command with one line', async () => {
    await namespaceOf('full', ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']);
    const limited = ['-c', 'ulimit -f 1; exec "$0" "$@" > "$REPORT"', execPath, BIN, 'retire-endpoints'];
    const directory = mkdtempSync(join(tmpdir(), 'endpointd-retire-'));
    try {
      const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1', REPORT: join(directory, 'list.txt') };
      const args = [...limited, `--master=${server.url}`, '--quiet-for=1s', '-n', 'full'];
      const child = spawn('sh', args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
      let said = '';
      child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
      const [status] = (await once(child, 'close')) as [number];
      const lines = said.trimEnd().split('\n');
      const last = 'endpointd retire-endpoints: cannot write the list: EFBIG: file too large, write';
      assert.deepEqual([status, lines.at(-1)], [1, last], said);
      assert.ok(!said.includes('    at '), said);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  const isWatch = (path: string): boolean => path.includes('watch=1');
  const inNamespace = (namespace: string): Promise<string[]> => left(namespace);

  /** Runs the command through a front that treats the watch as told: until as many are left, and for three quiets more. */
  async function leftBesideWatch(namespace: string, watch: Passage, count: number): Promise<string[]> {
    await namespaceOf(namespace, ['a', 'b', 'c']);
    const asked = { watch: false };
    await using front = await startFront(server.url, (_method, path) => {
      asked.watch ||= isWatch(path);
      return isWatch(path) ? watch : 'pass';
    });
    const args = [`--master=${front.url}`, '--quiet-for=1s', '--qps=100', '--delete', '-n', namespace];
    const child = spawn(execPath, [BIN, 'retire-endpoints', ...args], { stdio: 'ignore' });
    await until(async () => {
      assert.equal(child.exitCode, null);
      return asked.watch && (await inNamespace(namespace)).length <= count;
    }, 20);
    await sleep(3000);
    assert.equal(child.exitCode, null);
    child.kill('SIGKILL');
    await once(child, 'exit');
    return inNamespace(namespace);
  }

  it('nothing is deleted while the watch is not answered', async () => {
    assert.equal((await leftBesideWatch('unanswered', 'hang', 3)).length, 3);
  });

  it('a watch that shows nothing of the first deletion lets no other follow', async () => {
    assert.equal((await leftBesideWatch('silent', 'silent', 2)).length, 2);
  });

  it('the command stops if the first deleted object is there again', async () => {
    await namespaceOf('again', ['first', 'second']);
    const ended = retire('--delete', '-n', 'again', QUIET);
    await gone('again/endpoints/first', ended);
    // By a program that the watch does not know as a controller.
    await endpoints('again', 'first', {});
    const { status, stderr } = await ended;
    assert.equal(status, 1, stderr);
    assert.match(
      stderr,
      /^Stopped: somebody has made Endpoints again\/first anew: switch the endpoints controller off/m,
    );
    assert.deepEqual(await inNamespace('again'), ['again/endpoints/first', 'again/endpoints/second']);
  });

  it('a server that is busy now and then ends no run', async () => {
    await namespaceOf('busy', ['a', 'b', 'c']);
    const seen = new Set<string>();
    await using front = await startFront(server.url, (method, path) => {
      const kind = isWatch(path) ? 'watch' : `${method} ${path.replace(/\/[abc]$/, '')}`;
      if (seen.has(kind)) return 'pass';
      seen.add(kind);
      return BUSY;
    });
    const { status, stderr } = await retireAt(front.url, '--delete', '-n', 'busy');
    assert.equal(status, 0, stderr);
    assert.match(stderr, /^3 deleted: /m);
    assert.deepEqual(await inNamespace('busy'), []);
  });

  it('connections that are cut, and a busy server behind that, end no run', async () => {
    await namespaceOf('cut', ['a', 'b', 'c']);
    let watches = 0;
    await using front = await startFront(server.url, (_method, path) =>
      isWatch(path) && ++watches === 2 ? BUSY : 'pass',
    );
    const ended = retireAt(front.url, '--delete', '-n', 'cut', QUIET);
    await gone('cut/endpoints/a', ended);
    front.cut();
    const { status, stderr } = await ended;
    assert.equal(status, 0, stderr);
    assert.ok(watches > 2, String(watches));
    assert.deepEqual(await inNamespace('cut'), []);
  });

  it('a server that has forgotten what the watch goes on from ends no run', async () => {
    await namespaceOf('forgot', ['a', 'b', 'c']);
    let watches = 0;
    await using front = await startFront(server.url, (_method, path) =>
      isWatch(path) && ++watches === 2 ? refusal(410, 'Expired', 'too old resource version') : 'pass',
    );
    const ended = retireAt(front.url, '--delete', '-n', 'forgot', QUIET);
    await gone('forgot/endpoints/a', ended);
    front.cut();
    const { status, stderr } = await ended;
    assert.equal(status, 0, stderr);
    assert.equal(watches, 3);
    assert.deepEqual(await inNamespace('forgot'), []);
  });

  it('the counts are told of a run that ends with an error, too', async () => {
    await namespaceOf('error', ['a', 'b', 'c']);
    const refused = refusal(401, 'Unauthorized', 'not any more');
    await using front = await startFront(server.url, (method, path) => {
      return method === 'DELETE' && path.endsWith('/b') ? refused : 'pass';
    });
    const { status, stderr } = await retireAt(front.url, '--delete', '-n', 'error');
    assert.equal(status, 1);
    assert.match(stderr, /^1 deleted: its Service has a selector; made before Kubernetes 1\.33$/m);
    assert.match(stderr, /^endpointd retire-endpoints: cannot delete Endpoints error\/b: not any more$/m);
    assert.deepEqual(await inNamespace('error'), ['error/endpoints/b', 'error/endpoints/c']);
  });

  it('an object whose deletion is refused stays, and the others go', async () => {
    await namespaceOf('refused', ['a', 'b', 'c', 'd']);
    const refusals: Readonly<Record<string, Passage>> = {
      b: refusal(403, 'Forbidden', 'not this one'),
      c: refusal(422, 'Invalid', 'nor this one'),
    };
    await using front = await startFront(server.url, (method, path) => {
      return (method === 'DELETE' ? refusals[path.at(-1)!] : undefined) ?? 'pass';
    });
    const { status, stdout, stderr } = await retireAt(front.url, '--delete', '-n', 'refused');
    assert.deepEqual(
      stdout.split('\n').map((line) => line.replace(/ \(.*/, '')),
      [
        'deleted: refused/a',
        'stay: the server refuses: not this one: refused/b',
        'stay: the server refuses: nor this one: refused/c',
        'deleted: refused/d',
        '',
      ],
    );
    assert.match(stderr, /^2 stay: the server refuses: its Service has a selector; /m);
    assert.match(stderr, /^2 objects stayed that should go: start the command again$/m);
    assert.equal(status, 1);
    assert.deepEqual(await inNamespace('refused'), ['refused/endpoints/b', 'refused/endpoints/c']);
  });

  it('ten refusals in a row end the command', async () => {
    await create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'rights' } });
    for (let i = 10; i < 30; i++) await endpoints('rights', `orphan-${i}`, LABEL);
    let deletions = 0;
    await using front = await startFront(server.url, (method) => {
      return method === 'DELETE' && ++deletions !== 5 ? refusal(403, 'Forbidden', `no ${deletions}`) : 'pass';
    });
    const { status, stderr } = await retireAt(front.url, '--delete', '-n', 'rights');
    assert.deepEqual([status, deletions], [1, 15], stderr);
    assert.match(stderr, /^Stopped: the server has refused 10 deletions in a row, the last one with: no 15$/m);
  });

  it('a deletion is told even if nobody can say whether it is undone', async () => {
    await namespaceOf('unsure', ['a', 'b']);
    const refused = refusal(403, 'Forbidden', 'no such list');
    await using front = await startFront(server.url, (_method, path) => {
      return path.includes('fieldSelector') ? refused : 'pass';
    });
    const { status, stdout, stderr } = await retireAt(front.url, '--delete', '-n', 'unsure');
    assert.equal(status, 1, stderr);
    assert.match(stdout, /^deleted: unsure\/a .*\n$/);
    assert.match(stderr, /^1 deleted: its Service has a selector; made before Kubernetes 1\.33$/m);
  });

  it('a deletion is told at once, and the counts also when a signal ends the command', async () => {
    await namespaceOf('signal', ['a', 'b']);
    const args = [`--master=${server.url}`, QUIET, '--delete', '-n', 'signal'];
    const child = spawn(execPath, [BIN, 'retire-endpoints', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'close'), [143, null]);
    assert.match(line.toString(), /^deleted: signal\/a .*\n$/);
    assert.match(said, /^1 deleted: its Service has a selector; made before Kubernetes 1\.33$/m);
    assert.deepEqual(await inNamespace('signal'), ['signal/endpoints/b']);
  });

  it('a deletion is not repeated once a controller has written', async () => {
    await namespaceOf('written', ['a', 'b']);
    let deletions = 0;
    // Longer than the watch takes to tell of the write.
    const busyForLong = { ...BUSY, headers: { 'retry-after': '5' } };
    await using front = await startFront(server.url, async (method) => {
      if (method !== 'DELETE') return 'pass';
      if (++deletions === 1) await endpoints('written', 'late', LABEL);
      return busyForLong;
    });
    const { status, stderr } = await retireAt(front.url, '--delete', '-n', 'written');
    assert.deepEqual([status, deletions], [1, 1], stderr);
    assert.match(stderr, /cannot delete Endpoints written\/a: .*; .* has written Endpoints written\/late: switch /);
  });

  it('a deletion whose answer is lost counts as a deletion', async () => {
    await namespaceOf('lost', ['a']);
    let deletions = 0;
    await using front = await startFront(server.url, (method) => {
      return method === 'DELETE' && ++deletions === 1 ? 'lose' : 'pass';
    });
    const { status, stdout, stderr } = await retireAt(front.url, '--delete', '-n', 'lost');
    assert.deepEqual([status, deletions], [0, 2], stderr);
    assert.match(stdout, /^deleted: lost\/a /);
  });
});

/**
 * Every scenario but `net` at its smallest size, on the embedded API server: that it runs and ends right, not how fast it is.
 * `net` needs kube-controller-manager, so test/e2e/bench.kube.ts runs it.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { bench } from './run-bench.ts';
import { parsePeersFlags } from '../../bench/peers/flags.ts';
import { checkPeers, inTurn, settingsOf } from '../../bench/peers/pair.ts';
import type { Results } from '../../bench/peers/results.ts';
import { ECHO, ENDPOINTD, ENDPOINTD_AGAIN, type Scenario } from '../../bench/peers/scenario.ts';
import { heldByEndpoints } from '../../bench/peers/scenarios/flips.ts';
import { SPREAD } from '../../bench/peers/scenarios/profiles.ts';
import { STAGES } from '../../bench/peers/change-stages.ts';
import { findScenarios, SCENARIOS } from '../../bench/peers/scenarios.ts';

/** Scenarios with peers of their own, and where a test runs each. */
const OWN_PEERS: Readonly<Record<string, string>> = {
  net: 'test/e2e/bench.kube.ts',
  standby: 'test/bench/peers.test.ts',
  journal: 'test/bench/peers.test.ts',
};

// Every scenario is a start of processes of its own: on a busy machine they take longer together than one test may.
const ALL_MS_MAX = 900_000;

/** Those of one cluster one after the other, and first those after which the next one goes on with the same server. */
function byCluster(scenarios: readonly Scenario[]): readonly string[] {
  const clusters = Map.groupBy(scenarios, ({ profile }) => profile('tiny').name);
  return [...clusters.values()].flatMap((own) => {
    const [leave, others] = [true, false].map((leaves) =>
      own.filter(({ leavesInputs = false }) => leavesInputs === leaves),
    );
    return [...leave!, ...others!].map(({ name }) => name);
  });
}

interface Made {
  readonly out: string;
  readonly page: string;
  readonly runs: Results['runs'];
}

describe('the bench of the peers, tiny', { timeout: ALL_MS_MAX }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-bench-'));
  let made: readonly Made[];
  let runs: Results['runs'];
  const run = async (title: string, scenarios: readonly string[], peers: string): Promise<Made> => {
    const [json, page] = [join(directory, `${title}.json`), join(directory, `${title}.html`)];
    const files = [`--json=${json}`, `--page=${page}`];
    const { status, out } = await bench('peers', ...scenarios, `--peers=${peers}`, ...files);
    assert.equal(status, 0, out);
    const results = JSON.parse(readFileSync(json, 'utf8')) as Results;
    return { out, page: readFileSync(page, 'utf8'), runs: results.runs };
  };
  before(
    async () => {
      const [spread, others] = [true, false].map((is) => SCENARIOS.filter((one) => (one.profile === SPREAD) === is));
      // Side by side, because a run mostly waits.
      made = await Promise.all([
        run('spread', byCluster(spread!), 'endpointd,echo,without the journal'),
        run('others', byCluster(others!), 'endpointd,echo'),
      ]);
      runs = made.flatMap((each) => each.runs);
    },
    { timeout: ALL_MS_MAX },
  );
  after(() => rmSync(directory, { recursive: true }));

  for (const { name, echo = false, peers } of SCENARIOS) {
    if (peers !== undefined) continue;
    it(`${name} runs, ends right and has its figures`, () => {
      const own = runs.filter(({ scenario }) => scenario === name);
      assert.deepEqual(
        own.map(({ peer }) => peer),
        echo ? [ENDPOINTD, ECHO] : [ENDPOINTD],
      );
      for (const { wrong, figures, timeline } of own) {
        assert.deepEqual(wrong, []);
        assert.ok(figures['wall']! > 0);
        assert.ok(figures['peakMB']! > 10);
        assert.ok(timeline.ms.length > 1);
      }
    });
  }

  it('each scenario runs here, but net: that runs beside kube-controller-manager', () => {
    const own = SCENARIOS.filter(({ peers }) => peers !== undefined).map(({ name }) => name);
    assert.deepEqual(own, Object.keys(OWN_PEERS), 'a scenario with peers of its own needs a test of its own');
    const ran = new Set(runs.map(({ scenario }) => scenario));
    for (const { name } of SCENARIOS) {
      const file = OWN_PEERS[name];
      assert.equal(ran.has(name), file !== 'test/e2e/bench.kube.ts', name);
      if (file === undefined) continue;
      const test = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
      assert.match(test, new RegExp(String.raw`=== '${name}'|\['${name}', `), `${file} judges no run of ${name}`);
    }
  });

  it('the scenario journal runs once without the journal, and twice with it', () => {
    assert.deepEqual(
      runs.flatMap(({ scenario, peer, wrong }) => (scenario === 'journal' ? [[peer, wrong]] : [])),
      [
        ['without the journal', []],
        [ENDPOINTD, []],
        [ENDPOINTD_AGAIN, []],
      ],
    );
  });

  it('standby sums the leader and a warm standby, which watches the same', () => {
    const own = runs.filter(({ scenario }) => scenario === 'standby');
    assert.deepEqual(
      own.map(({ peer, wrong, timeline }) => [
        peer,
        wrong,
        Object.keys(timeline.cores).filter((name) => name.startsWith('endp')),
      ]),
      [[ENDPOINTD, [], ['endpointd standby', 'endpointd']]],
    );
    const { watchStreams, peakMB } = own[0]!.figures;
    // The watches of two, and that of the Lease by the standby.
    assert.equal(watchStreams, 2 * 5 + 1);
    assert.ok(peakMB! > 100);
  });

  it('a controller of endpoints and slices keeps five watches, the floor one', () => {
    const watches = runs.flatMap(({ scenario, figures }) => (scenario === 'churn' ? [figures['watchStreams']] : []));
    assert.deepEqual(watches, [5, 1]);
  });

  it('if pods only become ready, the changes tell how few writes they need', () => {
    for (const scenario of ['ready', 'burst', 'ramp', 'scale-up']) {
      const { figures } = runs.find((each) => each.scenario === scenario)!;
      const { writes, fewestWrites, fewestWritesHalf } = figures;
      assert.ok(fewestWrites! > 0 && fewestWrites! <= writes! && fewestWrites! <= fewestWritesHalf!, scenario);
    }
  });

  it('a start writes nothing if everything is right', () => {
    const restart = runs.find(({ scenario }) => scenario === 'restart');
    assert.equal(restart?.figures['writes'], 0);
  });

  it('each change has one sample of both kinds, whatever becomes of it', () => {
    const looked = runs.filter(({ scenario }) => ['churn', 'failover', 'removal'].includes(scenario));
    for (const { figures, samples } of looked) {
      assert.deepEqual([samples.slices.length, samples.endpoints.length], [figures['changes'], figures['changes']]);
    }
    assert.ok(looked.length >= 3);
  });

  it('each stage of a change has figures, and none is longer than the change', () => {
    const churn = runs.find(({ scenario, peer }) => scenario === 'churn' && peer === ENDPOINTD)!;
    const stages = Object.keys(STAGES).map((stage) => churn.figures[`stage${stage}P50`]);
    assert.ok(stages.every((ms) => ms! >= 0 && ms! <= churn.figures['slicesMax']! + 1));
    assert.ok(churn.course.seconds.length > 0 && churn.course.max[0]! >= churn.course.p50[0]!);
  });

  it('a measure that is over before the metrics page is made anew has its syncs', () => {
    const { figures } = runs.find(({ scenario }) => scenario === 'node-zone')!;
    assert.ok(figures['syncMean']! > 0, JSON.stringify(figures));
  });

  it('failover tells how long addresses were wrong after each of two restarts', () => {
    const { figures } = runs.find(({ scenario }) => scenario === 'failover')!;
    for (const what of ['controller', 'server']) {
      assert.ok(figures[`${what}WrongSeconds`]! > 0);
      assert.ok(figures[`${what}WrongMost`]! >= 1);
      assert.ok(figures[`${what}RightMs`]! >= 0);
    }
  });

  it('the bench prints a table and writes a page', () => {
    assert.match(made[0]!.out, /\nchurn: 50 pods a second.*\n +endpointd \(1\) +echo floor \(1\)\n/);
    for (const { page } of made) assert.match(page, /<svg class="plot"/);
  });
});

it('in turn each peer follows each other one equally often', () => {
  for (const peers of [
    ['A', 'B'],
    ['A', 'B', 'C'],
    ['A', 'B', 'C', 'D'],
  ]) {
    const turns = peers.length % 2 === 0 ? peers.length : 2 * peers.length;
    const orders = Array.from({ length: turns }, (_, turn) => inTurn(peers, turn));
    const pairs = Map.groupBy(
      orders.flatMap((order) => order.slice(1).map((peer, i) => `${order[i]}${peer}`)),
      (pair) => pair,
    );
    assert.equal(pairs.size, peers.length * (peers.length - 1), peers.join());
    assert.equal(new Set([...pairs.values()].map(({ length }) => length)).size, 1);
    for (const peer of peers) assert.equal(new Set(orders.map((order) => order.indexOf(peer))).size, peers.length);
  }
  assert.deepEqual(
    [0, 1, 2].map((turn) => inTurn(['A', 'B'], turn).join('')),
    ['AB', 'BA', 'AB'],
  );
});

it('a huge service flips the pods of its Endpoints, which sort addresses as texts', () => {
  const pods = Array.from({ length: 1100 }, (_, i) => ({
    address: `10.0.${Math.floor(i / 256)}.${i % 256}`,
    revision: 0,
  }));
  const held = new Set(heldByEndpoints(pods).map(({ address }) => address));
  assert.equal(held.size, 1000);
  assert.ok(held.has('10.0.3.255') && held.has('10.0.3.77'));
  assert.ok(!held.has('10.0.3.78') && !held.has('10.0.3.9') && !held.has('10.0.4.0'));
});

it('half-way through a roll-out a huge service flips pods of both subsets', () => {
  const pods = Array.from({ length: 1200 }, (_, i) => ({ address: String(i).padStart(4, '0'), revision: i % 2 }));
  const held = heldByEndpoints(pods).map(({ address }) => Number(address));
  assert.deepEqual([held.length, held[449], held[899]], [900, 898, 899]);
});

describe('the flags of the bench of the peers', () => {
  it('--help lists all flags, and --list lists all scenarios', async () => {
    const { status, out } = await bench('peers', '--help');
    assert.equal(status, 0);
    assert.match(out, /--pairs=N .*\n +--for=DURATION /);
    const list = await bench('peers', '--list');
    assert.deepEqual(
      list.out
        .trim()
        .split('\n')
        .map((line) => line.split(' ')[0]),
      SCENARIOS.map(({ name }) => name),
    );
  });

  it('the first word of several scenarios names them all', () => {
    const namesOf = (...said: string[]): string[] => findScenarios(said).map(({ name }) => name);
    assert.deepEqual(namesOf('node', 'churn'), ['node-zone', 'node-lost', 'churn']);
    assert.deepEqual(namesOf('large'), ['large']);
    assert.deepEqual(
      namesOf('all'),
      SCENARIOS.map(({ name }) => name),
    );
    assert.throws(() => namesOf('nod'), /no scenario is called nod: there are spread, /);
  });

  it('an error about a flag of the peers says what is allowed', () => {
    assert.throws(() => parsePeersFlags(['--pairs=many'], true), /--pairs: a number was expected, not "many"/);
    assert.throws(() => parsePeersFlags(['--size=vast'], true), /--size: one of tiny, small, full was expected/);
    assert.throws(() => parsePeersFlags(['--for=long'], true), /--for: a duration such as 12m was expected/);
    const others = (...args: readonly string[]): void =>
      checkPeers(findScenarios(['net']), parsePeersFlags(args, true));
    assert.throws(() => others('--peers=endpointd'), /--peers: endpointd is none of all in one, with endpointd/);
    assert.doesNotThrow(() => others('--peers=with endpointd'));
    assert.throws(() => parsePeersFlags(['--spare'], true), /Unknown option '--spare'/);
  });

  it('the bench takes sizes, rates and flags of both peers', () => {
    const { settings, pairs, forMs, scenarios } = parsePeersFlags(
      ['churn', '--pairs=3', '--for=12m', '--rate=100', '--qps=20', '--endpointd-flag=--shards=1', '--fsync'],
      false,
    );
    assert.deepEqual([scenarios, pairs, forMs], [['churn'], 3, 720_000]);
    assert.deepEqual([settings.size, settings.rate, settings.qps, settings.fsync], ['full', 100, 20, true]);
    assert.deepEqual(settings.endpointdFlags, ['--shards=1']);
  });

  it('flags of the command line come behind those of the scenario', () => {
    const [best] = findScenarios(['best']);
    const settingsWith = (...args: readonly string[]) => settingsOf(best!, parsePeersFlags(args, true));
    const { endpointdFlags, managerFlags, syncs } = settingsWith('--endpointd-flag=--shards=1', '--manager-flag=--v=2');
    assert.deepEqual(endpointdFlags, ['--max-writes-in-flight=100', '--shards=1']);
    assert.deepEqual([managerFlags, syncs], [['--v=2'], 50]);
    assert.deepEqual(settingsWith().endpointdFlags, ['--max-writes-in-flight=100']);
    assert.equal(settingsWith('--syncs=5').syncs, 5);
  });

  it('endpointd is measured beside itself with another flag or program', async () => {
    const { otherwise } = parsePeersFlags(['--other-flag=--shards=1', '--other-program=/old/dist/src/main.js'], true);
    assert.deepEqual(otherwise, { flags: ['--shards=1'], program: '/old/dist/src/main.js' });
    assert.equal(parsePeersFlags([], true).otherwise, null);
    // A flag that nobody knows shows which of the two has got it.
    const { status, out } = await bench('peers', 'churn', '--other-flag=--odd', '--peers=endpointd');
    assert.equal(status, 1, out);
    assert.match(out, /\n +endpointd otherwise \(0 of 1 right\) +endpointd \(1\) +ratio /);
    const wrong = out.split('\n').filter((line) => line.startsWith('WRONG'));
    assert.deepEqual([wrong.length, wrong[0]?.startsWith('WRONG: endpointd otherwise, ')], [1, true]);
  });
});

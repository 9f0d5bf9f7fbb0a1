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
import type { Results } from '../../bench/peers/results.ts';
import { ECHO, ENDPOINTD, ENDPOINTD_AGAIN, type Scenario } from '../../bench/peers/scenario.ts';
import { SPREAD } from '../../bench/peers/scenarios/profiles.ts';
import { STAGES } from '../../bench/peers/change-stages.ts';
import { SCENARIOS } from '../../bench/peers/scenarios.ts';

/** Scenarios with peers of their own, and where a test runs each. */
const OWN_PEERS: Readonly<Record<string, string>> = {
  net: 'test/e2e/bench.kube.ts',
  standby: 'test/bench/peers.bench.ts',
  journal: 'test/bench/peers.bench.ts',
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

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bench } from './run-bench.ts';
import { parsePeersFlags } from '../../bench/peers/flags.ts';
import { checkPeers, inTurn, settingsOf } from '../../bench/peers/pair.ts';
import { heldByEndpoints } from '../../bench/peers/scenarios/flips.ts';
import { findScenarios, SCENARIOS } from '../../bench/peers/scenarios.ts';

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
});

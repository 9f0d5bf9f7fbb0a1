/** The bench of the peers on a real API server: its side of kube-controller-manager, which no other test has. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import type { Results } from '../../bench/peers/results.ts';
import { ECHO, ENDPOINTD, MANAGER } from '../../bench/peers/scenario.ts';
import { bench } from '../bench/run-bench.ts';

it('flips run beside kube-controller-manager and the floor, net and standby', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-bench-'));
  const json = join(directory, 'peers.json');
  try {
    const { status, out } = await bench('peers', 'churn', 'net', 'standby', '--server=kube', `--json=${json}`);
    assert.equal(status, 0, out);
    const { runs } = JSON.parse(readFileSync(json, 'utf8')) as Results;
    assert.deepEqual(
      runs.map(({ scenario, peer }) => [scenario, peer]),
      [
        ['churn', MANAGER],
        ['churn', ENDPOINTD],
        ['churn', ECHO],
        ['net', 'all in one'],
        ['net', 'with endpointd'],
        ['standby', MANAGER],
        ['standby', ENDPOINTD],
      ],
    );
    let controllers = 0;
    for (const { peer, figures, wrong } of runs) {
      assert.deepEqual(wrong, [], peer);
      const { controllerCpu, apiserverCpu, etcdCpu } = figures;
      assert.ok(controllerCpu! >= 0 && apiserverCpu! > 0 && etcdCpu! >= 0, peer);
      controllers += controllerCpu!;
      // A change that is taken back before it is shown takes 0 ms. Where the process stood still, most may be such.
      assert.ok(figures['slicesMax']! > 0);
    }
    // The kernel counts ticks of 10 ms, and twenty flips may take one controller less than that.
    assert.ok(controllers > 0);
    const watches = runs.map((run) => run.figures['watchStreams']!);
    // Pods, Services, nodes, Endpoints and slices; metadata of pods; and what the other controllers watch.
    assert.deepEqual(watches.slice(1, 3), [5, 1]);
    // The standby of kube-controller-manager watches next to nothing, that of endpointd as much as its leader, and the Lease.
    assert.ok(watches[5]! >= 5 && watches[5]! < 10 && watches[6] === 11, watches.join());
    assert.ok(watches[0]! >= 5 && watches[3]! > 10 && watches[4]! > 10, watches.join());
  } finally {
    rmSync(directory, { recursive: true });
  }
});

/** An operator's way with a kube-controller-manager: a recording of what it did, its figures, and advice from its metrics. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { zstdDecompressSync } from 'node:zlib';
import { readFileSync } from 'node:fs';
import { withRecording } from '../../src/cli/record/recording-file.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { type ControllerFigures, figuresOf, type RecordingFigures } from '../../src/recording/figures.ts';
import type { Answer } from '../../src/tune/answer.ts';
import { quantile } from '../../src/twin/figures.ts';
import { clientOf } from './client.ts';
import { type Cluster, type ControllerManager, startControllerManager } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { type ShownTimes, type ShownWatch, watchShown } from './shown-watch.ts';
import {
  createPod,
  createService,
  createWorld,
  patchService,
  removePod,
  setReady,
  until,
  type World,
} from './world.ts';
import { BIN } from '../support/installed.ts';

const PODS = 30;
/** Pods that become unready, and one that goes. */
const REMOVED = 11;
/** Latencies are spread over it, so two clocks that agree have measured the same changes. */
const BATCH_MS = 1500;
/** By how much the watches of the recorder and of the test may lag behind each other, beyond what the test itself was late. */
const APART_MS = 60;

describe('a recording beside kube-controller-manager', () => {
  let cluster: Cluster;
  let client: ApiClient;
  let manager: ControllerManager;
  let recorder: ChildProcess;
  let watch: ShownWatch;
  let world: World;
  let path: string;
  let figures: RecordingFigures;
  /** How late the test itself was while it waited for events, in nanoseconds. */
  const lateNs = monitorEventLoopDelay({ resolution: 5 });

  before(async () => {
    cluster = await startCluster();
    client = clientOf(cluster);
    world = await createWorld(client, 'canary-shop');
    // Slices leave out pods of nodes that are not there.
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' } };
    await client.send({ method: 'POST', path: '/api/v1/nodes', body: node });
    await createService(world, 'canary-web', { spec: { selector: { app: 'canary' } } });
    manager = await startControllerManager(cluster, ['endpoints-controller', 'endpointslice-controller'], {
      flags: ['endpoint', 'endpointslice'].map((of) => `--${of}-updates-batch-period=${BATCH_MS}ms`),
    });
    await until(() => manager.idle());
    path = join(cluster.directory, 'cluster.rec');
    recorder = spawn(process.execPath, [BIN, 'record', path, `--kubeconfig=${cluster.kubeconfigPath}`], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    recorder.stderr!.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await until(() => Promise.resolve(said.includes('recording for')));
    watch = await watchShown(client, world.namespace);
    await change();
    await allShown({ added: PODS, removed: REMOVED });
    // An edit by somebody else, which is no write of the controller.
    await patchService(world, 'canary-web', { metadata: { labels: { canary: 'edited' } } });
    recorder.kill('SIGINT');
    const [status] = (await once(recorder, 'close')) as [number];
    assert.equal(status, 0, said);
    assert.ok(!/canary/i.test(said), said);
    figures = read();
  });

  after(async () => {
    recorder?.kill('SIGKILL');
    await watch?.stop();
    await manager?.stop();
    await client?.close();
    await cluster?.stop();
  });

  async function change(): Promise<void> {
    const names = Array.from({ length: PODS }, (_, i) => `canary-${i}`);
    lateNs.enable();
    for (const [i, name] of names.entries()) {
      await createPod(world, name, { ip: `10.7.0.${i + 1}`, labels: { app: 'canary' } });
    }
    // What is undone before it is shown has no time.
    await allShown({ added: PODS, removed: 0 });
    lateNs.enable();
    for (const name of names.slice(0, REMOVED - 1)) await setReady(world, name, false);
    await removePod(world, names.at(-1)!);
  }

  /**
   * Resolves when the watch and the recording have so many. The recording is not read before the watch has them: reading
   * blocks, and what the watch is told meanwhile would have later times.
   */
  async function allShown({ added, removed }: { readonly added: number; readonly removed: number }): Promise<void> {
    const isWatched = ({ addedMs, removedMs }: ShownTimes): boolean =>
      addedMs.length >= added && removedMs.length >= removed;
    await until(() => Promise.resolve(Object.values(watch.shown).every(isWatched)));
    lateNs.disable();
    const isRecorded = ({ addedMs, removedMs, notShown }: ControllerFigures): boolean =>
      addedMs.count >= added && removedMs.count >= removed && notShown === 0;
    await until(() => Promise.resolve(outputsOf(read()).every(isRecorded)));
  }

  function read(): RecordingFigures {
    return withRecording(path, ({ events }) => figuresOf(events));
  }

  function outputsOf({ controller }: RecordingFigures): ControllerFigures[] {
    return [controller.endpoints!, controller.endpointslices!];
  }

  it('a recording measures each addition and removal as long as other watches do', (t) => {
    const { shown } = watch;
    const lateMs = lateNs.max / 1e6;
    t.diagnostic(`the test itself was late by ${Math.round(lateMs)} ms at most`);
    for (const kind of ['endpoints', 'endpointslices'] as const) {
      for (const change of ['addedMs', 'removedMs'] as const) {
        const recorded = figures.controller[kind]![change];
        const seen = Float64Array.from(shown[kind][change]).sort();
        const apartMs = [
          recorded.p50! - quantile(seen, 0.5),
          recorded.p90! - quantile(seen, 0.9),
          recorded.p99! - quantile(seen, 0.99),
        ];
        t.diagnostic(`${kind}, ${change}: p50, p90 and p99 differ by ${apartMs.map(Math.round).join(', ')} ms`);
        assert.equal(recorded.count, seen.length);
        assert.ok(apartMs.every((ms) => Math.abs(ms) < APART_MS + lateMs));
      }
    }
    assert.deepEqual([figures.contents.gaps, figures.contents.ended], [[], true]);
  });

  it('a recording counts the changes that a write shows', () => {
    for (const output of outputsOf(figures))
      assert.ok(output.writes > 0 && output.changesPerWrite! > 1, JSON.stringify(output));
  });

  it('a recording knows the writes of kube-controller-manager by managedFields', () => {
    const { resources } = figures.contents;
    assert.equal(resources.endpointslices.byOthers, 0);
    assert.equal(figures.controller.endpointslices!.writes, resources.endpointslices.changes);
  });

  it('a recording has no text of the cluster', () => {
    assert.ok(!/canary|10\.7\.0\./i.test(zstdDecompressSync(readFileSync(path)).toString()));
  });

  it('tune plays the recording, and recommends nothing from so few changes', async () => {
    const flags = [`--from=${path}`, '--controller=kube-controller-manager', '-o', 'json'];
    const child = spawn(process.execPath, [BIN, 'tune', ...flags], { stdio: ['ignore', 'pipe', 'ignore'] });
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const [status] = (await once(child, 'close')) as [number];
    const { from, backTest, refusals, recommendation } = JSON.parse(said) as Answer;
    assert.equal(status, 1);
    assert.ok(from.isRecording && from.changes >= PODS, said);
    assert.notEqual(backTest, null);
    assert.ok(
      refusals.some((why) => why.endsWith('fewer than 1000 say too little')),
      said,
    );
    assert.equal(recommendation, null);
  });

  it('advise gives advice on both controllers from its metrics', async () => {
    const flags = [`--source=${manager.metricsUrl}`, `--certificate-authority=${manager.caFile}`];
    const { stdout } = await promisify(execFile)(process.execPath, [
      BIN,
      'advise',
      '--interval=2s',
      '-o',
      'json',
      ...flags,
    ]);
    const { observation, advice } = JSON.parse(stdout) as {
      observation: { program: string; cores: number | null };
      advice: { queue: string; verdict: string }[];
    };
    assert.equal(observation.program, 'kube-controller-manager');
    assert.ok(observation.cores! > 0, 'its metrics say how many cores it may use');
    // Nothing happens meanwhile, so nothing can be told.
    assert.deepEqual(advice.slice(0, 2), [
      { ...advice[0], queue: 'endpoint', verdict: 'cannot tell' },
      { ...advice[1], queue: 'endpoint_slice', verdict: 'cannot tell' },
    ]);
  });
});

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { endpointOf, fileOf, node, pod, service, slice } from '../recording/made.ts';
import { playedBy } from '../../src/cli/tune/played-by.ts';
import { busiestPart } from '../../src/tune/confirmation.ts';

/** A pod that comes and goes, in a slice that endpointd writes and in Endpoints that another program writes. */
const SHARED = fileOf((encoder) => {
  encoder.put('services', service('web'), 'other', 0);
  encoder.put('pods', pod('web-1'), 'other', 0);
  for (const name of ['worker-1', 'worker-2', 'worker-3']) encoder.put('nodes', node(name, 'zone-a'), 'other', 0);
  for (const resource of ['pods', 'services', 'nodes', 'endpoints', 'endpointslices'] as const)
    encoder.listed(resource, '1', 0);
  for (let i = 0; i < 30; i++) {
    const endpoints = [endpointOf(pod('web-1'), { conditions: { ready: i % 2 === 1 } })];
    encoder.put('pods', pod('web-1', { ready: i % 2 === 1 }), 'other', 100 * i + 100);
    encoder.put('endpointslices', slice('web-x', endpoints), 'controller', 100 * i + 105);
    encoder.put('endpoints', slice('web', endpoints), 'controller', 100 * i + 110);
  }
  encoder.remove('nodes', '', 'worker-3', { by: 'other', version: '' }, 4000);
  encoder.wrote('endpointslices', 'endpointd', 4000);
  encoder.wrote('endpoints', 'kube-controller-manager', 4000);
  encoder.tell(10_000, { end: true });
});

test('a recording counts up to the watch that is lost for good', () => {
  const directory = mkdtempSync(join(tmpdir(), 'played-by-'));
  try {
    const from = join(directory, 'lost.rec');
    const lost = fileOf((encoder) => {
      encoder.put('services', service('web'), 'other', 0);
      for (const resource of ['pods', 'services', 'nodes', 'endpoints', 'endpointslices'] as const)
        encoder.listed(resource, '1', 0);
      for (let i = 1; i <= 9; i++) encoder.put('pods', pod(`web-${i}`), 'other', 1000 * i);
      encoder.tell(9500, { lost: 'services', since: 50_000 });
      encoder.tell(9600, { lost: 'nodes', since: 20_000 });
      encoder.tell(9700, { rewatched: 'nodes' });
      encoder.tell(20_000, { end: true });
    });
    writeFileSync(from, lost);
    const { story, doubts, notes } = playedBy({ from, seed: 1, controller: 'endpointd' });
    assert.deepEqual([story.durationMs, story.changes.length, doubts], [4000, 4, []]);
    assert.equal(notes[0], 'the watch of services was lost after 4 s for good: what precedes counts');
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('a confirmation plays the outputs that the controller writes itself', () => {
  const directory = mkdtempSync(join(tmpdir(), 'played-by-'));
  try {
    const from = join(directory, 'shared.rec');
    writeFileSync(from, SHARED);
    for (const [controller, own, foreign] of [
      ['endpointd', 'slices', 'endpoints'],
      ['kube-controller-manager', 'endpoints', 'slices'],
    ] as const) {
      const { story, evidence, recorded, nodes, notes } = playedBy({ from, seed: 1, controller });
      assert.deepEqual(busiestPart(story, 2000, controller).outputs, [own]);
      assert.deepEqual([evidence!.writes[own].length, evidence!.writes[foreign].length], [30, 0]);
      // The metrics of an API server count the writes of both programs.
      assert.deepEqual(recorded, { endpoints: 30, slices: 30, listsMs: 0 });
      assert.equal(nodes, 2);
      assert.equal(notes.length, 1);
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Encoder } from '../../src/recording/encode.ts';
import { watchedSeconds } from '../../src/recording/contents.ts';
import { figuresOf, type RecordingFigures } from '../../src/recording/figures.ts';
import type { RecordedResource } from '../../src/recording/recording.ts';
import { endpointOf, fileOf, node, pod, read, service, slice } from './made.ts';

const RESOURCES: readonly RecordedResource[] = ['nodes', 'services', 'pods', 'endpoints', 'endpointslices'];

/** A Service `web` with its pods, Endpoints and slices at second 0; then what `tell` tells. */
function figures(pods: number, tell: (encoder: Encoder) => void): RecordingFigures {
  const file = fileOf((encoder) => {
    const all = Array.from({ length: pods }, (_, i) => pod(`web-${i}`));
    encoder.put('nodes', node('worker-1', 'zone-a'), 'other', 0);
    encoder.put('services', service('web'), 'other', 0);
    for (const one of all) encoder.put('pods', one, 'other', 0);
    publish(
      encoder,
      all.map((one) => one.name),
      0,
    );
    for (const resource of RESOURCES) encoder.listed(resource, '1', 0);
    tell(encoder);
    encoder.tell(10_000, { end: true });
  });
  return figuresOf(read(file).events);
}

/** Writes of both outputs that show these pods as ready. */
function publish(encoder: Encoder, names: readonly string[], atMs: number): void {
  publishSlice(encoder, names, atMs);
  const ready = names.map((name) => endpointOf(pod(name), { conditions: { ready: true }, zone: '' }));
  encoder.put('endpoints', slice('web', ready, { addressType: '' }), 'controller', atMs);
}

function publishSlice(encoder: Encoder, names: readonly string[], atMs: number): void {
  encoder.put(
    'endpointslices',
    slice(
      'web-x',
      names.map((name) => endpointOf(pod(name))),
    ),
    'controller',
    atMs,
  );
}

describe('what a recording shows of its controller', () => {
  it('each output has the times until it showed pods that came and that went', () => {
    const { controller } = figures(2, (encoder) => {
      encoder.put('pods', pod('web-2'), 'other', 1000);
      publishSlice(encoder, ['web-0', 'web-1', 'web-2'], 1030);
      publish(encoder, ['web-0', 'web-1', 'web-2'], 1500);
      encoder.put('pods', pod('web-0', { ready: false }), 'other', 2000);
      publish(encoder, ['web-1', 'web-2'], 2010);
    });
    const { endpoints, endpointslices } = controller;
    assert.deepEqual([endpoints!.addedMs.p50, endpoints!.removedMs.p50], [500, 10]);
    assert.deepEqual([endpointslices!.addedMs.p50, endpointslices!.removedMs.p50], [30, 10]);
    assert.deepEqual([endpoints!.writes, endpointslices!.writes, endpoints!.writesPerSecond], [2, 2, 0.2]);
  });

  it('what goes with its Service is deleted by others', () => {
    const { controller } = figures(1, (encoder) => {
      publish(encoder, ['web-0', 'web-1'], 1000);
      encoder.remove('services', 'shop', 'web', { by: 'other', version: '' }, 2000);
      encoder.remove('endpoints', 'shop', 'web', { by: 'unknown', version: '' }, 2010);
      encoder.remove('endpointslices', 'shop', 'web-x', { by: 'unknown', version: '' }, 2020);
    });
    assert.deepEqual([controller.endpoints!.writes, controller.endpointslices!.writes], [1, 1]);
  });

  it('slices may go with their namespace before their Service', () => {
    const { controller } = figures(1, (encoder) => {
      encoder.remove('endpointslices', 'shop', 'web-x', { by: 'unknown', version: '' }, 2000);
      encoder.remove('services', 'shop', 'web', { by: 'other', version: '' }, 2010);
    });
    assert.equal(controller.endpointslices!.writes, 0);
  });

  it('a controller deletes slices, and keeps one', () => {
    const { controller } = figures(1, (encoder) => {
      encoder.put('endpointslices', slice('web-y', []), 'controller', 1000);
      encoder.remove('endpointslices', 'shop', 'web-y', { by: 'unknown', version: '' }, 2000);
    });
    assert.equal(controller.endpointslices!.writes, 2);
  });

  it('pods that a Service begins and ceases to select are awaited from then on', () => {
    const { controller } = figures(1, (encoder) => {
      encoder.put('pods', pod('new-1', { labels: ['app', 'new'] }), 'other', 1000);
      encoder.put('services', service('web', { selector: ['app', 'new'] }), 'other', 2000);
      publish(encoder, ['new-1'], 2030);
    });
    for (const { addedMs, removedMs } of [controller.endpoints!, controller.endpointslices!]) {
      assert.deepEqual([addedMs.count, addedMs.max, removedMs.count, removedMs.max], [1, 30, 1, 30]);
    }
  });

  it('a Service that is created awaits the pods that are there', () => {
    const { controller } = figures(1, (encoder) => {
      encoder.put('services', service('api'), 'other', 2000);
      const ready = [endpointOf(pod('web-0'))];
      encoder.put('endpointslices', slice('api-x', ready, { service: 'api' }), 'controller', 2040);
    });
    const { addedMs } = controller.endpointslices!;
    assert.deepEqual([addedMs.count, addedMs.max, controller.endpoints!.notShown], [1, 40, 1]);
  });

  it('pods that share an address are one change of their Service', () => {
    const { controller } = figures(0, (encoder) => {
      for (const name of ['host-1', 'host-2', 'host-3']) {
        encoder.put('pods', pod(name, { podIP: '192.0.2.200', labels: ['app', 'host'] }), 'other', 1000);
      }
      encoder.put('services', service('api', { selector: ['app', 'host'] }), 'other', 2000);
      const ready = [endpointOf(pod('host-1', { podIP: '192.0.2.200' }))];
      encoder.put('endpointslices', slice('api-x', ready, { service: 'api' }), 'controller', 2040);
    });
    const { addedMs, undone, notShown } = controller.endpointslices!;
    assert.deepEqual([addedMs.count, undone, notShown], [1, 0, 0]);
  });

  it('an address of several pods goes with the last, and comes with the first', () => {
    const labels = ['app', 'host'];
    const host = (name: string, ready: boolean) => pod(name, { podIP: '192.0.2.200', labels, ready });
    const { controller } = figures(0, (encoder) => {
      encoder.put('services', service('api', { selector: labels }), 'other', 500);
      const turn = (name: string, states: readonly boolean[], atMs: number): void => {
        encoder.put('pods', host(name, states[Number(name.at(-1))]!), 'other', atMs);
        const endpoints = states.map((ready, i) => endpointOf(host(`host-${i}`, ready), { conditions: { ready } }));
        const ofService = { service: 'api' };
        encoder.put('endpointslices', slice('api-x', endpoints, ofService), 'controller', atMs + 10);
        encoder.put('endpoints', slice('api', endpoints, { ...ofService, addressType: '' }), 'controller', atMs + 20);
      };
      turn('host-0', [true, false], 1000);
      turn('host-1', [true, true], 2000);
      turn('host-0', [false, true], 3000);
      turn('host-1', [false, false], 4000);
      turn('host-0', [true, false], 5000);
    });
    for (const [kind, ms] of [
      ['endpoints', 20],
      ['endpointslices', 10],
    ] as const) {
      const { addedMs, removedMs, undone, notShown } = controller[kind]!;
      assert.deepEqual([addedMs.count, addedMs.p50, addedMs.max], [2, ms, ms], kind);
      assert.deepEqual([removedMs.count, removedMs.max, undone, notShown], [1, ms, 0, 0], kind);
    }
  });

  it('what an output shows while the watch of Services is lost tells no time', () => {
    const { controller } = figures(1, (encoder) => {
      encoder.put('pods', pod('new-1', { labels: ['app', 'new'] }), 'other', 1000);
      publish(encoder, ['new-1'], 3000);
      encoder.tell(5000, { rewatched: 'services' });
      encoder.put('services', service('web', { selector: ['app', 'new'] }), 'other', 5010);
    });
    const { addedMs, removedMs } = controller.endpointslices!;
    assert.deepEqual([addedMs.count, removedMs.count], [0, 0]);
  });

  it('slices of a family that the Service has given up are deleted by the controller', () => {
    const { controller } = figures(1, (encoder) => {
      encoder.put('endpointslices', slice('web-6', [], { addressType: 'IPv6' }), 'controller', 1000);
      encoder.put('services', service('web', { ipFamilies: ['IPv4'] }), 'other', 2000);
      encoder.remove('endpointslices', 'shop', 'web-6', { by: 'unknown', version: '' }, 2010);
    });
    assert.equal(controller.endpointslices!.writes, 2);
  });

  it('a pod without the port of its Service is awaited in slices alone', () => {
    const { controller } = figures(1, (encoder) => encoder.put('pods', pod('web-1', { ports: [] }), 'other', 1000));
    assert.deepEqual([controller.endpoints!.notShown, controller.endpointslices!.notShown], [0, 1]);
  });

  it('an address that Endpoints over capacity push out is no removal', () => {
    const { controller } = figures(2, (encoder) => {
      const ready = [endpointOf(pod('web-0'), { conditions: { ready: true }, zone: '' })];
      const full = slice('web', ready, { addressType: '', overCapacity: true });
      encoder.put('endpoints', full, 'controller', 1000);
      encoder.put('pods', pod('web-1', { ready: false }), 'other', 2000);
    });
    assert.equal(controller.endpoints!.removedMs.count, 0);
  });

  it('slices of a Service that still ends are deleted by others', () => {
    const { controller } = figures(1, (encoder) => {
      publishSlice(encoder, ['web-0', 'web-1'], 1000);
      encoder.put('services', { ...service('web'), deleting: true }, 'other', 2000);
      encoder.remove('endpointslices', 'shop', 'web-x', { by: 'unknown', version: '' }, 2020);
    });
    assert.equal(controller.endpointslices!.writes, 1);
  });

  it('each write has the number of changes that it showed', () => {
    const { controller } = figures(1, (encoder) => {
      for (const name of ['web-1', 'web-2', 'web-3']) encoder.put('pods', pod(name), 'other', 1000);
      publish(encoder, ['web-0', 'web-1', 'web-2', 'web-3'], 1200);
    });
    assert.equal(controller.endpoints!.changesPerWrite, 3);
    assert.equal(controller.endpoints!.addedMs.count, 3);
  });

  it('a Service that is created again has what its objects still show', () => {
    const { controller } = figures(2, (encoder) => {
      encoder.remove('services', 'shop', 'web', { by: 'other', version: '' }, 1000);
      publishSlice(encoder, ['web-1'], 1100);
      encoder.put('services', service('web'), 'other', 1200);
      encoder.put('pods', pod('web-1', { ready: false }), 'other', 2000);
      publishSlice(encoder, [], 2010);
      encoder.put('pods', pod('web-1'), 'other', 3000);
      publishSlice(encoder, ['web-1'], 3020);
    });
    const { addedMs, removedMs, undone, notShown } = controller.endpointslices!;
    assert.deepEqual([removedMs.count, removedMs.p50, addedMs.count, addedMs.p50], [1, 10, 1, 20]);
    // The other pod is awaited from the time when the Service is there again.
    assert.deepEqual([undone, notShown], [0, 1]);
  });

  it('a change that was undone before it was shown is left out', () => {
    const { controller } = figures(1, (encoder) => {
      encoder.put('pods', pod('web-0', { ready: false }), 'other', 1000);
      encoder.put('pods', pod('web-0'), 'other', 1100);
    });
    const { addedMs, removedMs, undone, notShown } = controller.endpoints!;
    assert.deepEqual([addedMs.count, removedMs.count, undone, notShown], [0, 0, 1, 0]);
  });

  it('a pod that flips twice is awaited again where its first flip is shown late', () => {
    const { controller } = figures(1, (encoder) => {
      encoder.put('pods', pod('web-0', { ready: false }), 'other', 1000);
      encoder.put('pods', pod('web-0'), 'other', 1005);
      publishSlice(encoder, [], 1006);
      publishSlice(encoder, ['web-0'], 3000);
    });
    const { addedMs, removedMs, undone, changesPerWrite } = controller.endpointslices!;
    assert.deepEqual([removedMs.count, removedMs.max, addedMs.count, addedMs.max], [1, 6, 1, 1995]);
    assert.deepEqual([undone, changesPerWrite, controller.endpoints!.undone], [0, 1, 1]);
  });

  it('what an output does long after a flip was undone is not that flip', () => {
    const { controller } = figures(1, (encoder) => {
      encoder.put('pods', pod('web-0', { ready: false }), 'other', 1000);
      encoder.put('pods', pod('web-0'), 'other', 1005);
      publish(encoder, [], 8000);
      publish(encoder, ['web-0'], 9000);
    });
    const { addedMs, removedMs, undone, notShown } = controller.endpoints!;
    assert.deepEqual([removedMs.count, addedMs.count, undone, notShown], [0, 0, 1, 0]);
  });

  it('a change that a Service ceases to ask for is not awaited any more', () => {
    for (const other of [
      service('web', { selector: ['app', 'other'] }),
      service('web', { selector: null }),
      service('web', { type: 'ExternalName' }),
    ]) {
      const { controller } = figures(2, (encoder) => {
        encoder.put('pods', pod('web-2'), 'other', 1000);
        encoder.put('pods', pod('web-1', { ready: false }), 'other', 1000);
        encoder.put('services', other, 'other', 1005);
        encoder.put('services', service('web'), 'other', 9000);
        publish(encoder, ['web-0', 'web-2'], 9010);
      });
      const { addedMs, removedMs, notOwed, notShown } = controller.endpoints!;
      const isManaged = other.type !== 'ExternalName' && other.selector !== null;
      // A Service without pods loses its addresses. One without a selector keeps them.
      assert.deepEqual([removedMs.count, addedMs.count, notOwed, notShown], isManaged ? [1, 1, 2, 0] : [0, 1, 2, 0]);
      assert.equal(addedMs.max, 10);
    }
  });

  it('pods that need not be ready any more, or again, are not awaited', () => {
    const { controller } = figures(1, (encoder) => {
      encoder.put('pods', pod('web-0', { ready: false }), 'other', 1000);
      encoder.put('services', service('web', { publishNotReadyAddresses: true }), 'other', 1005);
      encoder.put('pods', pod('web-1', { ready: false }), 'other', 2000);
      encoder.put('services', service('web'), 'other', 2005);
      encoder.put('pods', pod('web-1'), 'other', 9000);
      publish(encoder, ['web-1'], 9010);
    });
    const { addedMs, removedMs, notOwed, notShown } = controller.endpoints!;
    // The first pod is not ready any more when the Service takes that back.
    assert.deepEqual([removedMs.count, removedMs.max], [1, 9010 - 2005]);
    assert.deepEqual([addedMs.count, addedMs.max, notOwed, notShown], [1, 10, 2, 0]);
  });

  it('Endpoints over capacity owe no pod a place, and removals still', () => {
    const truncated = (encoder: Encoder, names: readonly string[], atMs: number, overCapacity = true): void => {
      const ready = names.map((name) => endpointOf(pod(name), { conditions: { ready: true }, zone: '' }));
      encoder.put('endpoints', slice('web', ready, { addressType: '', overCapacity }), 'controller', atMs);
    };
    const { controller } = figures(2, (encoder) => {
      encoder.put('pods', pod('web-2'), 'other', 1000);
      truncated(encoder, ['web-0', 'web-1'], 1010);
      encoder.put('pods', pod('web-3'), 'other', 2000);
      encoder.put('pods', pod('web-0', { ready: false }), 'other', 9000);
      truncated(encoder, ['web-1', 'web-2'], 9020);
      truncated(encoder, ['web-1', 'web-2', 'web-3'], 9500, false);
      encoder.put('pods', pod('web-4'), 'other', 9600);
      truncated(encoder, ['web-1', 'web-2', 'web-3', 'web-4'], 9630, false);
    });
    const { addedMs, removedMs, notOwed, notShown } = controller.endpoints!;
    assert.deepEqual([removedMs.count, removedMs.max, addedMs.count, addedMs.max], [1, 20, 1, 30]);
    assert.deepEqual([notOwed, notShown], [2, 0]);
  });

  it("a change that an output shows before its pod's watch took no time", () => {
    const { controller } = figures(1, (encoder) => {
      publish(encoder, ['web-0', 'web-1', 'web-2'], 1000);
      encoder.put('pods', pod('web-1'), 'other', 1002);
      encoder.put('pods', pod('web-2'), 'other', 1003);
      publish(encoder, ['web-0', 'web-1'], 1100);
      encoder.put('pods', pod('web-2', { ready: false }), 'other', 1101);
    });
    const { addedMs, removedMs, changesPerWrite, notShown } = controller.endpoints!;
    assert.deepEqual([addedMs.count, addedMs.max, removedMs.count, removedMs.max], [2, 0, 1, 0]);
    assert.deepEqual([changesPerWrite, notShown], [1.5, 0]);
  });

  it('what an output shows while the watch of pods is lost tells no time', () => {
    const { controller } = figures(1, (encoder) => {
      publish(encoder, ['web-0', 'web-1'], 2000);
      encoder.tell(4000, { rewatched: 'pods' });
      encoder.put('pods', pod('web-1'), 'other', 4000);
    });
    const { addedMs, notShown } = controller.endpoints!;
    assert.deepEqual([addedMs.count, notShown], [0, 0]);
  });

  it('a change that is undone is not shown by a write from before it', () => {
    const { controller } = figures(1, (encoder) => {
      encoder.listing('pods', 500, 900);
      encoder.put('pods', pod('web-1'), 'other', 900);
      encoder.listed('pods', '5', 900);
      publish(encoder, ['web-0', 'web-1'], 1000);
      encoder.put('pods', pod('web-1', { ready: false }), 'other', 1100);
      encoder.put('pods', pod('web-1'), 'other', 1200);
    });
    const { addedMs, undone } = controller.endpoints!;
    assert.deepEqual([addedMs.count, undone], [0, 1]);
  });

  it('an address that was shown long before its pod became ready tells no time', () => {
    const { controller } = figures(1, (encoder) => {
      publish(encoder, ['web-0', 'web-1'], 1000);
      encoder.put('pods', pod('web-1'), 'other', 7000);
    });
    const { addedMs, undone, notShown } = controller.endpoints!;
    assert.deepEqual([addedMs.count, undone, notShown], [0, 0, 0]);
  });

  it('a removal of what was never shown tells no time', () => {
    const { controller } = figures(1, (encoder) => {
      publish(encoder, [], 1000);
      encoder.put('pods', pod('web-1'), 'other', 7000);
      encoder.put('pods', pod('web-1', { ready: false }), 'other', 7100);
    });
    const { removedMs, undone } = controller.endpoints!;
    assert.deepEqual([removedMs.count, undone], [0, 1]);
  });

  it('a change that is not shown is counted, unless its pod has no address', () => {
    const { controller } = figures(1, (encoder) => {
      encoder.put('pods', pod('web-1'), 'other', 1000);
      encoder.put('pods', pod('web-2', { podIP: '', podIPs: [] }), 'other', 1000);
    });
    assert.equal(controller.endpoints!.notShown, 1);
  });

  it('changes around a lost watch are not trusted', () => {
    const { controller, contents } = figures(1, (encoder) => {
      encoder.put('pods', pod('web-1'), 'other', 1000);
      encoder.put('pods', pod('web-2'), 'other', 1000);
      encoder.listing('endpointslices', 500, 2000);
      publishSlice(encoder, ['web-0', 'web-1'], 2000);
      encoder.listed('endpointslices', '5', 2000);
      publish(encoder, ['web-0', 'web-1', 'web-2'], 2100);
    });
    const { endpoints, endpointslices } = controller;
    assert.deepEqual([endpoints!.addedMs.count, endpointslices!.addedMs.count, endpointslices!.hidden], [2, 0, 2]);
    assert.deepEqual(contents.gaps, [{ resource: 'endpointslices', fromSeconds: 1.5, toSeconds: 2 }]);
  });

  it('what comes before the last of the first lists has no time', () => {
    const file = fileOf((encoder) => {
      encoder.put('services', service('web'), 'other', 0);
      for (const resource of ['services', 'pods', 'endpoints'] as const) encoder.listed(resource, '1', 0);
      encoder.tell(0, { refused: 'nodes' });
      encoder.put('pods', pod('web-0'), 'other', 1000);
      publish(encoder, ['web-0'], 1500);
      encoder.listed('endpointslices', '1', 2000);
      encoder.tell(10_000, { end: true });
    });
    const { controller, contents } = figuresOf(read(file).events);
    assert.deepEqual([controller.endpoints!.writes, controller.endpoints!.addedMs.count, contents.seconds], [0, 0, 8]);
    const { pods, endpoints } = contents.resources;
    assert.deepEqual([pods.objects, pods.changes, pods.created], [1, 0, 0]);
    assert.deepEqual([endpoints.objects, endpoints.changes], [1, 0]);
  });

  it('an output that the server refuses has no figures', () => {
    const file = fileOf((encoder) => {
      encoder.tell(0, { refused: 'endpoints' });
      encoder.tell(1, { end: true });
    });
    const { controller, contents } = figuresOf(read(file).events);
    assert.deepEqual([controller.endpoints, contents.resources.endpoints.refused], [null, true]);
  });

  it("edits by others are counted apart from the controllers' writes", () => {
    const { controller, contents } = figures(1, (encoder) => {
      encoder.put('endpoints', slice('web', [], { addressType: '' }), 'other', 1000);
      encoder.put('endpoints', slice('web', [], { addressType: '', overCapacity: true }), 'controller', 1100);
    });
    assert.deepEqual([controller.endpoints!.writes, contents.resources.endpoints.byOthers], [1, 1]);
  });
});

describe('what a recording shows of a cluster', () => {
  const gone = (encoder: Encoder, name: string, atMs: number): boolean =>
    encoder.remove('pods', 'shop', name, { by: 'other', version: '' }, atMs);
  const spans = (rollOuts: RecordingFigures['rollOuts']): string[] =>
    rollOuts.map(({ fromSeconds, toSeconds }) => `${fromSeconds} to ${toSeconds}`);
  const template = (name: string, hash: string) => pod(name, { labels: ['app', 'web', 'pod-template-hash', hash] });

  it('a roll-out lasts from the first pod of a new template to the last of the old', () => {
    const { rollOuts } = figures(0, (encoder) => {
      encoder.put('pods', template('a-1', 'old'), 'other', 1000);
      encoder.put('pods', template('a-2', 'old'), 'other', 1000);
      encoder.put('pods', template('b-1', 'new'), 'other', 3000);
      gone(encoder, 'a-1', 4000);
      encoder.put('pods', template('b-2', 'new'), 'other', 4500);
      gone(encoder, 'a-2', 5000);
      encoder.put('pods', template('b-3', 'new'), 'other', 6000);
    });
    assert.deepEqual(rollOuts, [
      { namespace: 'shop', service: 'web', pods: 2, fromSeconds: 3, toSeconds: 5, podChanges: 4 },
    ]);
  });

  it('pods of a canary that stay hold up no roll-out, and the next one is found', () => {
    const { rollOuts } = figures(0, (encoder) => {
      for (const name of ['stable-1', 'stable-2']) encoder.put('pods', template(name, 'stable'), 'other', 500);
      encoder.put('pods', template('canary-1', 'old'), 'other', 1000);
      encoder.put('pods', template('canary-2', 'new'), 'other', 2000);
      // Somebody has evicted it, and another one takes its place.
      gone(encoder, 'stable-1', 2100);
      encoder.put('pods', template('stable-3', 'stable'), 'other', 2200);
      gone(encoder, 'canary-1', 3000);
      encoder.put('pods', template('canary-3', 'newer'), 'other', 5000);
      gone(encoder, 'canary-2', 6000);
    });
    assert.deepEqual(spans(rollOuts), ['1 to 3', '5 to 6']);
  });

  it('a roll-out that is rolled back ends with its own last pod', () => {
    const { rollOuts } = figures(0, (encoder) => {
      for (const name of ['a-1', 'a-2']) encoder.put('pods', template(name, 'old'), 'other', 500);
      encoder.put('pods', template('b-1', 'new'), 'other', 1000);
      gone(encoder, 'a-1', 2000);
      encoder.put('pods', template('a-3', 'old'), 'other', 3000);
      gone(encoder, 'b-1', 4000);
    });
    assert.deepEqual(spans(rollOuts), ['1 to 4']);
  });

  it('a pod that leaves and enters a Service by its labels is counted as it does', () => {
    const { rollOuts } = figures(0, (encoder) => {
      const quarantined = pod('a-1', { labels: ['app', 'quarantine', 'pod-template-hash', 'old'] });
      for (const name of ['a-1', 'a-2']) encoder.put('pods', template(name, 'old'), 'other', 500);
      encoder.put('pods', quarantined, 'other', 800);
      encoder.put('pods', template('b-1', 'new'), 'other', 1000);
      gone(encoder, 'a-2', 2000);
      // Somebody lets it serve for a while.
      encoder.put('pods', template('a-1', 'old'), 'other', 3000);
      encoder.put('pods', quarantined, 'other', 4000);
      gone(encoder, 'a-1', 4500);
      encoder.put('pods', template('c-1', 'newer'), 'other', 5000);
      gone(encoder, 'b-1', 6000);
    });
    assert.deepEqual(spans(rollOuts), ['1 to 2', '5 to 6']);
    assert.deepEqual(
      rollOuts.map(({ pods, podChanges }) => [pods, podChanges]),
      [
        [1, 2],
        [1, 2],
      ],
    );
  });

  it('a roll-out is found where pods were listed before Services', () => {
    const file = fileOf((encoder) => {
      encoder.put('pods', template('a-1', 'old'), 'other', 0);
      encoder.put('services', service('web'), 'other', 100);
      for (const resource of RESOURCES) encoder.listed(resource, '1', 100);
      encoder.put('pods', template('b-1', 'new'), 'other', 3000);
      gone(encoder, 'a-1', 5000);
      encoder.tell(10_000, { end: true });
    });
    assert.deepEqual(figuresOf(read(file).events).rollOuts, [
      { namespace: 'shop', service: 'web', pods: 1, fromSeconds: 2.9, toSeconds: 4.9, podChanges: 2 },
    ]);
  });

  it('a pod that has failed and stays holds up no roll-out', () => {
    const { rollOuts } = figures(0, (encoder) => {
      for (const name of ['a-1', 'a-2']) encoder.put('pods', template(name, 'old'), 'other', 500);
      encoder.put('pods', { ...template('a-1', 'old'), phase: 'Failed' }, 'other', 800);
      encoder.put('pods', template('b-1', 'new'), 'other', 1000);
      gone(encoder, 'a-2', 2000);
    });
    assert.deepEqual(spans(rollOuts), ['1 to 2']);
  });

  it('a roll-out ends with its Service', () => {
    const { rollOuts } = figures(0, (encoder) => {
      encoder.put('pods', template('a-1', 'old'), 'other', 500);
      encoder.put('pods', template('b-1', 'new'), 'other', 1000);
      encoder.remove('services', 'shop', 'web', { by: 'other', version: '' }, 4000);
    });
    assert.deepEqual(spans(rollOuts), ['1 to 4']);
  });

  it('what comes before everything is listed is of no time', () => {
    const file = fileOf((encoder) => {
      encoder.put('services', service('web'), 'other', 0);
      encoder.put('pods', template('a-1', 'old'), 'other', 0);
      for (const resource of ['services', 'pods'] as const) encoder.listed(resource, '1', 0);
      encoder.put('pods', template('b-1', 'new'), 'other', 1000);
      gone(encoder, 'a-1', 2000);
      encoder.listing('pods', 1000, 4000);
      encoder.put('pods', template('b-1', 'new'), 'other', 4000);
      encoder.listed('pods', '5', 4000);
      for (const resource of ['nodes', 'endpoints', 'endpointslices'] as const) encoder.listed(resource, '1', 20_000);
      encoder.put('pods', template('c-1', 'newer'), 'other', 25_000);
      gone(encoder, 'b-1', 28_000);
      encoder.tell(30_000, { end: true });
    });
    const { contents, rollOuts } = figuresOf(read(file).events);
    assert.deepEqual([contents.seconds, contents.gaps, spans(rollOuts)], [10, [], ['5 to 8']]);
  });

  it('rates leave out the gaps', () => {
    const { controller, contents } = figures(1, (encoder) => {
      for (let i = 0; i < 5; i++) publishSlice(encoder, ['web-0', `web-${i + 1}`], 500 + i);
      encoder.listing('endpointslices', 8000, 9000);
      publishSlice(encoder, ['web-0'], 9000);
      encoder.listed('endpointslices', '5', 9000);
    });
    assert.deepEqual(contents.gaps, [{ resource: 'endpointslices', fromSeconds: 1, toSeconds: 9 }]);
    const { writes, writesPerSecond } = controller.endpointslices!;
    assert.deepEqual([writes, writesPerSecond], [5, 2.5]);
    // The list after the gap has told one more, of no time that was watched.
    const { changes, watched } = contents.resources.endpointslices;
    assert.deepEqual([changes, watched, watchedSeconds(contents, 'endpointslices')], [6, 5, 2]);
  });

  it('the sizes of Services and the changes of each resource are counted', () => {
    const { services, contents } = figures(120, (encoder) => {
      encoder.put('pods', pod('web-0', { ready: false }), 'other', 5000);
      encoder.tell(6000, { irrelevant: { pods: 7 } });
    });
    assert.deepEqual([services.count, services.max, services.moreThan100], [1, 119, 1]);
    const { objects, changes, irrelevant } = contents.resources.pods;
    assert.deepEqual([objects, changes, irrelevant, contents.seconds], [120, 1, 7, 10]);
  });
});

/** A world at rest: the controller knows what the server has and nothing else, and waits for nothing. */
import assert from 'node:assert/strict';
import type { Sim } from './sim.ts';
import { itemsOf, keyOf, SLICES_PATH } from './sim-objects.ts';
import { allNodes } from '../../src/core/node-table.ts';
import { podAbsence } from '../../src/core/pod-endpoint.ts';
import { allPods, getPod } from '../../src/core/selector-index.ts';
import type { ServiceState } from '../../src/controller/caches/service-state.ts';
import { allServices, allSlices } from '../../src/controller/caches/services.ts';
import { isWanted } from '../../src/controller/caches/unit.ts';
import type { ControllerState } from '../../src/controller/state.ts';
import { isInPlanner } from '../../src/controller/syncs/planner-view.ts';
import { SERVICE_NAME_LABEL, SLICE_MANAGED_BY_LABEL } from '../../src/kube/names.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { OUTPUT_KINDS } from '../../src/shard/protocol.ts';

/** @param told says which world it is, for who reads a failure */
export function checkNothingKept(sim: Sim, told: string): void {
  const { state } = sim.loop!;
  const { options, controllers } = state;
  assert.equal(state.phase, 'running', told);

  const list = (wanted: boolean, path: string): KubeObject[] => (wanted ? itemsOf(sim, path) : []);
  const services = itemsOf(sim, '/api/v1/services');
  const endpoints = list(options.endpoints || options.mirror, '/api/v1/endpoints');
  const pods = list(options.endpoints || options.slices, '/api/v1/pods');
  const needsNodes = options.slices || (options.mirror && options.mirroringZones);
  const nodes = list(needsNodes, '/api/v1/nodes');
  const managers = new Set(controllers.map(({ managedBy }) => managedBy).filter((value) => value !== ''));
  const slices = itemsOf(sim, SLICES_PATH).filter(
    ({ metadata: { labels = {} } }) =>
      managers.has(labels[SLICE_MANAGED_BY_LABEL] ?? '') && (labels[SERVICE_NAME_LABEL] ?? '') !== '',
  );
  const ownerOf = ({ metadata }: KubeObject): string =>
    `${metadata.namespace}/${metadata.labels?.[SERVICE_NAME_LABEL]}`;

  const known = [...allServices(state)];
  const keys = new Set([...[...services, ...endpoints].map(keyOf), ...slices.map(ownerOf)]);
  assert.deepEqual(sorted(known.map(({ namespace, name }) => `${namespace}/${name}`)), sorted(keys), told);
  assert.equal(state.serviceCount, keys.size, `services: ${told}`);
  assert.equal(state.existingServices, services.length, `Services: ${told}`);
  assert.deepEqual(
    sorted(
      known.flatMap(({ endpoints: { record } }) =>
        record === null ? [] : [`${record.namespace}/${record.name} ${record.uid} ${record.resourceVersion}`],
      ),
    ),
    sorted(endpoints.map(versionOf)),
    `endpoints: ${told}`,
  );
  assert.deepEqual(
    sorted(
      [...allSlices(state)].map(
        ({ service, name, record, unit }) =>
          `${service.namespace}/${name} ${record?.uid} ${record?.resourceVersion} ${service.name} ${unit!.controller.managedBy}`,
      ),
    ),
    sorted(
      slices.map(
        (slice) =>
          `${versionOf(slice)} ${slice.metadata.labels![SERVICE_NAME_LABEL]} ${slice.metadata.labels![SLICE_MANAGED_BY_LABEL]}`,
      ),
    ),
    `slices: ${told}`,
  );
  assert.deepEqual(
    sorted([...allPods(state.index)].map((pod) => `${pod.namespace}/${pod.name} ${pod.uid}`)),
    sorted(pods.map(({ metadata }) => `${metadata.namespace}/${metadata.name} ${metadata.uid}`)),
    `pods: ${told}`,
  );
  assert.deepEqual(
    sorted([...allNodes(state.nodes)].map(({ name, resourceVersion }) => `${name} ${resourceVersion}`)),
    sorted(nodes.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)),
    `nodes: ${told}`,
  );

  for (const service of known) {
    const of = `${service.namespace}/${service.name}: ${told}`;
    const wanted = service.units.some(isWanted);
    const { inputs, asked, planning, acks } = service.view;
    assert.deepEqual({ asked, planning, acks }, { asked: [], planning: [], acks: null }, of);
    assert.equal(inputs !== 'none', wanted, of);
    if (typeof inputs === 'object') {
      const { specChanged, changedPods } = inputs;
      assert.equal(specChanged, false, of);
      // The next plan reads what has changed of pods that have no place.
      const placed = [...(changedPods ?? [])].filter((name) => {
        const pod = getPod(state.index, service.namespace, name);
        return pod === undefined || podAbsence(pod, true) === null;
      });
      assert.deepEqual(placed, [], of);
    }
    for (const kind of OUTPUT_KINDS) assert.equal(typeof service.view[kind], 'string', `news of ${kind}: ${of}`);
    const { open, held, expected } = service.endpoints;
    assert.deepEqual({ open, held, expected }, { open: 0, held: null, expected: null }, of);
    // Of what is not planned doubts may stay: they are settled should it be planned again.
    if (wanted) assert.equal(service.batchesLost, 0, of);
    for (const unit of service.units) {
      const { sync, listingSlices, changedAtMs, failures } = unit;
      if (isWanted(unit)) {
        for (const kind of unit.controller.needs) {
          assert.notEqual(service.view[kind], 'uncertain', `${unit.controller.name} ${of}`);
        }
      }
      assert.deepEqual(
        { sync, listingSlices, changedAtMs, failures },
        { sync: null, listingSlices: false, changedAtMs: -1, failures: 0 },
        `${unit.controller.name} ${of}`,
      );
      const { item } = unit;
      assert.deepEqual(
        [item.waiting, item.processing, item.freshDueMs, item.choreDueMs],
        [null, null, Infinity, Infinity],
        `work of ${unit.controller.name} ${of}`,
      );
      for (const slice of unit.slices?.values() ?? []) {
        assert.deepEqual(
          { open: slice.open, held: slice.held, expected: slice.expected },
          { open: 0, held: null, expected: null },
          `${slice.name} of ${of}`,
        );
      }
      assert.equal(unit.facts !== undefined, isWanted(unit), `facts of ${unit.controller.name} ${of}`);
    }
  }

  checkIndexes(state, known, told);

  const reflectors =
    Number(options.endpoints || options.mirror) +
    Number(options.slices || options.mirror) +
    Number(needsNodes) +
    Number(options.endpoints || options.slices) +
    1;
  assert.deepEqual(
    [...state.outbox.requests.values()].map((purpose) => purpose.for),
    Array(reflectors).fill('reflector'),
    told,
  );
  for (const { stuck } of controllers) assert.equal(stuck.size, 0, `stuck: ${told}`);
  assert.equal(state.replan.lingering.size, 0, `lingering: ${told}`);
  assert.equal(state.echoesExpected, 0, `echoes: ${told}`);
  assert.equal(state.writes.inFlight, 0, `writes: ${told}`);
  assert.equal(state.writes.inFlightOf.size, 0, `namespaces of writes: ${told}`);
  state.shards.forEach(({ inFlight, queued, suspects, view }, index) => {
    const left = {
      batches: inFlight.size,
      queued: queued.length,
      suspects: suspects.length,
      toForget: view.toForget.size,
    };
    assert.deepEqual(left, { batches: 0, queued: 0, suspects: 0, toForget: 0 }, `shard ${index}: ${told}`);
    assert.deepEqual(
      sorted(sim.planner(index).services.keys()),
      sorted(known.filter((s) => s.shard === index && isInPlanner(s.view)).map((s) => `${s.namespace}/${s.name}`)),
      `the planner of shard ${index}: ${told}`,
    );
  });
}

/** What is found by a label, a node or a slice's name belongs to a pod or a Service that is there. */
function checkIndexes(state: ControllerState, known: readonly ServiceState[], told: string): void {
  const { index, nodes, replan, controllers } = state;
  for (const { name, pods, serviceCount, groups } of index.namespaces.values()) {
    assert.ok(pods.size + serviceCount > 0, `namespace ${name}: ${told}`);
    const inUse = new Set([...pods.values()].map(({ group }) => group));
    for (const first of groups.values()) {
      for (let group: typeof first | null = first; group !== null; group = group.next) {
        assert.ok(inUse.has(group), `labels ${group.labels.join()} of ${name}: ${told}`);
      }
    }
  }
  const followed = controllers.some(({ followsNodes }) => followsNodes) ? [...allPods(index)] : [];
  const places = new Set(followed.map(({ nodeName }) => nodeName).filter((name) => name !== ''));
  assert.deepEqual(sorted(nodes.podsByNode.keys()), sorted(places), `nodes of pods: ${told}`);
  const units = new Set(known.flatMap((service) => service.units));
  for (const some of [replan.hinted, replan.unhinted, ...replan.mirrorsByNode.values()]) {
    for (const unit of some) assert.ok(units.has(unit), `a unit of ${unit.service.name} that is gone: ${told}`);
  }
  const listed = known.flatMap((service) => service.units).reduce((sum, { slices }) => sum + (slices?.size ?? 0), 0);
  assert.equal([...allSlices(state)].length, listed, `slices of units: ${told}`);
  assert.equal(state.conflicted.size, 0, `conflicts: ${told}`);
}

function versionOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`;
}

function sorted(texts: Iterable<string>): string[] {
  return [...texts].toSorted();
}

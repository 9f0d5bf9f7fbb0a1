/**
 * Upstream's tests of slices and mirroring (docs/spec/endpointslice.md "Upstream's tests"), and where the same cases
 * are here. Those of Endpoints name themselves in test/scenarios/upstream.test.ts.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runningTests } from './support/test-titles.ts';

/** Upstream's name, with the case; a file below test/, and a piece of a title in it (or, in tables, of the case). */
type Row = readonly [upstream: string, file: string, title: string];

const PLAN = 'core/slices/plan.test.ts';
const SERVICE = 'core/slices/service-slices.test.ts';
const OBJECT = 'core/slices/slice-object.test.ts';
const LABELS = 'core/slices/slice-labels.test.ts';
const POD = 'core/slices/pod-endpoints.test.ts';
const AUTO = 'core/slices/topology-hints.test.ts';
const SHARES = 'core/slices/zone-shares.test.ts';
const TRAFFIC = 'core/slices/traffic-distribution.test.ts';
const HINTS = 'core/slices/plan-hints.test.ts';
const ACKS = 'shard/slices-output.test.ts';
const RACES = 'scenarios/slices-races.test.ts';
const TIMES = 'core/trigger-time.test.ts';
const MIRROR = 'core/mirroring/plan.test.ts';
const RECYCLE = 'core/mirroring/recycle.test.ts';
const MIRRORED = 'core/mirroring/metadata.test.ts';
const IN_SIM = 'scenarios/slices.test.ts';
const OWNED = 'scenarios/slices-ownership.test.ts';
const TOPOLOGY = 'scenarios/topology.test.ts';
const METRICS = 'scenarios/metrics.test.ts';
const MIRRORING = 'scenarios/mirroring.test.ts';
const SHARED = 'scenarios/upstream.test.ts';

const RECONCILER: readonly Row[] = [
  ['TestReconcileEmpty', PLAN, 'P12: without pods there is a placeholder'],
  ['TestReconcile1Pod', POD, 'a pod has one endpoint for each family, with all known fields and no others'],
  ['TestReconcile1Pod: dual stack', OBJECT, 'each family has a slice, IPv4 first'],
  ['TestReconcile1EndpointSlice: missing', PLAN, 'P12: without pods there is a placeholder'],
  ['TestReconcile1EndpointSlice: same', PLAN, 'P13: a right placeholder stays'],
  ['TestReconcile1EndpointSlice: different', PLAN, 'P14: an empty slice with other labels becomes the placeholder'],
  ['TestPlaceHolderSliceCompare', OBJECT, 'annotations and a creation time'],
  [
    'TestReconcile1EndpointSlicePublishNotReadyAddresses',
    SERVICE,
    'with publishNotReadyAddresses all pods are ready, though a third is not',
  ],
  ['TestReconcileManyPods', PLAN, 'P1: '],
  ['TestReconcileEndpointSlicesSomePreexisting', PLAN, 'P2: '],
  ['TestReconcileEndpointSlicesSomePreexistingWorseAllocation', PLAN, 'P3: '],
  ['TestReconcileEndpointSlicesUpdating', PLAN, 'P4: '],
  ['TestReconcileEndpointSlicesServicesLabelsUpdating', PLAN, 'P19: '],
  ['TestReconcileEndpointSlicesServicesReservedLabels', PLAN, 'P20: '],
  ['TestReconcileEndpointSlicesRecycling: nothing', PLAN, 'P5: '],
  ['TestReconcileEndpointSlicesRecycling: other ports', PLAN, 'P6: '],
  ['TestReconcileEndpointSlicesUpdatePacking', PLAN, 'P7: '],
  ['TestReconcileEndpointSlicesReplaceDeprecated', PLAN, 'P8: '],
  ['TestReconcileEndpointSlicesRecreation', PLAN, 'P9: '],
  ['TestReconcileEndpointSlicesNamedPorts', PLAN, 'P10: '],
  ['TestReconcileMaxEndpointsPerSlice', PLAN, 'P11: '],
  [
    'TestReconcileEndpointSlicesMetrics',
    METRICS,
    'metrics after a start count existing slices, both families together (D6)',
  ],
  ['TestReconcileEndpointSlicesMetrics_EndpointsAddedPerSync', METRICS, 'follow a node that appears'],
  ['TestReconcileEndpointSlicesMetrics_EndpointsRemovedPerSync', METRICS, 'follow a pod that leaves'],
  [
    'TestReconcileEndpointSlicesMetrics_GaugeUpdates',
    METRICS,
    'metrics forget a deleted Service, and the slices mirrored for one',
  ],
  ['TestReconcilerFinalizeSvcDeletionTimestamp: create', PLAN, 'P22: '],
  ['TestReconcilerFinalizeSvcDeletionTimestamp: recycle', PLAN, 'P23: '],
  [
    'TestReconcilerFinalizeSvcDeletionTimestamp: the rest',
    SERVICE,
    'slices of a deleted service stay right, and what does not fit waits',
  ],
  ['TestReconcilerPodMissingNode: all', PLAN, 'P16: '],
  ['TestReconcilerPodMissingNode: one', PLAN, 'P17: '],
  ['TestReconcilerPodMissingNode: publishNotReady', PLAN, 'P18: '],
  ['TestReconcileTopology: enabled, disabled', HINTS, 'hints follow Auto as it is switched on and off'],
  ['TestReconcileTopology: no cache', HINTS, 'Auto without shares gives no hints, and the reason'],
  [
    'TestReconcileTopology: beyond the threshold',
    HINTS,
    'Auto writes only slices whose hints new shares make impossible',
  ],
  ['TestReconcile_TrafficDistribution', HINTS, 'trafficDistribution ${'],
  ['TestReconcile_TrafficDistribution: annotation', HINTS, 'the annotation has precedence over trafficDistribution'],
  ['TestReconcileHeadlessServiceNoPorts', PLAN, 'P21: '],
];

const UTILS: readonly Row[] = [
  ['TestNewEndpointSlice', OBJECT, 'a new slice'],
  [
    'TestNewEndpointSlice: annotations',
    OBJECT,
    "without a trigger time a slice has no annotation, not even the service's",
  ],
  ['TestPodToEndpoint', POD, 'conditions: ${'],
  ['TestPodToEndpoint: node', POD, 'an absent zone or node is left out'],
  ['TestPodToEndpoint: hostname', POD, 'a hostname counts in the service that is its subdomain'],
  [
    'TestServiceControllerKey: no label',
    OWNED,
    'a slice without its service-name label is nobody’s: the service gets another',
  ],
  ['TestGetEndpointPorts', 'core/slices/slice-ports.test.ts', 'a number, whatever the pod offers'],
  ['TestGetEndpointPorts: appProtocol', 'core/slices/slice-ports.test.ts', 'an empty appProtocol is one'],
  ['TestSetEndpointSliceLabels', LABELS, 'its own in place of the same ones of the service'],
  ['TestSetEndpointSliceLabels: the change flag', LABELS, 'headless missing or too much, which alone is no reason'],
  ['TestSupportedServiceAddressType', 'core/slices/slice-families.test.ts', 'none, headless: both'],
  ['Test_hintsEnabled', TRAFFIC, 'two spellings of Auto count, under either annotation'],
  ['Test_hintsEnabled: precedence', TRAFFIC, 'the deprecated one decides'],
  ['TestFindPort', 'core/target-port.test.ts', 'the protocol must match too'],
  ['TestFindPort: restartable init containers', 'kube/project.test.ts', "restartPolicy: 'Always'"],
  ['TestShouldPodBeInEndpoints', 'core/pod-endpoint.test.ts', 'pod is absent, whatever its other fields are'],
  ['TestShouldSetHostname', 'core/pod-endpoint.test.ts', 'hostname: ${'],
  ['TestGetPodServicesToUpdate', 'core/selector-index.test.ts', 'a pod has the services whose selectors'],
  ['TestDetermineNeededServiceUpdates', SHARED, 'TestDetermineNeededServiceUpdates'],
  ['Test_podChanged', SHARED, 'Test_podChanged'],
  ['TestEndpointsEqualBeyondHash', 'core/slices/endpoint-identity.test.ts', 'an equal copy'],
  ['TestDeepHashObject, TestDeepObjectPointer', 'core/slices/port-map-key.test.ts', 'the order does not matter'],
  ['TestNewPortMapKey_NilVsEmptySlice', 'core/slices/port-map-key.test.ts', 'null is an empty list'],
];

const HINTS_AND_CACHES: readonly Row[] = [
  ['TestAddHints: no shares', AUTO, 'no slices and no shares are a failure'],
  ['TestAddHints: too few', AUTO, 'two endpoints are too few for three zones'],
  ['TestAddHints: two zones', AUTO, 'two endpoints in two zones each serve their own'],
  ['TestAddHints: unready, unknown', AUTO, 'endpoints that are not ready are not counted'],
  ['TestAddHints: several slices', AUTO, 'slices of a,a,c,c and a,a,b,b,b'],
  ['TestSetNodes', SHARES, 'a node that is not ready does not make its zone count'],
  ['TestSetNodes: three zones', SHARES, 'three zones have shares of 5000 m, 4500 m and 500 m'],
  [
    'Test_getTotalReadyEndpoints',
    'core/slices/hint-summary.test.ts',
    'only endpoints with the condition ready count as ready',
  ],
  ['Test_redistributeHints', AUTO, 'one zone may give to two'],
  ['Test_getGivingAndReceivingZones', AUTO, 'an endpoint rather serves its own zone than a slightly better share'],
  ['Test_getHintsByZone', AUTO, 'possible hints stay, and only missing ones are given'],
  ['Test_checkNodeTopologyDistribution', SHARES, 'of two halves, a zone is overloaded from six to four on'],
  ['TestUpdateNode', 'core/node-table.test.ts', 'a zone label that comes later makes hints possible'],
  ['TestReconcileHints', TRAFFIC, 'each ready endpoint serves its own zone'],
  ['TestReconcileHints: wrong hints', TRAFFIC, 'wrong hints are corrected, and right ones stay'],
  ['TestReconcileHints: no zones', TRAFFIC, 'without zone and node an endpoint has no hints object'],
  ['TestReconcileHints: node hints alone', TRAFFIC, 'on a node without zone an endpoint has a node hint alone'],
  ['TestReconcileHints: not ready', TRAFFIC, 'a slice is not written for hints of endpoints that are not ready'],
  ['TestReconcileHints: unset', TRAFFIC, 'an unset or unknown trafficDistribution removes all hints'],
  [
    'TestReconcileHints_doesNotMutateUnchangedSlices',
    TRAFFIC,
    'the stored slice and its right endpoints stay as they are',
  ],
  // No generations are tracked here: the reply of a write says what the server holds.
  ['TestEndpointSliceTrackerUpdate', ACKS, 'ack applied: nothing is left to do'],
  [
    'TestEndpointSliceTrackerStaleSlices',
    RACES,
    'a lagging watch tells nothing new of a slice that was written and deleted',
  ],
  ['TestEndpointSliceTrackerDeletion', ACKS, 'after the ack of a delete the slice is gone'],
  [
    'TestEndpointSliceTrackerDeleteService',
    OWNED,
    'a Service made anew gets slices of its own, and the old ones go (D1, D2, D3)',
  ],
  ['TestNewServiceNoPods', TIMES, 'a new service without pods has its creation as the trigger time'],
  ['TestNewServiceExistingPods', TIMES, 'a new service with pods has its creation as the trigger time'],
  ['TestPodsAdded', TIMES, 'added pods: the earliest is the trigger time'],
  ['TestPodsUpdated', TIMES, 'a pod that changed gives the trigger time'],
  ['TestPodsUpdatedNoOp', TIMES, 'without a change there is no trigger time'],
  ['TestPodDeletedThenAdded', TIMES, 'a pod that went and came again gives its time again'],
  ['TestServiceDeletedThenAdded', TIMES, 'a service deleted and made again has its new creation'],
  ['TestServiceUpdatedNoPodChange', TIMES, 'a change of the service alone gives no trigger time'],
  ['TestNumEndpointsAndSlices', SERVICE, 'facts: each port group has its own fewest slices'],
  ['TestPlaceHolderSlice', SERVICE, 'facts: each port group has its own fewest slices, and a service at least one'],
  ['TestCache_ServicesByTrafficDistribution', METRICS, 'services_count_by_traffic_distribution'],
];

const CONTROLLER: readonly Row[] = [
  ['TestSyncServiceNoSelector, TestSyncServiceExternalNameType', SERVICE, 'the slices stay untouched'],
  ['TestSyncServicePendingDeletion', PLAN, 'P22: '],
  ['TestSyncServiceWithSelector', IN_SIM, "a slice is controlled by its Service, labelled and dated as upstream's"],
  ['TestSyncServiceMissing', METRICS, 'metrics forget a deleted Service, and the slices mirrored for one'],
  ['TestSyncServicePodSelection', 'core/selector-index.test.ts', 'a value of another key is no match'],
  ['TestSyncServiceEndpointSlicePendingDeletion', SERVICE, 'a slice with a deletionTimestamp counts as gone (#108779)'],
  ['TestSyncServiceEndpointSliceLabelSelection', OWNED, 'never touched, before, during and after'],
  ['TestOnEndpointSliceUpdate', OWNED, 'a slice with another managed-by label is not ours, another one is made (D4)'],
  ['TestSyncService: families', IN_SIM, 'has slices of each'],
  ['TestSyncService: one IP on two pods', SERVICE, 'two pods with one address are two endpoints'],
  ['TestPodAddsBatching, TestPodUpdatesBatching, TestPodDeleteBatching', SHARED, 'batching of pod events'],
  ['TestSyncServiceStaleInformer', RACES, 'a lagging watch tells nothing new of a slice that was written and deleted'],
  ['Test_dropEndpointSlicesPendingDeletion', OWNED, 'a deleted slice that a finalizer holds counts as gone (D11)'],
];

const MIRRORING_CONTROLLER: readonly Row[] = [
  ['TestReconcile: empty', MIRROR, 'no subsets: no slices'],
  ['TestReconcile: ports and addresses', MIRROR, 'two subsets, another port and another address: two slices'],
  ['TestReconcile: pending deletion', MIRROR, 'Endpoints that are being deleted get no new slices'],
  ['TestReconcile: identical', MIRROR, 'a slice that is right is left alone'],
  ['TestReconcile: another owner', MIRROR, 'a slice of other Endpoints of that name is written once'],
  ['TestReconcile: annotations', MIRROR, 'a slice with an annotation more is written once'],
  ['TestReconcile: labels', MIRROR, 'a label more on the Endpoints: one update'],
  ['TestReconcile: ready and not ready', MIRROR, 'ready and not ready'],
  ['TestReconcile: existing empty', MIRROR, 'an empty slice is filled'],
  ['TestReconcile: existing partial', MIRROR, 'a slice with some of the addresses is completed'],
  ['TestReconcile: dual stack', MIRROR, 'IPv4 and IPv6 addresses of one subset are two slices'],
  ['TestReconcile: some invalid', MIRROR, 'some invalid addresses are left out'],
  ['TestReconcile: all invalid', MIRROR, 'invalid addresses alone: nothing is written'],
  ['TestReconcile: over the limit', MIRROR, 'the limit is for each subset'],
  ['TestReconcile: last-applied-configuration', MIRRORED, 'last-applied-configuration beside the same annotations'],
  [
    'TestSyncEndpoints: skip label',
    MIRRORING,
    'Endpoints labelled skip-mirror=true, exactly, lose their slices, and back',
  ],
  ['TestSyncEndpoints: Service missing', MIRRORING, 'without a Service wait for it, and lose their slices with it'],
  [
    'TestSyncEndpoints: with selector',
    MIRRORING,
    'planned slices replace the mirrored ones of a Service that gets a selector',
  ],
  ['TestSyncEndpoints: 1000 addresses', MIRROR, '1,000 addresses are one slice'],
  ['TestSyncEndpoints: 1001 addresses', MIRROR, 'of 1,001 addresses 1,000 are mirrored, and there is one event'],
  ['TestShouldMirror', 'core/mirroring/mirrored.test.ts', 'the label counts to the letter'],
  [
    'TestEndpointSlicesMirroredForService',
    'scenarios/slices-ownership.test.ts',
    'never touched, before, during and after',
  ],
  ['TestRecycleSlices', RECYCLE, 'the one that has most of them'],
  ['TestRecycleSlices: one per IP family', MIRROR, 'with creates of both families pending each recycles'],
  ['TestNewEndpointSlice', MIRROR, 'a new slice is whole'],
];

const CLUSTER: readonly Row[] = [
  ['TestEndpointSliceMirroring', MIRRORING, 'become a slice that names their makers, labels and annotations'],
  ['TestEndpointSliceMirroringUpdates', MIRRORING, 'a slice follows every edit of its Endpoints, by one write each'],
  ['TestEndpointSliceMirroringSelectorTransition', MIRRORING, 'planned slices replace the mirrored'],
  ['TestEndpointSliceTerminating', IN_SIM, 'termination shows in the conditions, and later flips are free (D28)'],
  [
    'TestEndpointsControllersLabelSemantics',
    IN_SIM,
    "every slice has the service's labels but reserved ones, and loses them too",
  ],
  ['TestEndpointsHeadlessLabel', LABELS, 'no headless label because the service has one'],
  ['rapid re-creation of a Service', OWNED, 'a Service that is deleted and made again at once'],
  ['e2e: create and delete for a selector without pods', IN_SIM, 'without pods has an empty slice'],
  [
    'e2e: a named port with two numbers',
    IN_SIM,
    'pods with different numbers for a named port are in slices by number',
  ],
  [
    'e2e: re-created after manual deletion',
    OWNED,
    'a deleted slice is made again (D39), also one not written since the start (D5)',
  ],
  ['e2e: pointing to the API server', OWNED, 'never touched, before, during and after'],
  ['e2e: mirror a custom Endpoints', MIRRORING, 'a slice follows every edit of its Endpoints, by one write each'],
  ['e2e: custom Endpoints with several subsets', MIRROR, 'two subsets, another port, the same address: one slice'],
  ['e2e: topology hints', TOPOLOGY, 'come with enough endpoints, are told once'],
  ['e2e: traffic distribution', TOPOLOGY, 'hints by trafficDistribution'],
];

const ALL = [...RECONCILER, ...UTILS, ...HINTS_AND_CACHES, ...CONTROLLER, ...MIRRORING_CONTROLLER, ...CLUSTER];

test('the tests that stand for those of upstream exist', () => {
  const texts = new Map<string, string>();
  const missing = ALL.filter(([, file, title]) => {
    let text = texts.get(file);
    if (text === undefined)
      texts.set(file, (text = runningTests(readFileSync(join(import.meta.dirname, file), 'utf8'))));
    return !text.includes(title);
  });
  assert.deepEqual(missing, []);
});

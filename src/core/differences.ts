/**
 * Where these controllers differ on purpose from those of kube-controller-manager 1.36. Where they do not differ,
 * although upstream's users complain. And what upstream has mended meanwhile.
 */
import type { Problem } from './problem.ts';

export interface UpstreamDifference {
  readonly id: string;
  readonly title: string;
  readonly upstream: string;
  readonly ours: string;
  /** What upstream's users and developers have written of it: numbers of issues of kubernetes/kubernetes. */
  readonly reports: readonly string[];
  /** Titles of sections of docs/spec/endpoints.md; for slices and mirrored slices, of docs/spec/endpointslice.md. */
  readonly rules: readonly string[];
  /** D1 to D41 of docs/spec/endpointslice.md "Known defects". */
  readonly defects: readonly string[];
  /** The test that shows the difference, as `<file>: <title>`; the file is relative to `test/`. */
  readonly shownBy: string;
  /** A second test, where the first shows only a part. */
  readonly alsoShownBy?: string;
  /**
   * What shows the difference in an object that upstream has written. Most differences show only while something
   * happens, so they have no sign.
   */
  readonly sign?: Sign;
}

/** Every field that is given must hold. */
export interface Sign {
  /**
   * The field as `patternOf` of src/verify writes it, such as `endpoints[*].zone`. If it ends in `*]`, it stands for
   * all keys.
   */
  readonly field?: string;
  /** Whether the field is not stored, not planned, or stored with another value. */
  readonly is?: 'missing' | 'extra' | 'other';
  /** The value that is planned. */
  readonly planned?: string;
  /** Text that the planned value does not contain. */
  readonly without?: string;
  /** The planner has told of a problem of this kind. */
  readonly problem?: Problem['kind'];
  /** The pod of the endpoint has ended. */
  readonly podEnded?: true;
  /** The last writer of the object is neither kube-controller-manager nor endpointd. */
  readonly writtenByOther?: true;
}

export const ENDPOINTS_DIFFERENCES: readonly UpstreamDifference[] = [
  {
    id: 'bad-pod-ip',
    title: 'A pod IP that the API server would reject',
    upstream: 'is written (as "<nil>" when it is no address), and the whole object is refused until the pod is gone',
    ours: 'is left out and reported; all other addresses are written',
    reports: ['#109152'],
    rules: ['Address and family', 'What the API server validates', 'Defects: robustness'],
    defects: [],
    shownBy:
      'scenarios/hostile.test.ts: invalid addresses are left out and named, and the others of the service written',
    sign: { problem: 'bad-address' },
  },
  {
    id: 'empty-node-name',
    title: 'A pod with an IP but without a node',
    upstream: 'gets nodeName "", and the whole object is refused',
    ours: 'gets no nodeName',
    reports: [],
    rules: ['Address and family', 'What the API server validates', 'Defects: robustness'],
    defects: [],
    shownBy: 'core/pod-endpoint.test.ts: an invalid node or hostname is left out, and the address is written',
    sign: { field: 'subsets.addresses[*]', is: 'missing', without: 'nodeName=' },
  },
  {
    id: 'bad-host-or-node-name',
    title: 'A hostname or nodeName that the API server would reject',
    upstream: 'is written, and the whole object is refused',
    ours: 'is left out and reported; the address stays',
    reports: [],
    rules: ['What the API server validates'],
    defects: [],
    shownBy: 'core/pod-endpoint.test.ts: an invalid node or hostname is left out, and the address is written',
  },
  {
    id: 'empty-subset',
    title: 'A subset that truncation leaves without an address',
    upstream: 'is written, and the whole object is refused',
    ours: 'is left out',
    reports: [],
    rules: ['Over capacity', 'Defects: cost'],
    defects: [],
    shownBy:
      'core/endpoints/over-capacity.test.ts: there are at most 1,000, no subset is empty, and ready addresses come first',
  },
  {
    id: 'truncated-no-op',
    title: 'A service over 1,000 addresses whose object is right',
    upstream: 'is written at every sync, as the untruncated addresses are compared',
    ours: 'is left alone: addresses are compared after truncation',
    reports: ['#127370'],
    rules: ['When nothing is written', 'Defects: cost'],
    defects: [],
    shownBy:
      'scenarios/hostile.test.ts: of more pods than an object may hold 1,000 are written, and the rest is counted',
  },
  {
    id: 'many-subsets',
    title:
      'A Service whose named ports have numbers that differ from pod to pod, so that its subsets have more than 250,000 addresses, each pod counted once for each group of ports that it is in',
    upstream: 'lays all of them out with every change, and cuts them to 1,000 then',
    ours: 'is named as stuck; nothing is laid out, and no other Service waits',
    reports: [],
    rules: ['Over capacity', 'Defects: cost'],
    defects: [],
    shownBy: 'shard/planner.test.ts: subsets of too many addresses fail alone, and what is known stays',
  },
  {
    id: 'etcd-restore',
    title: 'An etcd that is restored from a backup under a controller that runs',
    upstream: 'stays unseen by a watch that goes on from a version which the restored etcd has not reached again',
    ours: 'is found by the version of a consistent list, or of an own write; the caches are replaced',
    reports: ['etcd, "Disaster recovery"'],
    rules: [],
    defects: [],
    shownBy: 'scenarios/history.test.ts: history that goes back is told once for each resource, with both versions',
  },
  {
    id: 'reserved-service-labels',
    title: 'A Service that carries the headless or the managed-by label itself',
    upstream: 'causes a PUT at every sync',
    ours: 'is compared like any other: the desired labels with the stored ones, exactly',
    reports: [],
    rules: ['Labels', 'Defects: cost'],
    defects: [],
    shownBy: 'core/endpoints/plan.test.ts: a service that carries the reserved labels itself',
  },
  {
    id: 'headless-label',
    title: 'An object with a wrong headless label',
    upstream: 'keeps it until something else forces a write',
    ours: 'is repaired',
    reports: [],
    rules: ['Labels', 'Defects: cost'],
    defects: [],
    shownBy: 'core/endpoints/plan.test.ts: a headless label that is wrong',
    sign: { field: 'metadata.labels[service.kubernetes.io/headless]' },
  },
  {
    id: 'managed-by-label',
    title: 'An object of kube-controller-manager before 1.33',
    upstream: 'has no label endpoints.kubernetes.io/managed-by, which 1.33 gives to it with its first sync',
    ours: 'gets it with its first sync, one write an object',
    reports: [],
    rules: ['Labels'],
    defects: [],
    shownBy: 'verify/listed-difference.test.ts: the label of 1.33 on an older object is a listed difference',
    sign: {
      field: 'metadata.labels[endpoints.kubernetes.io/managed-by]',
      is: 'missing',
      planned: 'endpoint-controller',
    },
  },
  {
    id: 'trigger-time-retry',
    title: 'The trigger time after a write that failed',
    upstream: 'is lost: the retry removes the annotation',
    ours: 'is kept until a write succeeded or was not needed',
    reports: [],
    rules: ['Trigger time', 'Defects: robustness'],
    defects: [],
    shownBy:
      'scenarios/annotations.test.ts: the trigger time of a failed write is told by the next write that succeeds',
  },
  {
    id: 'trigger-time-forgotten',
    title:
      'The trigger time of a Service that was an ExternalName for a while, and after the loss of a thread of a shard',
    upstream: 'goes on: the next write has the time of the pod that changed',
    ours: 'begins anew: the next write has the creation time of the Service, as the first one after a restart of either program',
    reports: [],
    rules: ['Trigger time'],
    defects: [],
    shownBy:
      'scenarios/annotations.test.ts: the trigger time begins anew with a planner that has forgotten the service',
  },
  {
    id: 'trigger-time-unseen',
    title: 'A pod that was unready and is ready again, all of it while the watch was down',
    upstream: 'is told by the next write, whichever pod that one is for',
    ours: 'counts as told with the list, which shows that nothing is to be written',
    reports: [],
    rules: ['Pod events', 'Trigger time'],
    defects: [],
    shownBy: 'scenarios/annotations.test.ts: a transition that changes no address is not the cause of a later write',
  },
  {
    id: 'pod-phase',
    title: 'A pod that turns Failed or Succeeded without any other change',
    upstream: 'stays listed until the next event',
    ours: 'leaves at once',
    reports: [],
    rules: ['Defects: stale or wrong'],
    defects: [],
    shownBy: 'scenarios/upstream.test.ts: its end: one',
    sign: { field: 'subsets.addresses[*]', is: 'extra', podEnded: true },
  },
  {
    id: 'foreign-edits',
    title: 'Somebody else edits the object',
    upstream: 'is not noticed until the next sync for another reason',
    ours: 'is repaired within a second; while it happens again without a quiet minute, after twice the wait each time, 30 s at most',
    reports: ['#89679', '#117193'],
    rules: ['Defects: stale or wrong', 'Defects: robustness'],
    defects: [],
    shownBy: 'scenarios/fights.test.ts: the object is repaired within a second, later after half a minute at most',
    sign: { writtenByOther: true },
  },
  {
    id: 'repeated-deletions',
    title: 'Somebody else deletes the object again and again',
    upstream: 'is answered every time at once',
    ours: 'is repaired at once, then after 1.8 s and twice the wait each time, 10 s at most, until there was a quiet minute',
    reports: [],
    rules: ['Defects: stale or wrong'],
    defects: [],
    shownBy: 'scenarios/fights.test.ts: deleted Endpoints are made again at once, then ever later, up to ten seconds',
  },
  {
    id: 'never-dropped',
    title: 'A service whose sync fails 16 times',
    upstream: 'is dropped until the next event or resync',
    ours: 'is tried again for ever, backing off by the class of the error (5 s after a 403, 30 s after a 422, up to 5 minutes) unless its inputs change, and is shown in a metric and an event',
    reports: ['#47796'],
    rules: ['The work queue', 'Defects: stale or wrong'],
    defects: [],
    shownBy: 'scenarios/writes.test.ts: a lasting refusal makes the service stuck, is told once, and delays no other',
  },
  {
    id: 'own-writes',
    title: 'The cache has not caught up with an own write',
    upstream: 'is an error that backs off and counts as a failure',
    ours: 'does not matter: the reply to the write says what the server holds',
    reports: ['#125638', '#126578'],
    rules: ['The stale-cache tracker', 'Defects: stale or wrong'],
    defects: [],
    shownBy: 'scenarios/upstream.test.ts: TestMultiplePodChanges: an unseen own write does not lead to another',
  },
  {
    id: 'sweep',
    title: 'Endpoints without a Service',
    upstream:
      'are deleted at start, whoever made them, unless they carry the leader annotation. Those that come later stay',
    ours: 'are deleted only if labelled as managed by this controller and the server confirms that there is no Service: at start, and a minute after they have come',
    reports: ['#57794', '#78933', '#104062'],
    rules: ['The sweep at start', 'Defects: deleting too much'],
    defects: [],
    shownBy: 'scenarios/ownership.test.ts: own Endpoints without a Service are deleted after the start',
  },
  {
    id: 'delete-calls',
    title: 'A Service is deleted',
    upstream: 'two DELETE calls are sent, which usually find nothing',
    ours: 'a DELETE is sent only for an object that is known to exist, with its uid and resourceVersion',
    reports: [],
    rules: ['Deletes', 'Defects: deleting too much'],
    defects: [],
    shownBy: 'scenarios/races.test.ts: Services that go away during a sync leave nothing behind, and cost no delete',
  },
  {
    id: 'conflict-events',
    title: 'A write meets a conflict or an object that exists already',
    upstream: 'records a warning event',
    ours: 'records none: it is settled by reading the object',
    reports: ['#89679'],
    rules: ['Errors', 'Events', 'Defects: robustness'],
    defects: [],
    shownBy: 'scenarios/writes.test.ts: a conflict is no Event object: the object is read, then written',
  },
  {
    id: 'unanswered-events',
    title: 'A write has no answer, or is turned away with 429',
    upstream: 'records a warning event at each try, for slices as well',
    ours: 'records none, because that is one more write to a server in trouble; a Service that stays behind has one event as a stuck one',
    reports: [],
    rules: ['Errors', 'Events'],
    defects: [],
    shownBy: 'scenarios/writes.test.ts: a lost reply to a create leaves one object, and no Event object',
  },
  {
    id: 'event-namespace',
    title: 'The event of a failed create',
    upstream: 'lands in the namespace default',
    ours: 'is in the namespace of the service',
    reports: [],
    rules: ['Events', 'Defects: robustness'],
    defects: [],
    shownBy:
      'controller/reports/event-recorder.test.ts: the first event of its kind is created, in the namespace of the service',
  },
  {
    id: 'tolerate-unready',
    title: 'The annotation service.alpha.kubernetes.io/tolerate-unready-endpoints',
    upstream: 'is ignored since 1.24',
    ours: 'is ignored too, unless a flag asks to honour it',
    reports: ['#108020'],
    rules: ['Readiness'],
    defects: [],
    shownBy:
      'scenarios/annotations.test.ts: with the flag the annotation overrides publishNotReadyAddresses, both ways',
  },
];

export const SLICES_DIFFERENCES: readonly UpstreamDifference[] = [
  {
    id: 'slices-own-writes',
    title: 'An own write that the cache does not show yet, or whose delete it has missed',
    upstream: 'fails the sync as stale, waits for seconds, and after a quick re-creation of the Service fails for ever',
    ours: 'does not matter: the reply says what the server holds, and a slice is known by its uid',
    reports: ['#141592', '#141593', '#92928', '#99345'],
    rules: ['The slice tracker'],
    defects: ['D1'],
    shownBy:
      'scenarios/slices-ownership.test.ts: a Service made anew gets slices of its own, and the old ones go (D1, D2, D3)',
  },
  {
    id: 'slices-recreated-service',
    title: 'A Service that is deleted and made again while its old slices are still there',
    upstream: 'may keep an empty slice of its predecessor, which the garbage collector then takes away',
    ours: 'gets slices of its own: those with another owner are not its own',
    reports: ['#141593'],
    rules: ['The placeholder'],
    defects: ['D2'],
    shownBy:
      'scenarios/slices-ownership.test.ts: a Service made anew gets slices of its own, and the old ones go (D1, D2, D3)',
  },
  {
    id: 'slices-delete-gone',
    title: 'A slice to be deleted that is gone already',
    upstream: 'is a failure with an event and up to 15 retries',
    ours: 'is a success; deletes carry uid and resourceVersion',
    reports: ['#141304', '#141608'],
    rules: ['Writing'],
    defects: ['D3'],
    shownBy: 'scenarios/slices-writes.test.ts: the delete of a missing slice is a success: no event, no retry (D3)',
  },
  {
    id: 'slices-relabelled',
    title: 'Somebody changes the managed-by or service-name label of a slice',
    upstream: 'leaves the service stale for ever',
    ours: 'is a deletion for one service and a new slice for the other: both are planned again. Where the new ones lose the managed-by label too, the service waits a minute before it makes another one, then twice as long each time, up to 5 minutes, and is stuck meanwhile',
    reports: [],
    rules: ['The slice tracker'],
    defects: ['D4'],
    shownBy:
      'scenarios/slices-ownership.test.ts: a slice moved to another service is removed there, and made again here (D4)',
    alsoShownBy:
      'scenarios/fights.test.ts: slices that are given another manager at once are few in an hour, and named',
  },
  {
    id: 'slices-deleted-untouched',
    title: 'Somebody deletes a slice that was not written since the start',
    upstream: 'is not noticed until another event',
    ours: 'is repaired within a second',
    reports: ['#112143', '#125354', '#112197'],
    rules: [],
    defects: ['D5'],
    shownBy:
      'scenarios/slices-ownership.test.ts: a deleted slice is made again (D39), also one not written since the start (D5)',
  },
  {
    id: 'slices-foreign-edits',
    title: 'Somebody else edits or deletes slices again and again',
    upstream: 'is answered every time after a second',
    ours: 'is repaired within a second; while it happens again without a quiet minute, after twice the wait each time, 10 s at most for what was deleted and 30 s for what was edited',
    reports: [],
    rules: ['The slice tracker'],
    defects: ['D39'],
    shownBy: 'scenarios/fights.test.ts: the object is repaired within a second, later after half a minute at most',
    alsoShownBy: 'scenarios/fights.test.ts: a deleted slice is made again in a second, then ever later, up to ten',
  },
  {
    id: 'slices-gauges',
    title: 'Gauges over Services of two families',
    upstream: 'count the family that was planned last',
    ours: 'count both',
    reports: ['#126004', '#126005'],
    rules: ['Metrics'],
    defects: ['D6'],
    shownBy: 'scenarios/metrics.test.ts: metrics after a start count existing slices, both families together (D6)',
  },
  {
    id: 'slices-unknown-node',
    title: 'A pod whose node is not known',
    upstream:
      'fails the sync with an event for each retry; given up after 100 minutes, whether the node appears or not',
    ours: 'is left out with one event and no failure, and is in as soon as the node appears',
    reports: ['#107927', '#110639'],
    rules: ['Nodes'],
    defects: ['D9'],
    shownBy:
      'scenarios/topology.test.ts: a pod on an unknown node is left out and named once until the node appears (D9)',
    sign: { problem: 'unknown-node' },
  },
  {
    id: 'slices-node-gone',
    title: 'A Node is deleted that still has pods',
    upstream:
      'keeps their endpoints until something else has the Service synced. A Service with hints is synced at once if the loss overloads a zone',
    ours: 'keeps them until something else has the Service synced, but for a minute at most, with hints as well; a Node that is back within that minute changes nothing',
    reports: [],
    rules: ['Nodes'],
    defects: [],
    shownBy: 'scenarios/topology.test.ts: a pod goes a minute after its node, and comes back with it',
  },
  {
    id: 'slices-recycled-metadata',
    title: 'A slice that is taken for other ports or for the placeholder',
    upstream: 'loses the annotations and finalizers of others, and is written whatever happened to it meanwhile',
    ours: 'keeps them, and is written with its uid and resourceVersion',
    reports: ['#108267'],
    rules: ['Writing'],
    defects: ['D10'],
    shownBy: 'scenarios/slices-ownership.test.ts: annotations and finalizers of others stay through every write (D10)',
  },
  {
    id: 'slices-conflict-events',
    title: 'A write meets a conflict',
    upstream: 'is a warning on the Service',
    ours: 'is no event: the slices are read again; only a failure that lasts is told',
    reports: ['#92928', '#99345'],
    rules: ['Events'],
    defects: ['D12'],
    shownBy:
      'scenarios/slices-writes.test.ts: a conflict is no Event object: the slices are listed, then written (D12)',
  },
  {
    id: 'slices-bad-pod-ip',
    title: 'A pod IP that the API server would reject',
    upstream: 'is written, and the slice, and with it the service, refused until the pod is gone',
    ours: 'is left out and reported; all other endpoints are written',
    reports: ['#109152'],
    rules: ['From a pod to an endpoint'],
    defects: ['D13'],
    shownBy: 'scenarios/slices.test.ts: a pod with an invalid address is left out alone (D13)',
    sign: { problem: 'bad-address' },
  },
  {
    id: 'slices-refused-write',
    title: 'One write of several is refused',
    upstream: 'stops all that would follow',
    ours: 'stops only what takes endpoints away that other writes add; adds go on side by side, and deletes of dead endpoints',
    reports: ['#93908'],
    rules: ['Writing'],
    defects: ['D13'],
    shownBy:
      'scenarios/slices-writes.test.ts: the refusal of one of several adds keeps no slice of dead endpoints (D13)',
  },
  {
    id: 'slices-hints-return',
    title: 'Hints by CPU were lost, or never came, because of the nodes',
    upstream: 'come back with the next unrelated change of the service',
    ours: 'come back as soon as there are shares again',
    reports: ['#123401'],
    rules: ['The topology queue'],
    defects: ['D14'],
    shownBy: 'scenarios/topology.test.ts: hints come back when the nodes allow them, without a change of a pod (D14)',
    sign: { field: 'endpoints[*].hints.forZones', is: 'missing' },
  },
  {
    id: 'slices-hints-events',
    title: 'Events of hints by CPU that come, go or fail',
    upstream:
      'are told with every sync where they fail, in turns where one of two families fails, and for one family alone where they come or go; without any Node they speak of one zone',
    ours: 'are told once for each family and each reason; without any Node they speak of missing information',
    reports: [],
    rules: ['Assignment', 'Failure and switching off'],
    defects: ['D14', 'D15'],
    shownBy: 'scenarios/topology.test.ts: hints of one family fail alone, without an Event object for each sync (D15)',
  },
  {
    id: 'slices-hints-no-share',
    title: 'Hints by CPU, and an endpoint in a zone without a share',
    upstream: 'have its slice written with every sync',
    ours: 'are right as they are',
    reports: [],
    rules: ['Assignment'],
    defects: ['D41'],
    shownBy: 'scenarios/topology.test.ts: an endpoint in a zone without a share has a hint for its own zone (D41)',
  },
  {
    id: 'slices-zone-change',
    title: 'The zone label of a node changes',
    upstream: 'is followed with the next unrelated change of each service',
    ours: 'is followed at once by the services with pods on that node',
    reports: ['#117245'],
    rules: ['Events that queue a Service'],
    defects: ['D16'],
    shownBy: 'scenarios/topology.test.ts: endpoints have the zone of their node, and follow its changes (D16)',
    sign: { field: 'endpoints[*].zone' },
  },
  {
    id: 'slices-node-cpu',
    title: 'The allocatable CPU of a node changes, or its role, and nothing else',
    upstream: 'counts only after the next change of any node’s readiness or zone',
    ours: 'counts at once',
    reports: [],
    rules: ['Events that queue a Service', 'CPU shares'],
    defects: [],
    shownBy: 'scenarios/topology.test.ts: hints are given anew if a zone grows and others would be overloaded',
    sign: { field: 'endpoints[*].hints.forZones', is: 'other' },
  },
  {
    id: 'slices-terminating-pod',
    title: 'The status of a terminating pod changes in nothing that matters',
    upstream: 'makes its services sync',
    ours: 'does not',
    reports: [],
    rules: ['From a pod to services'],
    defects: ['D28'],
    shownBy: 'scenarios/slices.test.ts: termination shows in the conditions, and later flips are free (D28)',
  },
  {
    id: 'slices-pod-phase',
    title: 'A pod that turns Failed or Succeeded without any other change',
    upstream: 'stays until the next event',
    ours: 'leaves at once',
    reports: [],
    rules: ['From a pod to services'],
    defects: [],
    shownBy: 'scenarios/slices.test.ts: a pod whose phase becomes Failed or Succeeded goes, without any other change',
    sign: { field: 'endpoints[*]', is: 'extra', podEnded: true },
  },
  {
    id: 'slices-never-dropped',
    title: 'A service whose sync fails 16 times',
    upstream: 'is dropped until the next event or resync',
    ours: 'is tried again for ever, at most five minutes apart, and shown in a metric and an event',
    reports: [],
    rules: ['Retries'],
    defects: ['D32'],
    shownBy:
      'scenarios/slices-writes.test.ts: an endless conflict is told once it has lasted, and never given up (D32)',
  },
  {
    id: 'slices-terminating-namespace',
    title: 'A create in a namespace that is going away',
    upstream: 'ends the whole sync',
    ours: 'is skipped, and what can only be written after it; all else is done',
    reports: [],
    rules: ['Writing'],
    defects: ['D33'],
    shownBy: 'scenarios/slices-writes.test.ts: creates refused in a terminating namespace are skipped alone (D33)',
  },
  {
    id: 'slices-hints-forgotten',
    title: 'A Service with hints is deleted',
    upstream: 'is remembered, and queued with every change of a node',
    ours: 'is forgotten',
    reports: [],
    rules: ['Overloaded services'],
    defects: ['D35'],
    shownBy: 'scenarios/topology.test.ts: hints of a deleted Service are forgotten: no node wakes it up (D35)',
  },
  {
    id: 'slices-create-twice',
    title: 'The reply to a create is lost',
    upstream: 'leaves a second slice beside the first',
    ours: 'leaves one: its name is drawn here, so that the second create is refused',
    reports: [],
    rules: ['Names of new slices'],
    defects: [],
    shownBy: 'scenarios/slices-writes.test.ts: a lost reply to a create leaves no duplicate: the slices are listed',
  },
  {
    id: 'slices-trigger-time-retry',
    title: 'The trigger time after a write that failed',
    upstream: 'is lost: the retry removes the annotation',
    ours: 'is kept until a write succeeded or was not needed',
    reports: [],
    rules: ['Trigger time'],
    defects: [],
    shownBy: 'scenarios/controllers.test.ts: the trigger time of one controller does not depend on writes of the other',
  },
  {
    id: 'slices-bad-host-or-node-name',
    title: 'A hostname or nodeName that the API server would reject',
    upstream: 'is written, and the whole slice is refused',
    ours: 'is left out and reported; the endpoint stays',
    reports: [],
    rules: ['What the API server validates', 'From a pod to an endpoint'],
    defects: [],
    shownBy: 'core/slices/pod-endpoints.test.ts: a bad hostname or node name is left out, and the endpoint stays',
  },
  {
    id: 'slices-empty-label',
    title:
      'A Service gets or loses a label with an empty value, such as the one of headless ones, and nothing else changes',
    upstream: 'does not come to slices without endpoints, and stays on them',
    ours: 'comes to all of them, and goes; the label of headless ones on slices without endpoints alone (D31)',
    reports: [],
    rules: ['Labels'],
    defects: [],
    shownBy:
      'core/slices/upstream-differences.test.ts: a label with an empty value comes to the placeholder too, unlike upstream',
    sign: { field: 'metadata.labels[*]', is: 'missing', planned: '' },
  },
  {
    id: 'slices-port-order',
    title: 'The order of the ports of a slice',
    upstream: 'is that of a hash of each port',
    ours: 'is by name, protocol and number; slices that are stored in another order are left alone. The order means nothing',
    reports: [],
    rules: ['The port-map key'],
    defects: [],
    shownBy:
      "core/slices/slice-object.test.ts: ports are sorted by name, protocol and number, whatever the service's order",
  },
  {
    id: 'slices-headless-label',
    title: 'A slice without its headless label takes new endpoints',
    upstream: 'may be written without it',
    ours: 'gets it with that write',
    reports: [],
    rules: ['Labels'],
    defects: [],
    shownBy:
      'core/slices/upstream-differences.test.ts: a slice that takes new endpoints gets the headless label that it lacks',
  },
  {
    id: 'slices-hints-no-zone',
    title: 'Hints by CPU that an endpoint without a zone makes impossible',
    upstream: 'have slices written with every sync',
    ours: 'are taken away once',
    reports: [],
    rules: ['Assignment', 'Failure and switching off'],
    defects: [],
    shownBy:
      'core/slices/upstream-differences.test.ts: hints that an endpoint without zone makes impossible are removed once',
  },
  {
    id: 'slices-hints-of-nodes',
    title: 'Hints for nodes in slices that are to have hints by CPU',
    upstream: 'stay in slices that are not written for another reason',
    ours: 'go',
    reports: [],
    rules: ['Assignment'],
    defects: [],
    shownBy: 'core/slices/topology-hints.test.ts: hints for nodes do not stay beside hints for zones',
    sign: { field: 'endpoints[*].hints.forNodes', is: 'extra' },
  },
  {
    id: 'slices-hints-start',
    title: 'Hints by CPU while nodes are still being read at the start',
    upstream: 'may be taken away, with a warning',
    ours: 'stay: no slice is planned before the nodes are known',
    reports: [],
    rules: ['CPU shares'],
    defects: [],
    shownBy: 'scenarios/topology.test.ts: hints stay through a restart and the loss of a thread: 0 writes',
  },
];

export const MIRRORING_DIFFERENCES: readonly UpstreamDifference[] = [
  {
    id: 'mirror-deleted-untouched',
    title: 'Somebody deletes a mirrored slice that was not written since the start',
    upstream: 'is not noticed until another event',
    ours: 'is repaired within a second',
    reports: ['#112143'],
    rules: [],
    defects: ['D5'],
    shownBy:
      'scenarios/mirroring.test.ts: a mirrored slice that others edit or delete is right within a second (D5, D39)',
  },
  {
    id: 'mirror-events',
    title: 'Events of addresses that are not mirrored, `InvalidIPAddress` and `TooManyAddressesToMirror`',
    upstream: 'are told at every sync',
    ours: 'are told when they come up or change',
    reports: [],
    rules: ['Mirroring: content'],
    defects: [],
    shownBy: 'shard/mirror-output.test.ts: a problem is told when it comes up, and not again while it lasts',
  },
  {
    id: 'mirror-many-subsets',
    title:
      'Endpoints made by hand that are more than 250,000 addresses once their subsets are merged, or as many endpoints once they are mirrored',
    upstream: 'are merged, and 1,000 addresses of each subset are mirrored',
    ours: 'are named as stuck; their slices stay as they are',
    reports: [],
    rules: ['Mirroring: content'],
    defects: [],
    shownBy: 'scenarios/mirroring.test.ts: subsets that share ports in thousands of ways make them stuck and no other',
  },
  {
    id: 'mirror-finalizer',
    title: 'A mirrored slice that is deleted but held by a finalizer',
    upstream: 'blocks its Endpoints for ever',
    ours: 'counts as gone',
    reports: ['#108779', '#109624'],
    rules: ['Mirroring: sync'],
    defects: ['D11'],
    shownBy: 'scenarios/mirroring.test.ts: a slice that a finalizer holds does not hold up the Endpoints (D11)',
  },
  {
    id: 'mirror-recycle',
    title: 'Slices of both families are to be recycled and created in one sync',
    upstream: 'may be mixed up: a create of a name that exists is refused and tried again',
    ours: 'are told apart',
    reports: [],
    rules: ['Mirroring: writing'],
    defects: ['D24'],
    shownBy:
      'scenarios/mirroring.test.ts: Endpoints that change ports and families at once reuse existing slices (D24)',
  },
  {
    id: 'mirror-reserved-labels',
    title: 'Endpoints that carry the service-name or the managed-by label',
    upstream: 'cause a PUT at every sync',
    ours: 'are compared without these labels',
    reports: [],
    rules: ['Mirroring: one group'],
    defects: ['D25'],
    shownBy: 'scenarios/mirroring.test.ts: Endpoints with the reserved labels cost no write with every sync (D25)',
  },
  {
    id: 'mirror-delete-gone',
    title: 'A mirrored slice to be deleted that is gone already',
    upstream: 'is a failure',
    ours: 'is a success',
    reports: ['#141304', '#141608'],
    rules: ['Mirroring: writing'],
    defects: ['D3'],
    shownBy: 'scenarios/mirroring.test.ts: the delete of a slice that is gone is a success: no event, no retry (D3)',
  },
  {
    id: 'mirror-terminating-namespace',
    title: 'A create in a namespace that is going away',
    upstream: 'ends the whole sync',
    ours: 'is skipped, and what can only be written after it; all else is done',
    reports: [],
    rules: ['Mirroring: writing'],
    defects: ['D33'],
    shownBy: 'scenarios/mirroring.test.ts: writes in a terminating namespace are skipped in silence (D33)',
  },
  {
    id: 'mirror-never-dropped',
    title: 'Endpoints whose sync fails 16 times',
    upstream: 'are dropped in silence until the next event or resync',
    ours: 'are tried again for ever, and shown in a metric and an event',
    reports: [],
    rules: ['Retries', 'Events'],
    defects: ['D32'],
    shownBy: 'scenarios/mirroring.test.ts: refused writes make the Endpoints stuck, hold up no other, and go on (D32)',
  },
  {
    id: 'mirror-foreign-edits',
    title: 'Somebody else edits or deletes mirrored slices',
    upstream: 'is answered at once every time',
    ours: 'is repaired within a second; while it happens again without a quiet minute, after twice the wait each time, 10 s at most for what was deleted and 30 s for what was edited',
    reports: [],
    rules: ['Mirroring: events'],
    defects: [],
    shownBy: 'scenarios/fights.test.ts: the object is repaired within a second, later after half a minute at most',
    alsoShownBy:
      'scenarios/fights.test.ts: a mirrored slice is made again too; Endpoints that go and come are no fight',
  },
  {
    id: 'mirror-bad-address',
    title: 'An address that the API server would not have in a slice',
    upstream: 'is written, and the whole slice refused again and again',
    ours: 'is left out and reported as an invalid address; all others are mirrored',
    reports: [],
    rules: ['What the API server validates', 'Mirroring: content'],
    defects: ['D13'],
    shownBy:
      'core/mirroring/upstream.test.ts: an address that the server would refuse is left out; upstream fails (D13)',
    sign: { problem: 'mirror-bad-address' },
  },
  {
    id: 'mirror-ports-of-one-name',
    title: 'Subsets that give the same addresses two ports of one name, or twice a port with appProtocol',
    upstream: 'are written as one slice, which is refused again and again',
    ours: 'are slices of their own, and equal ports are one',
    reports: [],
    rules: ['What the API server validates', 'Mirroring: content'],
    defects: [],
    shownBy:
      'core/mirroring/upstream.test.ts: two ports of one name for one address are mirrored apart; upstream fails',
  },
  {
    id: 'mirror-equal-ports',
    title: 'Subsets with a port with appProtocol in common, and more addresses together than a slice may hold',
    upstream: 'are one slice with some of the addresses, which are drawn anew with every sync',
    ours: 'are several slices: the maximum is that of each subset',
    reports: [],
    rules: ['Mirroring: content'],
    defects: [],
    shownBy:
      'core/mirroring/upstream.test.ts: subsets above the limit have several slices; upstream draws what to leave out',
  },
  {
    id: 'mirror-metadata',
    title: 'A mirrored slice that is written',
    upstream: 'loses its finalizers and its generateName, and is overwritten whatever happened to it meanwhile',
    ours: 'keeps both, and is written with its uid and resourceVersion',
    reports: [],
    rules: ['Mirroring: one group'],
    defects: [],
    shownBy: 'core/mirroring/plan.test.ts: updates and deletes carry uid and resourceVersion, and keep finalizers',
  },
];

/** A complaint about upstream that holds here too. */
export interface KeptDefect {
  /** Its number in docs/spec/endpointslice.md "Known defects". */
  readonly id: string;
  readonly title: string;
  readonly why: string;
  /** The flag that switches it off; '' = none. */
  readonly flag: string;
}

export const KEPT_DEFECTS: readonly KeptDefect[] = [
  {
    id: 'D7',
    title: 'A Service that loses its selector keeps its slices',
    why: 'upstream keeps them by design (#118376, #120775); endpoints of an external system may be in them',
    flag: '--clean-up-unselected',
  },
  {
    id: 'D8',
    title: 'A Service that becomes an ExternalName keeps its slices',
    why: 'as upstream (#103804, #105986)',
    flag: '--clean-up-unselected',
  },
  {
    id: 'D17',
    title: 'Services that shrink keep many half-empty slices',
    why: 'slices are not merged for their own sake: each merge is two writes to every node (#119020)',
    flag: '--compact-slices',
  },
  {
    id: 'D18',
    title: 'An endpoint is in two slices for a moment when it moves',
    why: 'inherent to several objects; adds are written before removes, so that it is never in none',
    flag: '',
  },
  {
    id: 'D19',
    title: 'A pod without the named port is in a slice without ports',
    why: 'consumers expect it (ingress-nginx #9141)',
    flag: '',
  },
  {
    id: 'D21',
    title: 'The trigger time of deletions and of edits of the Service is missing',
    why: 'the annotation is what dashboards have been built on (#81360)',
    flag: '',
  },
  {
    id: 'D22',
    title: 'Addresses above the maximum of a subset are not mirrored',
    why: 'as upstream, with its event',
    flag: '--mirroring-all-endpoints',
  },
  {
    id: 'D26',
    title: 'Mirrored endpoints have no zone',
    why: 'by design: nobody asked for hints on endpoints made by hand',
    flag: '--mirroring-zones',
  },
  {
    id: 'D29',
    title: 'Terminating pods are ready where unready ones are published',
    why: 'documented (#116285)',
    flag: '',
  },
  {
    id: 'D30',
    title: 'Pods that a kubelet shuts down stay ready until their condition changes',
    why: 'the condition is the contract',
    flag: '--kubelet-shutdown-is-termination',
  },
  {
    id: 'D31',
    title: 'Labels of others on slices are removed, a headless label alone is not repaired on a slice with endpoints',
    why: 'as upstream (#94443): labels say what the Service says',
    flag: '',
  },
  {
    id: 'D34',
    title: 'An address that is listed ready and not ready is mirrored as not ready',
    why: 'documented (#121330)',
    flag: '',
  },
  {
    id: 'D36',
    title: 'Without a batch period every change of a pod is a write',
    why: '--endpointslice-updates-batch-period is upstream’s answer',
    flag: '--adaptive-batch-period-max',
  },
  {
    id: 'D40',
    title: 'A Service cannot be opted out',
    why: 'no label for it has been agreed on (#4771); an operator can name one',
    flag: '--opt-out-label',
  },
];

/** Mended upstream by 1.36: the same here. */
export const MENDED_DEFECTS: readonly { readonly id: string; readonly title: string; readonly shownBy: string }[] = [
  {
    id: 'D20',
    title: 'Headless Services without ports are not written with every sync (#133474, #136502)',
    shownBy: 'scenarios/slices.test.ts: needless syncs leave a headless service without ports alone (D20)',
  },
  {
    id: 'D23',
    title: 'Mirroring copies annotations, but not those of kubectl (#98026, #98116)',
    shownBy:
      'scenarios/mirroring.test.ts: Endpoints become a slice that names their makers, labels and annotations (D23)',
  },
  {
    id: 'D27',
    title: 'Many Services in a namespace do not slow the changes of a pod (#134739)',
    shownBy: 'scenarios/slices.test.ts: a change of a pod concerns its own services only, however many there are (D27)',
  },
  {
    id: 'D37',
    title: 'Endpoints and slices end alike after rapid changes (#117193, #125638)',
    shownBy: 'scenarios/controllers.test.ts: both outputs end alike, however late answers and watches come (D37)',
  },
  {
    id: 'D38',
    title: 'A Service that is being deleted gets no new slices (#91287, #91311)',
    shownBy:
      'scenarios/slices-ownership.test.ts: a Service deleted in the foreground gets no new slices, so it can go (D38)',
  },
  {
    id: 'D39',
    title: 'Slices that others edit or delete are repaired (#85353)',
    shownBy: 'scenarios/slices-ownership.test.ts: an edited slice is right within a second, but not at once (D39)',
  },
];

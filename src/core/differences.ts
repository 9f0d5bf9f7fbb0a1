/** Where this controller behaves otherwise than the one of kube-controller-manager 1.36, on purpose. */
export interface Difference {
  readonly id: string;
  readonly title: string;
  readonly upstream: string;
  readonly ours: string;
  /** Upstream issues and pull requests by number, and sections of spec/endpoints.md. */
  readonly source: string;
}

export const ENDPOINTS_DIFFERENCES: readonly Difference[] = [
  {
    id: 'bad-pod-ip',
    title: 'A pod IP that the API server would reject',
    upstream: 'is written (as "<nil>" when it is no address), and the whole object is refused until the pod is gone',
    ours: 'is left out and reported; all other addresses are written',
    source: '#109152; 7.3, 20, 24.4',
  },
  {
    id: 'empty-node-name',
    title: 'A pod with an IP but without a node',
    upstream: 'gets nodeName "", and the whole object is refused',
    ours: 'gets no nodeName',
    source: '7.3, 20, 24.4',
  },
  {
    id: 'bad-host-or-node-name',
    title: 'A hostname or nodeName that the API server would reject',
    upstream: 'is written, and the whole object is refused',
    ours: 'is left out and reported; the address stays',
    source: '20',
  },
  {
    id: 'empty-subset',
    title: 'A subset that truncation leaves without an address',
    upstream: 'is written, and the whole object is refused',
    ours: 'is left out',
    source: '10, 24.3',
  },
  {
    id: 'truncated-no-op',
    title: 'A service over 1,000 addresses whose object is right',
    upstream: 'is written at every sync, as the untruncated addresses are compared',
    ours: 'is left alone: addresses are compared after truncation',
    source: '#127370; 13, 24.3',
  },
  {
    id: 'reserved-service-labels',
    title: 'A Service that carries the headless or the managed-by label itself',
    upstream: 'causes a PUT at every sync',
    ours: 'is compared like any other: the desired labels with the stored ones, exactly',
    source: '11, 24.3',
  },
  {
    id: 'headless-label',
    title: 'An object with a wrong headless label',
    upstream: 'keeps it until something else forces a write',
    ours: 'is repaired',
    source: '11, 24.3',
  },
  {
    id: 'trigger-time-retry',
    title: 'The trigger time after a write that failed',
    upstream: 'is lost: the retry removes the annotation',
    ours: 'is kept until a write succeeded or was not needed',
    source: '12, 24.4',
  },
  {
    id: 'pod-phase',
    title: 'A pod that turns Failed or Succeeded without any other change',
    upstream: 'stays listed until the next event',
    ours: 'leaves at once',
    source: '24.1',
  },
  {
    id: 'foreign-edits',
    title: 'Somebody else edits the object',
    upstream: 'is not noticed until the next sync for another reason',
    ours: 'is repaired after at least a second, later and later while the same writer repeats',
    source: '#89679, #117193; 24.1, 24.4',
  },
  {
    id: 'never-dropped',
    title: 'A service whose sync fails 16 times',
    upstream: 'is dropped until the next event or resync',
    ours: 'is tried again for ever, backing off by the class of the error (5 s after a 403, 30 s after a 422, up to 5 minutes) unless its inputs change, and is shown in a metric and an event',
    source: '#47796; 5, 24.1',
  },
  {
    id: 'own-writes',
    title: 'The cache has not caught up with an own write',
    upstream: 'is an error that backs off and counts as a failure',
    ours: 'is no case: the reply of the write says what the server holds',
    source: '#125638, #126578; 15, 24.1',
  },
  {
    id: 'sweep',
    title: 'Endpoints without a Service at start',
    upstream: 'are deleted, whoever made them, unless they carry the leader annotation',
    ours: 'are deleted only if labelled as managed by this controller and the server confirms that there is no Service',
    source: '#57794, #78933, #104062; 16, 24.2',
  },
  {
    id: 'delete-calls',
    title: 'A Service is deleted',
    upstream: 'two DELETE calls are sent, which usually find nothing',
    ours: 'a DELETE is sent only for an object that is known to exist, with its uid and resourceVersion',
    source: '14.3, 24.2',
  },
  {
    id: 'conflict-events',
    title: 'A write meets a conflict or an object that exists already',
    upstream: 'records a warning event',
    ours: 'records none: it is settled by reading the object',
    source: '#89679; 14.4, 17, 24.4',
  },
  {
    id: 'event-namespace',
    title: 'The event of a failed create',
    upstream: 'lands in the namespace default',
    ours: 'is in the namespace of the service',
    source: '17, 24.4',
  },
  {
    id: 'tolerate-unready',
    title: 'The annotation service.alpha.kubernetes.io/tolerate-unready-endpoints',
    upstream: 'is ignored since 1.24',
    ours: 'is ignored too, unless a flag asks to honour it',
    source: '#108020; 7.2',
  },
];

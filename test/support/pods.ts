/**
 * Pods as a cluster has them, 5 to 13 KB in protobuf: most of it is what a projection has to skip. In the JSON shape of the
 * API, all from a seed.
 */

export interface PodOptions {
  readonly namespace?: string;
  /** Which template the pod is of: labels, ports and image follow from it. */
  readonly app?: string;
  readonly node?: string;
}

type JsonObject = Record<string, unknown>;

/** Uniform in [0, 1) (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export function generatePod(seed: number, options: PodOptions = {}): JsonObject {
  const random = seeded(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const hex = (length: number): string => Array.from({ length }, () => below(16).toString(16)).join('');
  const app = options.app ?? `shop-${below(40)}`;
  const namespace = options.namespace ?? `team-${below(8)}`;
  const node = options.node ?? `node-${below(500)}.example.internal`;
  const ip = `10.${below(256)}.${below(256)}.${1 + below(254)}`;
  const dual = below(4) === 0;
  const running = below(8) !== 0;
  const name = `${app}-6d4b75cb6d-${hex(5)}`;
  const labels: Record<string, string> = {
    app,
    'app.kubernetes.io/name': app,
    'app.kubernetes.io/version': `1.${below(3)}`,
    'pod-template-hash': '6d4b75cb6d',
    team: namespace,
    tier: below(2) === 0 ? 'web' : 'data',
  };
  const time = (offset: number): string => `2026-08-04T13:0${offset}:0${below(10)}Z`;
  const condition = (type: string, status: string): JsonObject => ({
    type,
    status,
    lastTransitionTime: time(2),
    ...(status === 'False' ? { reason: 'ContainersNotReady', message: 'containers with unready status: [é]' } : {}),
  });
  const ready = running && below(5) !== 0 ? 'True' : 'False';
  const pod: JsonObject = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      generateName: `${app}-6d4b75cb6d-`,
      namespace,
      uid: `${hex(8)}-${hex(4)}-${hex(4)}-${hex(4)}-${hex(12)}`,
      resourceVersion: String(100_000_000 + below(900_000_000)),
      generation: 1,
      creationTimestamp: time(0),
      ...(below(10) === 0 ? { deletionTimestamp: time(5), deletionGracePeriodSeconds: 30 } : {}),
      labels,
      annotations: { 'example.com/config': hex(64), 'example.com/note': 'bon appétit' },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `${app}-6d4b75cb6d`, uid: hex(36), controller: true },
      ],
      managedFields: [managedFields('kube-controller-manager', 24), managedFields('kubelet', 40)],
    },
    spec: {
      volumes: [{ name: 'tmp', volumeSource: { emptyDir: {} } }],
      containers: [
        container(app, below, [
          { name: 'http', containerPort: 8080, protocol: 'TCP' },
          { containerPort: 9000, protocol: 'TCP' },
          ...(tagOf(app) % 2 === 0 ? [{ name: 'metrics', containerPort: 9090, protocol: 'TCP' }] : []),
        ]),
      ],
      initContainers: [
        container('migrate', below, [{ name: 'never', containerPort: 1, protocol: 'TCP' }]),
        {
          ...container('mesh', below, [{ name: 'mesh', containerPort: 15_090, protocol: 'TCP' }]),
          restartPolicy: 'Always',
        },
      ],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      serviceAccountName: 'default',
      serviceAccount: 'default',
      nodeName: node,
      ...(below(6) === 0 ? { hostname: name, subdomain: app } : {}),
      schedulerName: 'default-scheduler',
      tolerations: [
        { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
      ],
      priority: 0,
      enableServiceLinks: true,
      preemptionPolicy: 'PreemptLowerPriority',
    },
    status: {
      phase: running ? 'Running' : 'Pending',
      conditions: [
        condition('PodReadyToStartContainers', 'True'),
        condition('Initialized', 'True'),
        condition('Ready', ready),
        condition('ContainersReady', ready),
        condition('PodScheduled', 'True'),
      ],
      hostIP: '172.16.3.4',
      ...(running ? { podIP: ip, podIPs: [{ ip }, ...(dual ? [{ ip: `fd00::${hex(4)}` }] : [])] } : {}),
      startTime: time(1),
      containerStatuses: [app, 'mesh'].map((container) => ({
        name: container,
        state: { running: { startedAt: time(1) } },
        lastState: {},
        ready: ready === 'True',
        restartCount: 0,
        image: `registry.example.com/${container}:1.2.3`,
        imageID: `registry.example.com/${container}@sha256:${hex(64)}`,
        containerID: `containerd://${hex(64)}`,
        started: true,
      })),
      qosClass: 'Burstable',
      hostIPs: [{ ip: '172.16.3.4' }],
    },
  };
  return pod;
}

function tagOf(app: string): number {
  return app.charCodeAt(app.length - 1);
}

function container(name: string, below: (limit: number) => number, ports: JsonObject[]): JsonObject {
  const probe = {
    handler: { httpGet: { path: '/healthz', port: { type: 0, intVal: 8080, strVal: '' }, scheme: 'HTTP' } },
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
  };
  return {
    name,
    image: `registry.example.com/${name}:1.2.3`,
    args: ['--listen=:8080', '--verbose'],
    ports,
    env: Array.from({ length: 5 + below(20) }, (_, i) =>
      i === 0
        ? { name: 'POD_IP', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'status.podIP' } } }
        : { name: `SETTING_${i}`, value: `https://service-${i}.example.internal:8443/path` },
    ),
    resources: { limits: { memory: '512Mi' }, requests: { cpu: '250m', memory: '256Mi' } },
    volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
    livenessProbe: probe,
    readinessProbe: probe,
    terminationMessagePath: '/dev/termination-log',
    imagePullPolicy: 'IfNotPresent',
    securityContext: { privileged: false, runAsUser: 65_532, runAsNonRoot: true },
    terminationMessagePolicy: 'File',
  };
}

function managedFields(manager: string, fields: number): JsonObject {
  const owned = Object.fromEntries(Array.from({ length: fields }, (_, i) => [`f:someFieldName${i}`, { '.': {} }]));
  return {
    manager,
    operation: 'Update',
    apiVersion: 'v1',
    time: '2026-08-04T13:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:metadata': owned, 'f:spec': owned },
  };
}

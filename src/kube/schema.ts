/**
 * The messages of the API as tables: field number, JSON name, type (spec: generated.proto of kubernetes/api and
 * kubernetes/apimachinery at v1.37; numbers never change, fields are only added).
 *
 * One line a field: `<number> <name> <type>`, where the type is a scalar, a message of this file, `[]` of one, or a
 * map; `?` behind it marks a Go pointer (its presence means something), `!` a field that JSON shows even when it is
 * empty.
 *
 * Hand-written readers and writers take their tags from here, too (`tags.ts`).
 *
 * Fields that are left out are skipped when read and lost when written: managedFields, volumes, probes, security
 * contexts, affinity and other parts of a pod. Neither the controllers nor the embedded API server look into them. A
 * server keeps the managedFields of an object that is written without them (docs/spec/wire.md "Writes").
 */

import { WIRE_BYTES, WIRE_VARINT } from './protobuf.ts';

export type Scalar =
  | 'string'
  | 'bool'
  | 'int32'
  | 'int64'
  | 'Time'
  | 'MicroTime'
  | 'IntOrString'
  | 'Quantity'
  /** A message or bytes that the codec neither reads nor writes. */
  | 'skip';

export interface Field {
  readonly number: number;
  /** Number and wire type, as they stand before each value. */
  readonly tag: number;
  readonly name: string;
  readonly type: Scalar | 'message';
  /** Only for type 'message', also where it is the type of a map's values. */
  readonly message: Message | undefined;
  readonly shape: 'one' | 'list' | 'map';
  readonly pointer: boolean;
  readonly required: boolean;
}

export interface Message {
  readonly name: string;
  /** Ascending by number. */
  readonly fields: readonly Field[];
  /** By number. A hole is an unknown field. */
  readonly byNumber: readonly (Field | undefined)[];
  /** The fields that JSON always shows. */
  readonly required: readonly Field[];
}

const SCALARS: ReadonlySet<string> = new Set([
  'string',
  'bool',
  'int32',
  'int64',
  'Time',
  'MicroTime',
  'IntOrString',
  'Quantity',
  'skip',
]);

/** A message stands below the messages that it uses. */
const META: Record<string, string> = {
  OwnerReference: `
    1 kind string!
    3 name string!
    4 uid string!
    5 apiVersion string!
    6 controller bool?
    7 blockOwnerDeletion bool?`,
  ObjectMeta: `
    1 name string
    2 generateName string
    3 namespace string
    4 selfLink string
    5 uid string
    6 resourceVersion string
    7 generation int64
    8 creationTimestamp Time
    9 deletionTimestamp Time?
    10 deletionGracePeriodSeconds int64?
    11 labels map.string
    12 annotations map.string
    13 ownerReferences []OwnerReference
    14 finalizers []string
    17 managedFields skip`,
  ShardInfo: `
    1 selector string!`,
  ListMeta: `
    1 selfLink string
    2 resourceVersion string
    3 continue string
    4 remainingItemCount int64?
    5 shardInfo ShardInfo?`,
  StatusCause: `
    1 reason string
    2 message string
    3 field string`,
  StatusDetails: `
    1 name string
    2 group string
    3 kind string
    4 causes []StatusCause
    5 retryAfterSeconds int32
    6 uid string`,
  Status: `
    1 metadata ListMeta
    2 status string
    3 message string
    4 reason string
    5 details StatusDetails?
    6 code int32`,
  Preconditions: `
    1 uid string?
    2 resourceVersion string?`,
  DeleteOptions: `
    1 gracePeriodSeconds int64?
    2 preconditions Preconditions?
    3 orphanDependents bool?
    4 propagationPolicy string?
    5 dryRun []string
    6 ignoreStoreReadErrorWithClusterBreakingPotential bool?`,
  Condition: `
    1 type string!
    2 status string!
    3 observedGeneration int64
    4 lastTransitionTime Time
    5 reason string!
    6 message string!`,
  LabelSelectorRequirement: `
    1 key string!
    2 operator string!
    3 values []string`,
  LabelSelector: `
    1 matchLabels map.string
    2 matchExpressions []LabelSelectorRequirement`,
  PartialObjectMetadata: `
    1 metadata ObjectMeta`,
};

const TYPES: Record<string, string> = {
  ObjectReference: `
    1 kind string
    2 namespace string
    3 name string
    4 uid string
    5 apiVersion string
    6 resourceVersion string
    7 fieldPath string`,
  LocalObjectReference: `
    1 name string`,

  ContainerPort: `
    1 name string
    2 hostPort int32
    3 containerPort int32!
    4 protocol string
    5 hostIP string`,
  EnvVar: `
    1 name string!
    2 value string
    3 valueFrom skip`,
  VolumeMount: `
    1 name string!
    2 readOnly bool
    3 mountPath string!
    4 subPath string
    5 mountPropagation string?
    6 subPathExpr string
    7 recursiveReadOnly string?`,
  ResourceRequirements: `
    1 limits map.Quantity
    2 requests map.Quantity
    3 claims skip`,
  Container: `
    1 name string!
    2 image string
    3 command []string
    4 args []string
    5 workingDir string
    6 ports []ContainerPort
    7 env []EnvVar
    8 resources ResourceRequirements
    9 volumeMounts []VolumeMount
    10 livenessProbe skip
    11 readinessProbe skip
    12 lifecycle skip
    13 terminationMessagePath string
    14 imagePullPolicy string
    15 securityContext skip
    16 stdin bool
    17 stdinOnce bool
    18 tty bool
    19 envFrom skip
    20 terminationMessagePolicy string
    21 volumeDevices skip
    22 startupProbe skip
    23 resizePolicy skip
    24 restartPolicy string?
    25 restartPolicyRules skip`,
  Toleration: `
    1 key string
    2 operator string
    3 value string
    4 effect string
    5 tolerationSeconds int64?`,
  HostAlias: `
    1 ip string!
    2 hostnames []string`,
  PodReadinessGate: `
    1 conditionType string!`,
  PodSpec: `
    1 volumes skip
    2 containers []Container!
    3 restartPolicy string
    4 terminationGracePeriodSeconds int64?
    5 activeDeadlineSeconds int64?
    6 dnsPolicy string
    7 nodeSelector map.string
    8 serviceAccountName string
    9 serviceAccount string
    10 nodeName string
    11 hostNetwork bool
    12 hostPID bool
    13 hostIPC bool
    14 securityContext skip
    15 imagePullSecrets []LocalObjectReference
    16 hostname string
    17 subdomain string
    18 affinity skip
    19 schedulerName string
    20 initContainers []Container
    21 automountServiceAccountToken bool?
    22 tolerations []Toleration
    23 hostAliases []HostAlias
    24 priorityClassName string
    25 priority int32?
    26 dnsConfig skip
    27 shareProcessNamespace bool?
    28 readinessGates []PodReadinessGate
    29 runtimeClassName string?
    30 enableServiceLinks bool?
    31 preemptionPolicy string?
    32 overhead map.Quantity
    33 topologySpreadConstraints skip
    34 ephemeralContainers skip
    35 setHostnameAsFQDN bool?
    36 os skip
    37 hostUsers bool?
    38 schedulingGates skip
    39 resourceClaims skip
    40 resources skip
    41 hostnameOverride string?
    42 workloadRef skip
    43 schedulingGroup skip
    44 evictionResponders skip`,
  PodCondition: `
    1 type string!
    2 status string!
    3 lastProbeTime Time
    4 lastTransitionTime Time
    5 reason string
    6 message string
    7 observedGeneration int64`,
  PodIP: `
    1 ip string!`,
  ContainerStateWaiting: `
    1 reason string
    2 message string`,
  ContainerStateRunning: `
    1 startedAt Time`,
  ContainerStateTerminated: `
    1 exitCode int32!
    2 signal int32
    3 reason string
    4 message string
    5 startedAt Time
    6 finishedAt Time
    7 containerID string`,
  ContainerState: `
    1 waiting ContainerStateWaiting?
    2 running ContainerStateRunning?
    3 terminated ContainerStateTerminated?`,
  ContainerStatus: `
    1 name string!
    2 state ContainerState
    3 lastState ContainerState
    4 ready bool!
    5 restartCount int32!
    6 image string!
    7 imageID string!
    8 containerID string
    9 started bool?
    10 allocatedResources skip
    11 resources skip
    12 volumeMounts skip
    13 user skip
    14 allocatedResourcesStatus skip
    15 stopSignal skip`,
  Binding: `
    1 metadata ObjectMeta
    2 target ObjectReference`,
  PodStatus: `
    1 phase string
    2 conditions []PodCondition
    3 message string
    4 reason string
    5 hostIP string
    6 podIP string
    7 startTime Time?
    8 containerStatuses []ContainerStatus
    9 qosClass string
    10 initContainerStatuses []ContainerStatus
    11 nominatedNodeName string
    12 podIPs []PodIP
    13 ephemeralContainerStatuses []ContainerStatus
    14 resize string
    15 resourceClaimStatuses skip
    16 hostIPs []PodIP
    17 observedGeneration int64
    18 extendedResourceClaimStatus skip
    19 allocatedResources map.Quantity
    20 resources skip
    21 nodeAllocatableResourceClaimStatuses skip
    22 volumeHealth skip`,
  Pod: `
    1 metadata ObjectMeta
    2 spec PodSpec
    3 status PodStatus`,

  ServicePort: `
    1 name string
    2 protocol string
    3 port int32!
    4 targetPort IntOrString
    5 nodePort int32
    6 appProtocol string?`,
  ClientIPConfig: `
    1 timeoutSeconds int32?`,
  SessionAffinityConfig: `
    1 clientIP ClientIPConfig?`,
  ServiceSpec: `
    1 ports []ServicePort
    2 selector map.string
    3 clusterIP string
    4 type string
    5 externalIPs []string
    7 sessionAffinity string
    8 loadBalancerIP string
    9 loadBalancerSourceRanges []string
    10 externalName string
    11 externalTrafficPolicy string
    12 healthCheckNodePort int32
    13 publishNotReadyAddresses bool
    14 sessionAffinityConfig SessionAffinityConfig?
    17 ipFamilyPolicy string?
    18 clusterIPs []string
    19 ipFamilies []string
    20 allocateLoadBalancerNodePorts bool?
    21 loadBalancerClass string?
    22 internalTrafficPolicy string?
    23 trafficDistribution string?`,
  PortStatus: `
    1 port int32!
    2 protocol string!
    3 error string?`,
  LoadBalancerIngress: `
    1 ip string
    2 hostname string
    3 ipMode string?
    4 ports []PortStatus`,
  LoadBalancerStatus: `
    1 ingress []LoadBalancerIngress`,
  ServiceStatus: `
    1 loadBalancer LoadBalancerStatus
    2 conditions []Condition`,
  Service: `
    1 metadata ObjectMeta
    2 spec ServiceSpec
    3 status ServiceStatus`,

  EndpointAddress: `
    1 ip string!
    2 targetRef ObjectReference?
    3 hostname string
    4 nodeName string?`,
  CoreEndpointPort: `
    1 name string
    2 port int32!
    3 protocol string
    4 appProtocol string?`,
  EndpointSubset: `
    1 addresses []EndpointAddress
    2 notReadyAddresses []EndpointAddress
    3 ports []CoreEndpointPort`,
  Endpoints: `
    1 metadata ObjectMeta
    2 subsets []EndpointSubset`,

  EndpointConditions: `
    1 ready bool?
    2 serving bool?
    3 terminating bool?`,
  ForZone: `
    1 name string!`,
  ForNode: `
    1 name string!`,
  EndpointHints: `
    1 forZones []ForZone
    2 forNodes []ForNode`,
  Endpoint: `
    1 addresses []string!
    2 conditions EndpointConditions
    3 hostname string?
    4 targetRef ObjectReference?
    5 deprecatedTopology map.string
    6 nodeName string?
    7 zone string?
    8 hints EndpointHints?`,
  DiscoveryEndpointPort: `
    1 name string?
    2 protocol string?
    3 port int32?
    4 appProtocol string?`,
  EndpointSlice: `
    1 metadata ObjectMeta
    2 endpoints []Endpoint!
    3 ports []DiscoveryEndpointPort!
    4 addressType string!`,

  Taint: `
    1 key string!
    2 value string
    3 effect string!
    4 timeAdded Time?`,
  NodeSpec: `
    1 podCIDR string
    2 externalID string
    3 providerID string
    4 unschedulable bool
    5 taints []Taint
    6 configSource skip
    7 podCIDRs []string
    8 podPreemptionPolicy skip`,
  NodeCondition: `
    1 type string!
    2 status string!
    3 lastHeartbeatTime Time
    4 lastTransitionTime Time
    5 reason string
    6 message string`,
  NodeAddress: `
    1 type string!
    2 address string!`,
  DaemonEndpoint: `
    1 Port int32!`,
  NodeDaemonEndpoints: `
    1 kubeletEndpoint DaemonEndpoint`,
  NodeSystemInfo: `
    1 machineID string!
    2 systemUUID string!
    3 bootID string!
    4 kernelVersion string!
    5 osImage string!
    6 containerRuntimeVersion string!
    7 kubeletVersion string!
    8 kubeProxyVersion string!
    9 operatingSystem string!
    10 architecture string!
    11 swap skip`,
  ContainerImage: `
    1 names []string
    2 sizeBytes int64`,
  NodeStatus: `
    1 capacity map.Quantity
    2 allocatable map.Quantity
    3 phase string
    4 conditions []NodeCondition
    5 addresses []NodeAddress
    6 daemonEndpoints NodeDaemonEndpoints
    7 nodeInfo NodeSystemInfo
    8 images []ContainerImage
    9 volumesInUse []string
    10 volumesAttached skip
    11 config skip
    12 runtimeHandlers skip
    13 features skip
    14 declaredFeatures skip`,
  Node: `
    1 metadata ObjectMeta
    2 spec NodeSpec
    3 status NodeStatus`,

  NamespaceSpec: `
    1 finalizers []string`,
  NamespaceCondition: `
    1 type string!
    2 status string!
    4 lastTransitionTime Time
    5 reason string
    6 message string`,
  NamespaceStatus: `
    1 phase string
    2 conditions []NamespaceCondition`,
  Namespace: `
    1 metadata ObjectMeta
    2 spec NamespaceSpec
    3 status NamespaceStatus`,

  LeaseSpec: `
    1 holderIdentity string?
    2 leaseDurationSeconds int32?
    3 acquireTime MicroTime?
    4 renewTime MicroTime?
    5 leaseTransitions int32?
    6 strategy string?
    7 preferredHolder string?`,
  Lease: `
    1 metadata ObjectMeta
    2 spec LeaseSpec`,

  EventSource: `
    1 component string
    2 host string`,
  EventSeries: `
    1 count int32
    2 lastObservedTime MicroTime`,
  Event: `
    1 metadata ObjectMeta
    2 involvedObject ObjectReference
    3 reason string
    4 message string
    5 source EventSource
    6 firstTimestamp Time
    7 lastTimestamp Time
    8 count int32
    9 type string
    10 eventTime MicroTime
    11 series EventSeries?
    12 action string
    13 related ObjectReference?
    14 reportingComponent string!
    15 reportingInstance string!`,
};

/**
 * Messages that are read and written by hand. Some are the wire form of the scalar types `Time` to `Quantity` and of
 * map entries. The others wrap whole objects. No field above can have them as its type.
 */
const BY_HAND: Record<string, string> = {
  Time: `
    1 seconds int64
    2 nanos int32`,
  IntOrString: `
    1 type int64
    2 intVal int32
    3 strVal string`,
  Quantity: `
    1 string string`,
  MapEntry: `
    1 key string
    2 value string`,
  TypeMeta: `
    1 apiVersion string
    2 kind string`,
  Unknown: `
    1 typeMeta skip
    2 raw skip
    3 contentEncoding string
    4 contentType string`,
  RawExtension: `
    1 raw skip`,
  ManagedFieldsEntry: `
    1 manager string
    2 operation string
    3 apiVersion string
    4 time Time?
    6 fieldsType string
    7 fieldsV1 skip
    8 subresource string`,
  WatchEvent: `
    1 type string
    2 object skip`,
};

/** apiVersion -> kind -> message. Each kind has a list kind besides. */
const SERVED: Record<string, Record<string, string>> = {
  v1: {
    Pod: 'Pod',
    Service: 'Service',
    Endpoints: 'Endpoints',
    Node: 'Node',
    Namespace: 'Namespace',
    Event: 'Event',
  },
  'discovery.k8s.io/v1': { EndpointSlice: 'EndpointSlice' },
  'coordination.k8s.io/v1': { Lease: 'Lease' },
  'meta.k8s.io/v1': { PartialObjectMetadata: 'PartialObjectMetadata' },
};

/** By name, without the messages that are read by hand. */
const MESSAGES: ReadonlyMap<string, Message> = defineMessages();

const MESSAGES_BY_HAND: ReadonlyMap<string, Message> = new Map(
  Object.entries(BY_HAND).map(([name, lines]) => [name, parseMessage(name, lines, new Map())]),
);

/** By apiVersion and kind as an envelope names them, such as `v1/Pod`. */
export const KINDS: ReadonlyMap<string, Message> = defineKinds();

/** The message of an apiVersion and kind, or undefined when this project does not know it. */
export function messageOf(apiVersion: string, kind: string): Message | undefined {
  return KINDS.get(`${apiVersion}/${kind}`);
}

/** @throws Error when the tables have no message of this name */
export function messageNamed(name: string): Message {
  const message = MESSAGES.get(name) ?? MESSAGES_BY_HAND.get(name);
  if (message === undefined) throw new Error(`schema: no message ${name}`);
  return message;
}

function defineMessages(): Map<string, Message> {
  const messages = new Map<string, Message>();
  for (const [name, lines] of Object.entries({ ...META, ...TYPES })) {
    messages.set(name, parseMessage(name, lines, messages));
  }
  for (const name of Object.values(SERVED).flatMap((names) => Object.values(names))) {
    messages.set(`${name}List`, parseMessage(`${name}List`, `1 metadata ListMeta\n2 items []${name}!`, messages));
  }
  return messages;
}

function defineKinds(): Map<string, Message> {
  const kinds = new Map<string, Message>();
  for (const [apiVersion, names] of Object.entries(SERVED)) {
    for (const [kind, name] of Object.entries(names)) {
      kinds.set(`${apiVersion}/${kind}`, messageNamed(name));
      kinds.set(`${apiVersion}/${kind}List`, messageNamed(`${name}List`));
    }
    kinds.set(`${apiVersion}/DeleteOptions`, messageNamed('DeleteOptions'));
  }
  for (const apiVersion of ['v1', 'meta.k8s.io/v1']) kinds.set(`${apiVersion}/Status`, messageNamed('Status'));
  kinds.set('v1/Binding', messageNamed('Binding'));
  return kinds;
}

function parseMessage(name: string, lines: string, known: ReadonlyMap<string, Message>): Message {
  const fields = lines
    .trim()
    .split('\n')
    .map((line) => parseField(line.trim(), known));
  fields.sort((a, b) => a.number - b.number);
  const byNumber: (Field | undefined)[] = [];
  for (const field of fields) byNumber[field.number] = field;
  return { name, fields, byNumber: Array.from(byNumber), required: fields.filter((field) => field.required) };
}

function parseField(line: string, known: ReadonlyMap<string, Message>): Field {
  const match = /^(\d+) (\w+) (\[\]|map\.)?(\w+)([?!]?)$/.exec(line);
  if (match === null) throw new Error(`schema: cannot read ${JSON.stringify(line)}`);
  const [, number, name, shape, type, mark] = match;
  const message = known.get(type!);
  if (message === undefined && !SCALARS.has(type!)) throw new Error(`schema: ${line}: no such type`);
  const isVarint = shape === undefined && (type === 'bool' || type === 'int32' || type === 'int64');
  return {
    number: Number(number),
    tag: (Number(number) << 3) | (isVarint ? WIRE_VARINT : WIRE_BYTES),
    name: name!,
    type: message === undefined ? (type as Scalar) : 'message',
    message,
    shape: shape === '[]' ? 'list' : shape === 'map.' ? 'map' : 'one',
    pointer: mark === '?',
    required: mark === '!',
  };
}

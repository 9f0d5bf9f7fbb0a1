import type { Field, Message } from '../kube/schema.ts';

/** The name of a message in Go's errors. Our names differ where two groups have types of the same name. */
export function goName({ name }: Message): string {
  return name.replace(/^(Core|Discovery)(?=Endpoint)/, '');
}

/** The type of a field, or of a list's items, in Go's errors. @param owner the message that has the field */
export function goType(owner: Message, field: Field): string {
  if (field.type === 'message') return `v1.${goName(field.message!)}`;
  if (field.type !== 'string') return field.type;
  return NAMED_STRINGS[`${goName(owner)}.${field.name}`] ?? NAMED_STRINGS[field.name] ?? field.type;
}

/** The type of a map whose values are the field's, in Go's errors. */
export function goMapType(owner: Message, field: Field): string {
  return field.type === 'Quantity' ? 'v1.ResourceList' : `map[string]${goType(owner, field)}`;
}

/** String fields that have a type of their own, by field. Where the field's name is ambiguous, by message and field. */
const NAMED_STRINGS: Readonly<Record<string, string>> = {
  uid: 'types.UID',
  addressType: 'v1.AddressType',
  dnsPolicy: 'v1.DNSPolicy',
  effect: 'v1.TaintEffect',
  externalTrafficPolicy: 'v1.ServiceExternalTrafficPolicy',
  imagePullPolicy: 'v1.PullPolicy',
  internalTrafficPolicy: 'v1.ServiceInternalTrafficPolicy',
  ipFamilies: 'v1.IPFamily',
  ipFamilyPolicy: 'v1.IPFamilyPolicy',
  ipMode: 'v1.LoadBalancerIPMode',
  preemptionPolicy: 'v1.PreemptionPolicy',
  propagationPolicy: 'v1.DeletionPropagation',
  protocol: 'v1.Protocol',
  qosClass: 'v1.PodQOSClass',
  sessionAffinity: 'v1.ServiceAffinity',
  terminationMessagePolicy: 'v1.TerminationMessagePolicy',
  'Container.restartPolicy': 'v1.ContainerRestartPolicy',
  'NamespaceSpec.finalizers': 'v1.FinalizerName',
  'NamespaceStatus.phase': 'v1.NamespacePhase',
  'NodeAddress.type': 'v1.NodeAddressType',
  'NodeCondition.status': 'v1.ConditionStatus',
  'NodeCondition.type': 'v1.NodeConditionType',
  'NodeStatus.phase': 'v1.NodePhase',
  'PodCondition.status': 'v1.ConditionStatus',
  'PodCondition.type': 'v1.PodConditionType',
  'PodSpec.restartPolicy': 'v1.RestartPolicy',
  'PodStatus.phase': 'v1.PodPhase',
  'ServiceSpec.type': 'v1.ServiceType',
  'Toleration.operator': 'v1.TolerationOperator',
};

import type { Field, Message } from '../kube/schema.ts';

/** How Go calls a message in its errors. Our names tell apart what two groups call the same. */
export function goName({ name }: Message): string {
  return name.replace(/^(Core|Discovery)(?=Endpoint)/, '');
}

/** The type of a field, or of the items of a list, in Go's errors. @param owner the message that the field belongs to */
export function goType(owner: Message, field: Field): string {
  if (field.type === 'message') return `v1.${goName(field.message!)}`;
  if (field.type !== 'string') return field.type;
  return NAMED_STRINGS[`${goName(owner)}.${field.name}`] ?? NAMED_STRINGS[field.name] ?? field.type;
}

/** The same for a map of them. */
export function goMapType(owner: Message, field: Field): string {
  return field.type === 'Quantity' ? 'v1.ResourceList' : `map[string]${goType(owner, field)}`;
}

/** Texts of a type of their own, by field, or by message and field where only that tells. */
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

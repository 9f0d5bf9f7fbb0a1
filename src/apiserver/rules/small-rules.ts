import { invalid } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { child, items, text } from '../object.ts';
import type { ApiObject } from '../object.ts';
import { labelName, subdomainName } from './name-rules.ts';
import type { RuleContext, Rules } from './rules.ts';

const NAMESPACE_NAME_LABEL = 'kubernetes.io/metadata.name';

/** core/v1 Namespace. */
export const NAMESPACE_RULES: Rules = {
  name: labelName,
  prepareCreate: (object) => {
    object['spec'] = { finalizers: ['kubernetes'] };
    object['status'] = { phase: 'Active' };
    labelWithName(object);
  },
  prepareUpdate: (object, old, context) => {
    object['spec'] = old['spec'];
    if (!context.status) object['status'] = old['status'];
    labelWithName(object);
  },
  validateCreate: () => [],
  validateUpdate: () => [],
};

function labelWithName(object: ApiObject): void {
  const { labels, name } = object.metadata;
  if (name !== undefined) object.metadata.labels = { ...labels, [NAMESPACE_NAME_LABEL]: name };
}

/** core/v1 Node. */
export const NODE_RULES: Rules = {
  name: subdomainName,
  prepareCreate: nodeDefaults,
  prepareUpdate: (object, old, context: RuleContext) => {
    if (context.status) object['spec'] = old['spec'];
    else object['status'] = old['status'];
    nodeDefaults(object);
  },
  validateCreate: () => [],
  validateUpdate: () => [],
};

function nodeDefaults(object: ApiObject): void {
  object['spec'] ??= {};
  const status = { ...child(object, 'status') };
  if (status['allocatable'] === undefined && status['capacity'] !== undefined) {
    status['allocatable'] = status['capacity'];
  }
  status['daemonEndpoints'] ??= { kubeletEndpoint: { Port: 0 } };
  status['nodeInfo'] ??= Object.fromEntries(NODE_INFO.map((field) => [field, '']));
  for (const condition of items(status, 'conditions')) {
    condition['lastHeartbeatTime'] ??= null;
    condition['lastTransitionTime'] ??= null;
  }
  object['status'] = status;
}

const NODE_INFO: readonly string[] = [
  'machineID',
  'systemUUID',
  'bootID',
  'kernelVersion',
  'osImage',
  'containerRuntimeVersion',
  'kubeletVersion',
  'kubeProxyVersion',
  'operatingSystem',
  'architecture',
];

/** core/v1 Event. */
export const EVENT_RULES: Rules = {
  name: subdomainName,
  prepareCreate: eventDefaults,
  prepareUpdate: eventDefaults,
  validateCreate: validateEvent,
  validateUpdate: validateEvent,
};

/** Fields that the server shows even when they are empty. */
function eventDefaults(object: ApiObject): void {
  object['involvedObject'] ??= {};
  object['source'] ??= {};
  object['firstTimestamp'] ??= null;
  object['lastTimestamp'] ??= null;
  object['eventTime'] ??= null;
  object['reportingComponent'] ??= '';
  object['reportingInstance'] ??= '';
}

function validateEvent(object: ApiObject): readonly FieldError[] {
  const namespace = object.metadata.namespace ?? '';
  const involved = text(child(object, 'involvedObject'), 'namespace');
  if (involved === '' ? namespace === 'default' || namespace === 'kube-system' : involved === namespace) return [];
  return [invalid('involvedObject.namespace', involved, 'does not match event.namespace')];
}

/** coordination.k8s.io/v1 Lease. */
export const LEASE_RULES: Rules = {
  name: subdomainName,
  prepareCreate: (object) => void (object['spec'] ??= {}),
  prepareUpdate: (object) => void (object['spec'] ??= {}),
  validateCreate: validateLease,
  validateUpdate: validateLease,
};

function validateLease(object: ApiObject): readonly FieldError[] {
  const errors: FieldError[] = [];
  const spec = child(object, 'spec');
  const duration = spec['leaseDurationSeconds'] as number | undefined;
  if (duration !== undefined && duration <= 0) {
    errors.push(invalid('spec.leaseDurationSeconds', duration, 'must be greater than 0'));
  }
  const transitions = spec['leaseTransitions'] as number | undefined;
  if (transitions !== undefined && transitions < 0) {
    errors.push(invalid('spec.leaseTransitions', transitions, 'must be greater than or equal to 0'));
  }
  return errors;
}

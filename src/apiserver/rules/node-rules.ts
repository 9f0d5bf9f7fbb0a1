import { forbidden, invalid, notSupported } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { child, items, text } from '../object.ts';
import type { ApiObject } from '../object.ts';
import { cidrProblems } from './ip.ts';
import { qualifiedName, subdomainName } from './name-rules.ts';
import type { Rules } from './rules.ts';

/** core/v1 Node. */
export const NODE_RULES: Rules = {
  name: subdomainName,
  prepareCreate: nodeDefaults,
  prepareUpdate: (object, old, context) => {
    if (context.status) object['spec'] = old['spec'];
    else object['status'] = old['status'];
    nodeDefaults(object);
  },
  validateCreate: validateNode,
  validateUpdate: (object, old) => {
    const before = text(child(old, 'spec'), 'providerID');
    const errors = validateNode(object);
    if (before !== '' && before !== text(child(object, 'spec'), 'providerID')) {
      errors.push(forbidden('spec.providerID', 'node updates may not change providerID except from "" to valid'));
    }
    return errors;
  },
};

/** In the order of the server's message. */
const EFFECTS: readonly string[] = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

function validateNode(object: ApiObject): FieldError[] {
  const errors: FieldError[] = [];
  const spec = child(object, 'spec');
  for (const [at, { key = '', effect = '' }] of items<{ key?: string; effect?: string }>(spec, 'taints').entries()) {
    // The server names the metadata here.
    const field = `metadata.taints[${at}]`;
    for (const problem of qualifiedName(key)) errors.push(invalid(`${field}.key`, key, problem));
    if (!EFFECTS.includes(effect)) errors.push(notSupported(`${field}.effect`, effect, EFFECTS, false));
  }
  for (const [at, range] of items<string>(spec, 'podCIDRs').entries()) {
    for (const problem of cidrProblems(range)) errors.push(invalid(`spec.podCIDRs[${at}]`, range, problem));
  }
  return errors;
}

function nodeDefaults(object: ApiObject): void {
  const spec = child(object, 'spec');
  object['spec'] = text(spec, 'podCIDR') === '' ? spec : { podCIDRs: [spec['podCIDR']], ...spec };
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

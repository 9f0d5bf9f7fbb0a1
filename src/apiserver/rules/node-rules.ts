import { child, items } from '../object.ts';
import type { ApiObject } from '../object.ts';
import { subdomainName } from './name-rules.ts';
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

import { child, items, text, type ApiObject } from '../object.ts';
import { age } from './age.ts';
import { column, NAME, wide, type TableRules } from './table-rules.ts';

/** core/v1 Node. */
export const NODE_TABLE: TableRules = {
  columns: [
    NAME,
    column('Status'),
    column('Roles'),
    column('Age'),
    column('Version'),
    wide('Internal-IP'),
    wide('External-IP'),
    wide('OS-Image'),
    wide('Kernel-Version'),
    wide('Container-Runtime'),
  ],
  cells: (object, nowMs) => {
    const info = child(child(object, 'status'), 'nodeInfo');
    const known = (field: string): string => (text(info, field) === '' ? '<unknown>' : text(info, field));
    return [
      object.metadata.name ?? '',
      nodeStatus(object),
      roles(object.metadata.labels ?? {}),
      age(object.metadata.creationTimestamp, nowMs),
      text(info, 'kubeletVersion'),
      address(object, 'InternalIP'),
      address(object, 'ExternalIP'),
      known('osImage'),
      known('kernelVersion'),
      known('containerRuntimeVersion'),
    ];
  },
};

function nodeStatus(object: ApiObject): string {
  const conditions = items<{ type: string; status: string }>(child(object, 'status'), 'conditions');
  const ready = conditions.findLast(({ type }) => type === 'Ready');
  const status = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return child(object, 'spec')['unschedulable'] === true ? `${status},SchedulingDisabled` : status;
}

const ROLE_PREFIX = 'node-role.kubernetes.io/';

function roles(labels: Readonly<Record<string, string>>): string {
  const found = new Set<string>();
  for (const [key, value] of Object.entries(labels)) {
    if (key.startsWith(ROLE_PREFIX)) found.add(key.slice(ROLE_PREFIX.length));
    else if (key === 'kubernetes.io/role') found.add(value);
  }
  found.delete('');
  return found.size === 0 ? '<none>' : [...found].sort().join(',');
}

function address(object: ApiObject, wanted: string): string {
  const addresses = items<{ type: string; address: string }>(child(object, 'status'), 'addresses');
  return addresses.find(({ type }) => type === wanted)?.address ?? '<none>';
}

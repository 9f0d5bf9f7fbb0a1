/** The `binding` subresource of pods, which schedulers write (registry/core/pod/storage, BindingREST). */
import { formatTime } from '../kube/time.ts';
import { badRequest, conflict, internalError, notFound } from './api-error.ts';
import { child, items, text, type ApiObject } from './object.ts';
import type { StoredRecord } from './record.ts';
import type { Target } from './request.ts';
import { PODS, type Resource } from './resource.ts';
import { keyOf, storeOf, write, type ApiServer } from './state.ts';
import { preconditionConflict } from './write.ts';

/** The resource by whose type the body of a binding is read. */
export const BINDINGS: Resource = { ...PODS, kind: 'Binding', subresources: [] };

/** Sets the node of a pod that has none. @throws ApiError 400, 404, 409 or 500 */
export function bindPod(server: ApiServer, { namespace, name }: Target, binding: ApiObject): void {
  const given = binding.metadata.name ?? '';
  if (given !== name) throw badRequest('name in URL does not match name in Binding object');
  const target = child(binding, 'target');
  checkTarget(text(target, 'kind'), text(target, 'name'));
  const record = storeOf(server, PODS).records.get(keyOf(PODS, namespace, name));
  if (record === undefined) throw notFound(PODS, name);
  const { object: old, sizeBytes } = record;
  checkPreconditions(record, binding);
  const why = refusal(old);
  if (why !== null) throw conflict({ name: 'pods/binding', group: '' }, name, why);
  const { nominatedNodeName: _, ...status } = child(old, 'status');
  const conditions = items(status, 'conditions').filter((condition) => text(condition, 'type') !== 'PodScheduled');
  const lastTransitionTime = formatTime(Math.floor(server.nowMs / 1000));
  const scheduled = { type: 'PodScheduled', status: 'True', lastProbeTime: null, lastTransitionTime };
  const metadata = { ...old.metadata };
  for (const field of ['annotations', 'labels'] as const) {
    const more = binding.metadata[field];
    if (more !== undefined) metadata[field] = { ...metadata[field], ...more };
  }
  write(
    server,
    PODS,
    {
      ...old,
      metadata,
      spec: { ...child(old, 'spec'), nodeName: text(target, 'name') },
      status: { ...status, conditions: [...conditions, scheduled] },
    },
    sizeBytes,
  );
}

/** The real server answers 500 to these. */
function checkTarget(kind: string, name: string): void {
  if (kind !== '' && kind !== 'Node') {
    throw internalError(`target.kind: Unsupported value: ${JSON.stringify(kind)}: supported values: "Node", "<empty>"`);
  }
  if (name === '') throw internalError('target.name: Required value');
}

/** @throws ApiError 409 */
function checkPreconditions({ key, object }: StoredRecord, { metadata }: ApiObject): void {
  for (const [field, name] of [
    ['uid', 'UID'],
    ['resourceVersion', 'ResourceVersion'],
  ] as const) {
    const given = metadata[field] ?? '';
    const stored = object.metadata[field]!;
    if (given !== '' && given !== stored) throw preconditionConflict(PODS, key, name, given, stored);
  }
}

function refusal({ metadata, spec }: ApiObject): string | null {
  const { name = '' } = metadata;
  if (metadata.deletionTimestamp !== undefined) return `pod ${name} is being deleted, cannot be assigned to a host`;
  const node = text(spec as object, 'nodeName');
  if (node !== '') return `pod ${name} is already assigned to node ${JSON.stringify(node)}`;
  if (items(spec as object, 'schedulingGates').length > 0) return `pod ${name} has non-empty .spec.schedulingGates`;
  return null;
}

import { fieldManagersOf } from '../kube/managed-fields.ts';
import type { ObjectSource } from '../kube/source.ts';

/** Field managers of the controllers that keep Endpoints and EndpointSlices. */
export const CONTROLLER_MANAGERS: ReadonlySet<string> = new Set(['kube-controller-manager', 'endpointd']);

/**
 * The field manager that has written the object last; '' = managedFields do not tell. If several have written in the
 * same second, controllers do not count, because they write all the time.
 */
export function lastWriter(source: ObjectSource): string {
  const managers = fieldManagersOf(source);
  const newest = Math.max(0, ...managers.map(({ time }) => time));
  const last = managers.filter(({ time }) => time === newest).map(({ manager }) => manager);
  return last.find((manager) => !CONTROLLER_MANAGERS.has(manager)) ?? last[0] ?? '';
}

import { type FieldManager, fieldManagersOf } from '../kube/managed-fields.ts';
import type { ObjectSource } from '../kube/source.ts';

/**
 * Field managers of the controllers that keep Endpoints and EndpointSlices. A field manager has the name of its program:
 * k3s, RKE2 and MicroK8s have kube-controller-manager in one of their own.
 */
export const CONTROLLER_MANAGERS: ReadonlySet<string> = new Set([
  'kube-controller-manager',
  'endpointd',
  'k3s',
  'rke2',
  'kubelite',
]);

/**
 * The field manager that has written the object last; '' = managedFields do not tell. If several have written in the
 * same second, controllers do not count, because they write all the time.
 */
export function lastWriter(source: ObjectSource): string {
  const { names } = lastWriters(fieldManagersOf(source));
  return names.find((manager) => !CONTROLLER_MANAGERS.has(manager)) ?? names[0] ?? '';
}

/** The managers that have written last: several if they wrote in the same second. `newest`: that second; 0 = not told. */
export function lastWriters(managers: readonly FieldManager[]): {
  readonly newest: number;
  readonly names: readonly string[];
} {
  const newest = Math.max(0, ...managers.map(({ time }) => time));
  return { newest, names: managers.filter(({ time }) => time === newest).map(({ manager }) => manager) };
}

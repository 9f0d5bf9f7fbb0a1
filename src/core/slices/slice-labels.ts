import { setKey } from '../../kube/labels.ts';
import {
  HEADLESS_LABEL,
  SERVICE_NAME_LABEL,
  SLICE_MANAGED_BY_LABEL,
  SLICE_MANAGED_BY_VALUE,
} from '../../kube/names.ts';
import type { Labels, ServiceRecord } from '../../kube/types.ts';
import type { Problem } from '../problem.ts';

/** Whether only this controller sets the label, whatever the Service or the slice says. */
function isReserved(key: string): boolean {
  return key === SERVICE_NAME_LABEL || key === SLICE_MANAGED_BY_LABEL || key === HEADLESS_LABEL;
}

/** All labels of a service's slices (docs/spec/endpointslice.md "Labels"). */
export function sliceLabels(service: ServiceRecord): Record<string, string> {
  const labels: Record<string, string> = {};
  for (let i = 0; i < service.labels.length; i += 2) {
    const key = service.labels[i]!;
    if (!isReserved(key)) setKey(labels, key, service.labels[i + 1]!);
  }
  if (service.clusterIP === '' || service.clusterIP === 'None') labels[HEADLESS_LABEL] = '';
  labels[SERVICE_NAME_LABEL] = service.name;
  labels[SLICE_MANAGED_BY_LABEL] = SLICE_MANAGED_BY_VALUE;
  return labels;
}

/**
 * The first label of a service that its slices cannot take over; null = there is none (docs/spec/endpointslice.md
 * "Labels").
 */
export function reservedLabelProblem({ namespace, name, labels }: ServiceRecord): Problem | null {
  for (let i = 0; i < labels.length; i += 2) {
    const key = labels[i]!;
    if (!isReserved(key)) continue;
    return {
      kind: 'reserved-label',
      object: `service ${namespace}/${name}`,
      field: `metadata.labels[${key}]`,
      message: 'this controller sets the label on slices, the value of the Service is ignored',
    };
  }
  return null;
}

/**
 * Whether a slice has the labels that its Service gives it. Reserved labels are not compared: they are no reason to
 * write (docs/spec/endpointslice.md "Labels").
 */
export function sliceLabelsAreRight(
  labels: Readonly<Record<string, string>> | null | undefined,
  serviceLabels: Labels,
): boolean {
  let wanted = 0;
  for (let i = 0; i < serviceLabels.length; i += 2) {
    const key = serviceLabels[i]!;
    if (isReserved(key)) continue;
    wanted++;
    if (labels === null || labels === undefined) return false;
    if (!Object.hasOwn(labels, key) || labels[key] !== serviceLabels[i + 1]) return false;
  }
  for (const key in labels) if (!isReserved(key)) wanted--;
  return wanted === 0;
}

/** Whether the slice belongs to this service and this controller, by its labels. */
export function sliceIsOurs(labels: Readonly<Record<string, string>> | null | undefined, serviceName: string): boolean {
  return labels?.[SERVICE_NAME_LABEL] === serviceName && labels[SLICE_MANAGED_BY_LABEL] === SLICE_MANAGED_BY_VALUE;
}

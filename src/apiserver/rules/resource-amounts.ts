import { forbidden, invalid, required, type FieldError } from '../field-error.ts';
import { child } from '../object.ts';
import { parseQuantity, QuantityError } from '../quantity.ts';
import { qualifiedName } from './name-rules.ts';

type Json = Record<string, unknown>;

const CONTAINER_RESOURCES: readonly string[] = ['cpu', 'memory', 'ephemeral-storage'];
const STANDARD_RESOURCES: readonly string[] = [
  ...CONTAINER_RESOURCES,
  'storage',
  'pods',
  'services',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
  'requests.cpu',
  'requests.memory',
  'requests.storage',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
];
/** Resources that are counted, so their amounts are whole numbers. */
const WHOLE_RESOURCES: readonly string[] = STANDARD_RESOURCES.slice(4, 13);

/** The server counts thousandths in 64 bits. An amount that does not fit counts as no whole number. */
const MILLI_MAX = 2n ** 63n - 1n;

/** The amount in thousandths. An absent amount, and a text that is no quantity, is 0. */
export function amountOf(value: unknown): bigint {
  if (typeof value !== 'string') return 0n;
  try {
    return parseQuantity(value).milli;
  } catch (error) {
    if (error instanceof QuantityError) return 0n;
    throw error;
  }
}

/** The errors of one resource's amount. */
export function quantityErrors(field: string, name: string, value: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  const milli = amountOf(value);
  if (milli < 0n) errors.push(invalid(field, value, 'must be greater than or equal to 0'));
  const whole = WHOLE_RESOURCES.includes(name) || !isNative(name);
  if (whole && (milli % 1000n !== 0n || milli > MILLI_MAX)) errors.push(invalid(field, value, 'must be an integer'));
  return errors;
}

/** Validates names and amounts of a container's limits and requests. A request may not exceed its limit. */
export function validateResources(errors: FieldError[], field: string, resources: Json): void {
  const limits = child(resources, 'limits') as Record<string, string>;
  const requests = child(resources, 'requests') as Record<string, string>;
  for (const [list, amounts] of [['limits', limits] as const, ['requests', requests] as const]) {
    for (const name of Object.keys(amounts).sort()) {
      const item = `${field}.${list}[${name}]`;
      for (const problem of nameProblems(name)) errors.push(invalid(item, name, problem));
      errors.push(...quantityErrors(item, name, amounts[name]!));
      if (list === 'requests') validateRequest(errors, field, name, amounts[name]!, limits[name]);
    }
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.includes('cpu') && !names.includes('memory')) {
    errors.push(forbidden(field, 'HugePages require cpu or memory'));
  }
}

function validateRequest(
  errors: FieldError[],
  field: string,
  name: string,
  request: string,
  limit: string | undefined,
): void {
  const overcommits = isNative(name) && !isHugePages(name);
  if (limit === undefined) {
    if (!overcommits) errors.push(required(`${field}.limits`, 'Limit must be set for non overcommitable resources'));
    return;
  }
  const over = amountOf(request) - amountOf(limit);
  if (over !== 0n && !overcommits) {
    errors.push(invalid(`${field}.requests`, request, `must be equal to ${name} limit of ${limit}`));
  } else if (over > 0n) {
    errors.push(invalid(`${field}.requests`, request, `must be less than or equal to ${name} limit of ${limit}`));
  }
}

function nameProblems(name: string): readonly string[] {
  const problems = [...qualifiedName(name)];
  if (name.includes('/')) return problems;
  const forContainers = CONTAINER_RESOURCES.includes(name) || isHugePages(name);
  if (problems.length === 0 && !forContainers && !STANDARD_RESOURCES.includes(name)) {
    problems.push('must be a standard resource type or fully qualified');
  }
  if (!forContainers) problems.push('must be a standard resource for containers');
  return problems;
}

function isNative(name: string): boolean {
  return !name.includes('/') || name.includes('kubernetes.io/');
}

function isHugePages(name: string): boolean {
  return name.startsWith('hugepages-');
}

/** Today's flags as `/configz` of a kube-controller-manager, or of endpointd, tells them. */
import { parseDuration } from '../lib/duration.ts';
import type { Settings } from '../twin/settings.ts';

/** `message` names the field. */
export class ConfigzError extends Error {}

const ROOT = 'kubecontrollermanager.config.k8s.io';

interface Field {
  readonly path: readonly [section: string, ...names: string[]];
  readonly kind: 'number' | 'duration';
}

/** Where each setting stands. What endpointd alone has is not in it. */
const FIELDS: Readonly<Partial<Record<keyof Settings, Field>>> = {
  endpointSyncs: { path: ['EndpointController', 'ConcurrentEndpointSyncs'], kind: 'number' },
  serviceEndpointSyncs: { path: ['EndpointSliceController', 'ConcurrentServiceEndpointSyncs'], kind: 'number' },
  endpointsBatchMs: { path: ['EndpointController', 'EndpointUpdatesBatchPeriod'], kind: 'duration' },
  slicesBatchMs: { path: ['EndpointSliceController', 'EndpointUpdatesBatchPeriod'], kind: 'duration' },
  endpointsPerSlice: { path: ['EndpointSliceController', 'MaxEndpointsPerSlice'], kind: 'number' },
  qps: { path: ['Generic', 'ClientConnection', 'qps'], kind: 'number' },
  burst: { path: ['Generic', 'ClientConnection', 'burst'], kind: 'number' },
};

/**
 * The settings that it tells.
 * @throws ConfigzError when it is something else's, or lacks a field
 */
export function parseConfigz(text: string): Partial<Settings> {
  const config = fieldOf(jsonOf(text), ROOT);
  if (config === undefined) throw new ConfigzError(`this is the configuration of something else: ${ROOT} is not in it`);
  return Object.fromEntries(
    Object.entries(FIELDS).map(([name, { path, kind }]) => {
      const value = path.reduce<unknown>(fieldOf, config);
      const read = kind === 'number' ? numberOf(value) : durationOf(value);
      if (read === null)
        throw new ConfigzError(`${path.join('.')}: ${JSON.stringify(value) ?? 'nothing'} is no ${kind}`);
      return [name, read];
    }),
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new ConfigzError('it is no JSON');
  }
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

function durationOf(value: unknown): number | null {
  const ms = typeof value === 'string' ? parseDuration(value) : null;
  return ms !== null && ms >= 0 ? ms : null;
}

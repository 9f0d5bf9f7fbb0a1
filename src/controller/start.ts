/** How a process fills its caches, output by output and input by input, and when a controller begins. */
import type { Now } from './event.ts';
import { nodeTarget, podTarget, serviceTarget } from './caches/inputs.ts';
import { endpointsTarget, sliceTarget } from './caches/objects.ts';
import { scheduleResync, startSweep } from './caches/sweep.ts';
import { createReflector, type Reflector, type ReflectorTarget, type Versioned } from './reflectors/reflector.ts';
import { startReflector } from './reflectors/reflector-requests.ts';
import type { ControllerState } from './state.ts';
import { SLICE_MANAGED_BY_LABEL } from '../kube/names.ts';
import { roughDuration } from '../lib/duration.ts';

interface Cache {
  readonly resource: Reflector['resource'];
  readonly path: string;
  readonly target: (state: ControllerState) => ReflectorTarget<Versioned>;
  /** The controllers write this resource. */
  readonly isOutput: boolean;
}

/** In the order in which they are listed. */
const CACHES: readonly Cache[] = [
  { resource: 'endpoints', path: '/api/v1/endpoints', target: endpointsTarget, isOutput: true },
  {
    resource: 'endpointslices',
    path: '/apis/discovery.k8s.io/v1/endpointslices',
    target: sliceTarget,
    isOutput: true,
  },
  { resource: 'services', path: '/api/v1/services', target: serviceTarget, isOutput: false },
  { resource: 'nodes', path: '/api/v1/nodes', target: nodeTarget, isOutput: false },
  { resource: 'pods', path: '/api/v1/pods', target: podTarget, isOutput: false },
];

/** Starts lists and watches. A second call does nothing. */
export function openCaches(state: ControllerState, now: Now): void {
  if (state.reflectors.length > 0) return;
  state.cachesOpenedAtMs = now.nowMs;
  const needed = new Set(state.controllers.flatMap((controller) => controller.caches(state.options)));
  state.reflectors = CACHES.filter(({ resource }) => needed.has(resource)).map(({ resource, path, target }) => {
    const selector = resource === 'endpointslices' ? sliceSelector(state) : '';
    return createReflector(resource, path, target(state), state.options.watchList, selector);
  });
  for (const reflector of state.reflectors) {
    if (isOutput(reflector)) startReflector(state.hands.reflectors, reflector, now);
  }
}

/** Only EndpointSlices of these controllers are listed and watched. */
function sliceSelector(state: ControllerState): string {
  const ours = state.controllers.map(({ managedBy }) => managedBy).filter((value) => value !== '');
  return `${SLICE_MANAGED_BY_LABEL} in (${ours.join(',')})`;
}

function isOutput(reflector: Reflector): boolean {
  return CACHES.some((cache) => cache.isOutput && cache.resource === reflector.resource);
}

/** After so long an output whose list fails again and again holds up no other controller any more. */
const OUTPUT_FAILS_MS = 60_000;

/**
 * Outputs are listed first, so that inputs are never older than they are (docs/protocols.md "Start and relist"). An output
 * that the server refuses to list, does not know, or has failed to list for a minute must not hold up the controllers that
 * do not need it.
 */
export function startInputs(state: ControllerState, now: Now): void {
  if (state.phase !== 'starting') return;
  const outputs = state.reflectors.filter(isOutput);
  const isLate = now.nowMs >= state.cachesOpenedAtMs + OUTPUT_FAILS_MS;
  const isGivenUp = ({ refused, phase }: Reflector): boolean => refused || (isLate && phase.name === 'waiting');
  if (!outputs.some(({ synced }) => synced)) return;
  if (!outputs.every((output) => output.synced || isGivenUp(output))) return;
  for (const reflector of state.reflectors) {
    if (!isOutput(reflector)) startReflector(state.hands.reflectors, reflector, now);
  }
}

/** A first list is complete. Each controller waits only for the caches that it reads. */
export function startControllers(state: ControllerState, now: Now): void {
  if (state.phase !== 'starting') return;
  const synced = new Set(state.reflectors.filter((reflector) => reflector.synced).map(({ resource }) => resource));
  for (const controller of state.controllers) {
    if (controller.running || !controller.caches(state.options).every((resource) => synced.has(resource))) continue;
    controller.running = true;
    state.outbox.log('info', 0, 'Caches are filled', {
      controller: controller.name,
      services: state.existingServices,
      took: roughDuration(now.nowMs - state.cachesOpenedAtMs),
    });
    startSweep(state, controller, now);
  }
  if (state.resyncAtMs === Infinity && state.controllers.some(({ running }) => running)) scheduleResync(state, now);
  if (!state.controllers.every(({ running }) => running)) return;
  state.phase = 'running';
  state.reports.allDue({ services: state.existingServices, startedAtMs: state.cachesOpenedAtMs }, now);
}

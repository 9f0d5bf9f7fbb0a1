/**
 * What watches of our own, without a recorder, tell of one Service: how long each ready address, and each address that is
 * ready no longer, took from the event of its pod to the event of the object that shows it.
 */
import { performance } from 'node:perf_hooks';
import type { KubeObject } from '../../src/kube/types.ts';
import type { ApiClient, ApiWatch } from '../../src/node/api-client.ts';
import { OUTPUT_PATHS, readyIn, type Written } from './ready-watch.ts';

/** Milliseconds, in the order in which they were shown. */
export interface ShownTimes {
  readonly addedMs: readonly number[];
  readonly removedMs: readonly number[];
}

export interface ShownWatch {
  readonly shown: Readonly<Record<Written, ShownTimes>>;
  stop(): Promise<void>;
}

interface Output {
  readonly addedMs: number[];
  readonly removedMs: number[];
  /** Of the one object. */
  ready: ReadonlySet<string>;
  readonly awaited: Map<string, { readonly isReady: boolean; readonly sinceMs: number }>;
}

/** @param namespace its pods are all of one Service, which has one slice and no pod at the start */
export async function watchShown(client: ApiClient, namespace: string): Promise<ShownWatch> {
  const shown = { endpoints: createOutput(), endpointslices: createOutput() };
  const ready = new Map<string, string>();

  const takePod = (type: string, pod: KubeObject): void => {
    const { name } = pod.metadata;
    const before = ready.get(name!);
    const now = type === 'DELETED' ? undefined : readyAddressOf(pod);
    if (before === now) return;
    if (now === undefined) ready.delete(name!);
    else ready.set(name!, now);
    const [address, isReady] = now === undefined ? [before!, false] : [now, true];
    for (const output of Object.values(shown)) {
      output.awaited.set(address, { isReady, sinceMs: performance.now() });
      show(output, address);
    }
  };
  const takeOutput = (output: Output, type: string, object: KubeObject): void => {
    output.ready = new Set(type === 'DELETED' ? [] : readyIn(object));
    for (const address of output.awaited.keys()) show(output, address);
  };

  const watches: ApiWatch[] = [];
  const watch = async (path: string, take: (type: string, object: KubeObject) => void): Promise<void> => {
    const { resourceVersion } = await client.list(path);
    watches.push(client.watch(path, resourceVersion, take));
  };
  await watch(`/api/v1/namespaces/${namespace}/pods`, takePod);
  for (const kind of Object.keys(OUTPUT_PATHS) as Written[])
    await watch(OUTPUT_PATHS[kind](namespace), (type, object) => takeOutput(shown[kind], type, object));
  return {
    shown,
    async stop() {
      for (const one of watches) one.stop();
      await Promise.all(watches.map(({ ended }) => ended));
    },
  };
}

function createOutput(): Output {
  return { addedMs: [], removedMs: [], ready: new Set(), awaited: new Map() };
}

/** Takes the time of an awaited address that the object shows. */
function show({ addedMs, removedMs, ready, awaited }: Output, address: string): void {
  const { isReady, sinceMs } = awaited.get(address)!;
  if (ready.has(address) !== isReady) return;
  awaited.delete(address);
  (isReady ? addedMs : removedMs).push(performance.now() - sinceMs);
}

function readyAddressOf(pod: KubeObject): string | undefined {
  const { podIP, conditions = [] } = pod['status'] as {
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True') ? podIP : undefined;
}

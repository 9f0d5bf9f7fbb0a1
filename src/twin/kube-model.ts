/**
 * kube-controller-manager's endpoints and endpointslice controllers as queues (docs/spec/endpoints.md "The work queue",
 * docs/spec/endpointslice.md "The slice tracker"). Each has its own workers and its own bucket of tokens; one that waits for a
 * token waits with its service. Writes of a sync go one after the other.
 */
import { createTokenBucket, nextTokenMs, tryTakeToken, type TokenBucket } from '../controller/writes/rate-limit.ts';
import { append, createLinkedList, type LinkedList, type LinkedNode, remove } from '../lib/linked-list.ts';
import { at } from './agenda.ts';
import {
  bytesOf,
  closeBook,
  createBook,
  noteShown,
  planService,
  sizeOf,
  takeChange,
  type Book,
  type ModelWrite,
} from './book.ts';
import {
  addKey,
  addKeyAfter,
  createKubeQueue,
  forgetFailures,
  keyDone,
  retryKey,
  takeKey,
  type KubeQueue,
} from './kube-queue.ts';
import type { Output } from './ledger.ts';
import { compute, createThread, runOn, type Thread } from './processors.ts';
import type { StoryChange } from './story.ts';
import type { Model, World } from './world.ts';

interface KubeController {
  readonly world: World;
  readonly book: Book;
  readonly queue: KubeQueue;
  readonly batchMs: number;
  readonly workers: number;
  busyWorkers: number;
  readonly pods: LinkedList<PodEvent>;
  busyPodWorkers: number;
  /** What its handlers are called by: events one after the other. */
  readonly listener: Thread;
  /** Of its outputs. */
  readonly informer: Thread;
  readonly tokens: TokenBucket;
  /** Own writes of each service that its cache does not show yet. */
  readonly unseen: Int32Array;
  readonly writesOf: Int32Array;
}

interface PodEvent extends LinkedNode<PodEvent> {
  readonly change: StoryChange;
}

/** Upstream's first wait of a failed sync. */
const FIRST_RETRY_MS: Readonly<Record<Output, number>> = { endpoints: 5, slices: 1000 };

/** From this minor version on, a pod event waits in a queue of its own until its services are looked for. */
const POD_QUEUE_SINCE = 35;

export function createKubeModel(world: World): Model {
  const { settings } = world;
  const informer = createThread(world.cores);
  const controllers = [
    createController(world, 'endpoints', settings.endpointSyncs, settings.endpointsBatchMs),
    createController(world, 'slices', settings.serviceEndpointSyncs, settings.slicesBatchMs),
  ];
  return {
    take: (change) =>
      runOn(informer, world.costs.intake, () => {
        for (const controller of controllers) takeEvent(controller, change);
      }),
    close: () => {
      for (const { book } of controllers) closeBook(book);
    },
  };
}

function createController(world: World, output: Output, workers: number, batchMs: number): KubeController {
  const { agenda, cores, ledger, settings, story } = world;
  const controller: KubeController = {
    world,
    book: createBook(story, output, ledger, settings.endpointsPerSlice),
    queue: createKubeQueue(agenda, FIRST_RETRY_MS[output], () => startSyncs(controller)),
    batchMs,
    workers,
    busyWorkers: 0,
    pods: createLinkedList(),
    busyPodWorkers: 0,
    listener: createThread(cores),
    informer: createThread(cores),
    tokens: createTokenBucket(settings.qps, settings.burst),
    unseen: new Int32Array(story.services.length),
    writesOf: new Int32Array(story.services.length),
  };
  return controller;
}

function takeEvent(controller: KubeController, change: StoryChange): void {
  const { book, queue, world } = controller;
  for (const placed of change.places) takeChange(book, placed, change.atMs);
  if (change.kind === 'service') addKey(queue, change.service);
  if (change.kind !== 'pod') return;
  if (world.kubeMinor < POD_QUEUE_SINCE) {
    runOn(controller.listener, matchMs(controller, change), () => queueServices(controller, change));
    return;
  }
  append(controller.pods, { change, previous: null, next: null });
  startPods(controller);
}

/** As many workers as sync services find the services of pods. Equal events are not merged. */
function startPods(controller: KubeController): void {
  const { pods, world } = controller;
  while (controller.busyPodWorkers < controller.workers && pods.first !== null) {
    const { change } = pods.first;
    remove(pods, pods.first);
    controller.busyPodWorkers++;
    compute(world.cores, matchMs(controller, change), () => {
      controller.busyPodWorkers--;
      queueServices(controller, change);
      startPods(controller);
    });
  }
}

function matchMs({ world }: KubeController, { namespace }: StoryChange): number {
  return world.costs.match * world.story.namespaces[namespace]!.services;
}

function queueServices({ queue, batchMs, world }: KubeController, { places }: StoryChange): void {
  for (const { place } of places) {
    addKeyAfter(queue, world.story.places[place]!.service, batchMs);
  }
}

function startSyncs(controller: KubeController): void {
  while (controller.busyWorkers < controller.workers) {
    const service = takeKey(controller.queue);
    if (service < 0) return;
    controller.busyWorkers++;
    sync(controller, service);
  }
}

function sync(controller: KubeController, service: number): void {
  const { book, unseen, world } = controller;
  const { costs, ledger, story } = world;
  ledger.syncs++;
  const isStale = unseen[service]! > 0;
  const { pods } = story.namespaces[story.services[service]!.namespace]!;
  const writes = isStale ? [] : planService(book, service);
  compute(world.cores, costs.sync + costs.scan * pods + costs.endpoint * sizeOf(book, service), () => {
    if (isStale) {
      ledger.staleSyncs++;
      if (!retryKey(controller.queue, service)) ledger.dropped++;
      done(controller, service);
    } else {
      writeNext(controller, service, writes, 0);
    }
  });
}

function writeNext(controller: KubeController, service: number, writes: readonly ModelWrite[], i: number): void {
  const { book, tokens, world } = controller;
  const { agenda, costs, ledger } = world;
  const write = writes[i];
  if (write === undefined) {
    forgetFailures(controller.queue, service);
    done(controller, service);
    return;
  }
  const sentMs = Math.max(agenda.nowMs, nextTokenMs(tokens));
  tryTakeToken(tokens, sentMs);
  ledger.throttledMs += sentMs - agenda.nowMs;
  at(agenda, sentMs, () => {
    compute(world.cores, costs.write + costs.writtenByte * bytesOf(book, write), () => {
      at(agenda, agenda.nowMs + world.latencyOf(service, controller.writesOf[service]!++), () => {
        noteShown(book, write, agenda.nowMs);
        expectEcho(controller, service);
        compute(world.cores, costs.reply, () => writeNext(controller, service, writes, i + 1));
      });
    });
  });
}

/** Until its cache shows an own write, a service cannot be synced. */
function expectEcho({ informer, unseen, world }: KubeController, service: number): void {
  unseen[service]!++;
  at(world.agenda, world.agenda.nowMs + world.watchLagMs, () => {
    runOn(informer, world.costs.echo, () => {
      unseen[service]!--;
    });
  });
}

function done(controller: KubeController, service: number): void {
  controller.busyWorkers--;
  keyDone(controller.queue, service);
  startSyncs(controller);
}

/**
 * endpointd's endpoints and endpointslice controllers as queues: its own work queues and bucket of tokens, one main thread,
 * and writes of a sync side by side, those that take nothing away first.
 */
import { createPace, noteChange, type Pace } from '../controller/queues/batch-pace.ts';
import {
  addWork,
  createWorkItem,
  createWorkQueue,
  doneWork,
  nextWorkMs,
  takeWork,
  type WorkItem,
  type WorkQueue,
} from '../controller/queues/workqueue.ts';
import { createTokenBucket, nextTokenMs, tryTakeToken, type TokenBucket } from '../controller/writes/rate-limit.ts';
import { append, createLinkedList, type LinkedList, type LinkedNode, remove } from '../lib/linked-list.ts';
import { at } from './agenda.ts';
import {
  closeBook,
  createBook,
  noteShown,
  planService,
  sizeOf,
  takeChange,
  type Book,
  type ModelWrite,
} from './book.ts';
import type { Output } from './ledger.ts';
import { createThread, runOn, type Thread } from './processors.ts';
import type { StoryChange } from './story.ts';
import type { Model, World } from './world.ts';

interface OwnController {
  readonly book: Book;
  readonly queue: WorkQueue<number>;
  readonly items: readonly WorkItem<number>[];
  readonly paces: readonly Pace[];
  readonly batchMs: number;
  readonly writesOf: Int32Array;
}

interface Own {
  readonly world: World;
  readonly main: Thread;
  readonly tokens: TokenBucket;
  readonly controllers: readonly OwnController[];
  readonly writes: LinkedList<QueuedWrite>;
  inFlight: number;
  wakesAtMs: number;
  writesAtMs: number;
}

interface QueuedWrite extends LinkedNode<QueuedWrite> {
  readonly controller: OwnController;
  readonly service: number;
  readonly write: ModelWrite;
  readonly queuedMs: number;
  readonly done: () => void;
}

export function createEndpointdModel(world: World): Model {
  const { cores, settings } = world;
  const own: Own = {
    world,
    main: createThread(cores),
    tokens: createTokenBucket(settings.qps * settings.controllers, settings.burst * settings.controllers),
    controllers: [
      createController(world, 'endpoints', settings.endpointSyncs, settings.endpointsBatchMs),
      createController(world, 'slices', settings.serviceEndpointSyncs, settings.slicesBatchMs),
    ],
    writes: createLinkedList(),
    inFlight: 0,
    wakesAtMs: Infinity,
    writesAtMs: Infinity,
  };
  return {
    take: (change) => runOn(own.main, world.costs.intake, () => takeEvent(own, change)),
    close: () => {
      for (const { book } of own.controllers) closeBook(book);
    },
  };
}

function createController(world: World, output: Output, syncs: number, batchMs: number): OwnController {
  const { ledger, settings, story } = world;
  return {
    book: createBook(story, output, ledger, settings.endpointsPerSlice),
    queue: createWorkQueue(output, syncs),
    items: story.services.map(({ namespace }, service) => createWorkItem(service, String(namespace))),
    paces: story.services.map(() => createPace()),
    batchMs,
    writesOf: new Int32Array(story.services.length),
  };
}

function takeEvent(own: Own, change: StoryChange): void {
  const { agenda, settings, story } = own.world;
  const { adaptiveBatchMs } = settings;
  for (const controller of own.controllers) {
    const { book, queue, items } = controller;
    for (const placed of change.places) {
      takeChange(book, placed, change.atMs);
      if (change.kind !== 'pod') continue;
      const { service } = story.places[placed.place]!;
      const item = items[service]!;
      const pace = controller.paces[service]!;
      const delayMs =
        adaptiveBatchMs > 0
          ? Math.max(controller.batchMs, noteChange(pace, item.freshDueMs === Infinity, agenda.nowMs, adaptiveBatchMs))
          : controller.batchMs;
      addWork(queue, item, 'fresh', agenda.nowMs, delayMs);
    }
    if (change.kind === 'service') addWork(queue, items[change.service]!, 'fresh', agenda.nowMs);
  }
  startSyncs(own);
}

function startSyncs(own: Own): void {
  const { agenda } = own.world;
  let nextMs = Infinity;
  for (const controller of own.controllers) {
    for (;;) {
      const item = takeWork(controller.queue, agenda.nowMs);
      if (item === null) break;
      sync(own, controller, item);
    }
    nextMs = Math.min(nextMs, nextWorkMs(controller.queue));
  }
  if (nextMs >= own.wakesAtMs) return;
  own.wakesAtMs = nextMs;
  at(agenda, nextMs, () => {
    if (own.wakesAtMs === nextMs) own.wakesAtMs = Infinity;
    startSyncs(own);
  });
}

function sync(own: Own, controller: OwnController, item: WorkItem<number>): void {
  const { agenda, costs, ledger } = own.world;
  const { book } = controller;
  ledger.syncs++;
  runOn(own.main, costs.sync + costs.endpoint * sizeOf(book, item.key), () => {
    const writes = planService(book, item.key);
    const phases = [writes.filter(({ verb }) => verb !== 'delete'), writes.filter(({ verb }) => verb === 'delete')];
    writePhases(own, controller, item.key, phases, () => {
      doneWork(controller.queue, item, agenda.nowMs);
      startSyncs(own);
    });
  });
}

function writePhases(
  own: Own,
  controller: OwnController,
  service: number,
  [phase, ...others]: readonly (readonly ModelWrite[])[],
  done: () => void,
): void {
  if (phase === undefined) {
    done();
    return;
  }
  let open = phase.length;
  if (open === 0) {
    writePhases(own, controller, service, others, done);
    return;
  }
  const queuedMs = own.world.agenda.nowMs;
  for (const write of phase) {
    const answered = (): void => {
      if (--open === 0) writePhases(own, controller, service, others, done);
    };
    append(own.writes, { controller, service, write, queuedMs, done: answered, previous: null, next: null });
  }
  flush(own);
}

function flush(own: Own): void {
  const { agenda, costs, ledger } = own.world;
  for (;;) {
    const queued = own.writes.first;
    if (queued === null || own.inFlight >= IN_FLIGHT_MAX) return;
    if (!tryTakeToken(own.tokens, agenda.nowMs)) {
      flushAt(own, nextTokenMs(own.tokens));
      return;
    }
    remove(own.writes, queued);
    const { controller, service, write } = queued;
    own.inFlight++;
    ledger.throttledMs += agenda.nowMs - queued.queuedMs;
    runOn(own.main, costs.write + costs.writtenEndpoint * write.endpoints, () => {
      at(agenda, agenda.nowMs + own.world.latencyOf(service, controller.writesOf[service]!++), () => {
        noteShown(controller.book, write, agenda.nowMs);
        own.inFlight--;
        queued.done();
        flush(own);
      });
    });
  }
}

function flushAt(own: Own, dueMs: number): void {
  if (dueMs >= own.writesAtMs) return;
  own.writesAtMs = dueMs;
  at(own.world.agenda, dueMs, () => {
    if (own.writesAtMs === dueMs) own.writesAtMs = Infinity;
    flush(own);
  });
}

/** `--max-writes-in-flight`, as it is when nothing is said, of all controllers together. */
const IN_FLIGHT_MAX = 64;

/**
 * The planner of a shard. It knows the services of the shard and says what has to be written. Batches go in and replies
 * come out, as bytes where it runs on a thread of its own. It has state and is deterministic. It runs unchanged in a
 * thread, on the main thread and in the simulator. Its state is a cache: a full snapshot and the observed objects
 * rebuild all of it.
 */
import { TooManyAddresses } from '../core/endpoints/layout-size.ts';
import type { Problem } from '../core/problem.ts';
import type { CpuShares } from '../core/slices/cpu-shares.ts';
import type { ServiceRecord } from '../kube/types.ts';
import { assert } from '../lib/assert.ts';
import { errorMessage } from '../lib/error-message.ts';
import { createPrng } from '../lib/prng.ts';
import { pushAll } from '../lib/push-all.ts';
import {
  acknowledge,
  createServiceOutputs,
  followPods,
  forgetSlices,
  OUTPUTS,
  isPending,
  pendingWrites,
  planOutput,
  type ServiceOutputs,
  takeProblems,
  takeSlice,
} from './outputs.ts';
import type { PlanInput } from './planner-output.ts';
import {
  type Ack,
  type Batch,
  type BatchEntry,
  OUTPUT_KINDS,
  type OutputKind,
  type Plan,
  type PlanFailure,
  type PlannerConfig,
  type PlanReply,
  type ServiceResult,
} from './protocol.ts';
import { createStored, storeObserved, type Stored } from './stored-endpoints.ts';
import { drawSuffix } from './suffix.ts';

export interface Planner {
  readonly config: PlannerConfig;
  readonly services: Map<string, PlannerService>;
  /** The newest shares that a batch has told. */
  shares: CpuShares | null;
  /** Zones by node. Nodes without a zone are missing. Empty unless mirrored endpoints have zones. */
  readonly zones: Map<string, string>;
  writesPlanned: number;
}

/** What the planner keeps of one service. */
interface PlannerService {
  readonly key: string;
  /** The version of the inputs, as the main thread counts it; 0 = objects were told, but no snapshot. */
  version: number;
  /** null = no snapshot was told. */
  spec: ServiceRecord | null;
  /** The Endpoints object. One output writes it, and another reads it. */
  readonly endpoints: Stored;
  readonly outputs: ServiceOutputs;
}

/** The part that all entries of one batch share. */
interface BatchContext {
  readonly planner: Planner;
  /** The random end of a new slice's name. */
  readonly suffix: () => string;
  readonly nextId: () => number;
}

/** One entry while it is worked on. */
interface Task {
  readonly planner: Planner;
  readonly service: PlannerService;
  readonly entry: BatchEntry;
  readonly problems: Problem[];
  /**
   * The messages of thrown errors, by output. Such an output is left alone for the rest of the entry. null = nothing
   * was thrown.
   */
  thrown: Map<OutputKind, string> | null;
}

export function createPlanner(config: PlannerConfig): Planner {
  return { config, services: new Map(), shares: null, zones: new Map(), writesPlanned: 0 };
}

/**
 * Works on a batch. Three things can fail. An entry that cannot be taken is answered with an error, and the planner drops
 * the state of its service. An output that throws fails alone: the other outputs are planned, and then the state of the
 * service is dropped. An output that is too large fails alone too, and nothing is dropped.
 */
export function plan(planner: Planner, batch: Batch): PlanReply {
  if (batch.shares !== undefined) planner.shares = batch.shares;
  for (const { node, zone } of batch.zones ?? []) {
    if (zone === '') planner.zones.delete(node);
    else planner.zones.set(node, zone);
  }
  const context = startBatch(planner, batch.seed);
  return { error: null, results: batch.entries.map((entry) => planService(context, entry)) };
}

function startBatch(planner: Planner, seed: number): BatchContext {
  const prng = createPrng(seed);
  return { planner, suffix: () => drawSuffix(prng), nextId: () => ++planner.writesPlanned };
}

function planService(context: BatchContext, entry: BatchEntry): ServiceResult {
  const { service } = entry;
  try {
    return takeEntry(context, entry);
  } catch (error) {
    context.planner.services.delete(service);
    return { service, ...NOTHING_PLANNED, needFull: false, error: `${service}: ${errorMessage(error)}` };
  }
}

const NOTHING_PLANNED = { plans: [], failures: [], problems: [] } as const;

function takeEntry(context: BatchContext, entry: BatchEntry): ServiceResult {
  const { planner } = context;
  const { services, config } = planner;
  if (entry.spec === null) {
    services.delete(entry.service);
    return { service: entry.service, ...NOTHING_PLANNED, needFull: false, error: null };
  }
  for (const kind of entry.outputs) assert(config.outputs.includes(kind), `${kind} are not planned here`);
  const service = serviceOf(planner, entry.service);
  const task: Task = { planner, service, entry, problems: [], thrown: null };
  for (const ack of entry.acks) takeAck(task, ack);
  observe(task);
  const isCurrent = takeInputs(task);
  const { plans, failures } = isCurrent ? planOutputs(context, task) : NOTHING_PLANNED;
  const { problems, thrown } = task;
  if (thrown !== null) services.delete(service.key);
  return { service: service.key, needFull: !isCurrent || thrown !== null, plans, failures, problems, error: null };
}

function serviceOf(planner: Planner, key: string): PlannerService {
  let service = planner.services.get(key);
  if (service === undefined) {
    service = { key, version: 0, spec: null, endpoints: createStored(), outputs: createServiceOutputs() };
    planner.services.set(key, service);
  }
  return service;
}

/** Works on one output; undefined = it threw, and fails alone. */
function attempt<T>(task: Task, kind: OutputKind, act: () => T): T | undefined {
  if (task.thrown?.has(kind) === true) return undefined;
  try {
    return act();
  } catch (error) {
    (task.thrown ??= new Map()).set(kind, `planning failed: ${task.service.key}: ${errorMessage(error)}`);
    return undefined;
  }
}

function takeAck(task: Task, ack: Ack): void {
  const { spec, outputs, endpoints } = task.service;
  // The state from which the write was planned has been dropped since.
  if (spec === null) return;
  const kind = OUTPUT_KINDS.find((one) => isPending(outputs, one, ack.write));
  if (kind === undefined) {
    const pending = OUTPUT_KINDS.flatMap((one) => pendingWrites(outputs, one));
    assert(false, `ack of write ${ack.write}, pending is ${pending.join() || 'none'}`);
  }
  attempt(task, kind, () => acknowledge(outputs, kind, ack, endpoints));
}

function observe(task: Task): void {
  const { planner, service, entry, problems } = task;
  const { key, endpoints, outputs } = service;
  const { config } = planner;
  for (const kind of entry.relisted) {
    if (OUTPUTS[kind].slices === null) Object.assign(endpoints, createStored());
    else attempt(task, kind, () => forgetSlices(outputs, kind));
  }
  for (const observed of entry.observed) {
    const kind = observed.output;
    if (OUTPUTS[kind].slices === null) {
      const isNeeded = config.outputs.some((one) => OUTPUTS[one].needsEndpoints);
      assert(isNeeded, `no output that is planned here needs ${kind}`);
      storeObserved(endpoints, key, observed, problems);
    } else {
      assert(config.outputs.includes(kind), `${kind} are not planned here`);
      attempt(task, kind, () => takeSlice(outputs, kind, config, key, observed, problems));
    }
  }
}

/**
 * Takes the Service and the pods of an entry. Returns false, and takes nothing, if the planner does not have the
 * version that the entry builds on.
 */
function takeInputs(task: Task): boolean {
  const { planner, service, entry, problems } = task;
  const { base, spec, upserts, removals } = entry;
  const isSnapshot = base === 0 && spec != null;
  const isChange = spec !== undefined || upserts.length > 0 || removals.length > 0;
  if (!isSnapshot && (service.spec === null || service.version !== base)) return false;
  // A snapshot of a known service is taken as the difference to it, so that unchanged parts stay identical.
  const names = isSnapshot && service.spec !== null ? new Set(upserts.map(({ pod }) => pod.name)) : null;
  const change = { spec: spec ?? undefined, upserts, removals: isSnapshot ? [] : removals, names };
  if (spec != null) service.spec = spec;
  service.version = base + 1;
  if (!isChange) return true;
  const { outputs } = service;
  for (const kind of planner.config.outputs) {
    attempt(task, kind, () => {
      if (isSnapshot) assertNothingPending(outputs, kind);
      followPods(outputs, kind, planner.config, change);
      pushAll(problems, takeProblems(outputs, kind));
    });
  }
  return true;
}

function assertNothingPending(outputs: ServiceOutputs, kind: OutputKind): void {
  const pending = pendingWrites(outputs, kind);
  assert(pending.length === 0, `snapshot while write ${pending.join()} is not acked`);
}

function planOutputs({ suffix, nextId }: BatchContext, task: Task): Pick<ServiceResult, 'plans' | 'failures'> {
  const { planner, service, entry, problems } = task;
  const { spec, endpoints, outputs } = service;
  assert(spec !== null, 'inputs that are current have a Service');
  const plans: Plan[] = [];
  const failures: PlanFailure[] = [];
  const { config, shares, zones } = planner;
  const input: PlanInput = { config, spec, endpoints, shares, zones, suffix, nextId };
  for (const kind of OUTPUT_KINDS) {
    if (!entry.outputs.includes(kind)) continue;
    if (OUTPUTS[kind].needsEndpoints && endpoints.unreadable !== null) {
      problems.push(endpoints.unreadable);
      failures.push({ output: kind, message: `not planned: ${endpoints.unreadable.message}` });
      continue;
    }
    const planned = attempt(task, kind, () => planOrRefuse(outputs, kind, input, problems));
    if (planned === undefined) failures.push({ output: kind, message: task.thrown?.get(kind) ?? '' });
    else if (planned instanceof TooManyAddresses) {
      failures.push({ output: kind, message: `not planned: ${service.key}: ${planned.message}` });
    } else plans.push(planned);
  }
  return { plans, failures };
}

/** A service that is too large is no error of the planner: what is kept of it stays. */
function planOrRefuse(...asked: Parameters<typeof planOutput>): Plan | TooManyAddresses {
  try {
    return planOutput(...asked);
  } catch (error) {
    if (error instanceof TooManyAddresses) return error;
    throw error;
  }
}

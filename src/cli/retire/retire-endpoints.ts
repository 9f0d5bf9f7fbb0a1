import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { endpointsPath, servicePath } from '../../kube/key.ts';
import { JSON_TYPE } from '../../kube/media-type.ts';
import { projectService } from '../../kube/project.ts';
import { isNotFound } from '../../kube/status.ts';
import type { ServiceRecord } from '../../kube/types.ts';
import { parseJsonObject } from '../../kube/codec.ts';
import { createInterner } from '../../lib/interner.ts';
import { printable, printableJson } from '../../lib/printable.ts';
import { formatDuration } from '../../lib/duration.ts';
import { plural } from '../../lib/figures.ts';
import { type Asker, createAsker, type Reply } from '../../node/asker.ts';
import { endNow } from '../../node/end-process.ts';
import { writeWhole } from '../../node/output.ts';
import { getOrDeleteEndpoints, readOnly } from '../../node/read-only-transport.ts';
import { onStopSignals } from '../../node/signals.ts';
import { bool, choice, duration, number, text, WAIT_MS_MAX } from '../flags/flag-kinds.ts';
import { readFlags, type CommandFlags, type OptionsOf } from '../flags/flag-table.ts';
import { BEYOND_UPSTREAM_FLAGS, SERVER_FLAGS } from '../flags/flags.ts';
import { createProgress, type Progress } from '../progress.ts';
import { createPatientAsker, type PatientAsker } from './patience.ts';
import { collectionPath, endpointsWithServices, failureOf, isDone, uidNow, type WrittenMeta } from './retire-lists.ts';
import { fateOf } from './retire-rules.ts';
import { watchWrites, type WriteWatch } from './retire-watch.ts';
import { connect } from '../api-connection.ts';
import { starting, StartError, UsageError } from '../usage.ts';

const FLAGS = {
  delete: { kind: bool, default: 'false', help: 'delete; without it, the command only lists what it would delete' },
  namespace: { kind: text('<name>'), default: '', help: 'only this namespace; without it, all namespaces', short: 'n' },
  selector: {
    kind: text('<selector>'),
    default: '',
    help: "only Endpoints with these labels, in kubectl's syntax; Endpoints have the labels of their Services",
    short: 'l',
  },
  'opt-out-label': {
    kind: BEYOND_UPSTREAM_FLAGS['opt-out-label'].kind,
    default: BEYOND_UPSTREAM_FLAGS['opt-out-label'].default,
    help: "keep the Endpoints of Services that have this label, whatever its value; the same as endpointd run's flag",
  },
  qps: { kind: number(0.1, 1000), default: '20', help: 'most deletions a second' },
  'quiet-for': {
    kind: duration(1000, WAIT_MS_MAX),
    default: '30s',
    help: 'how long no controller may write Endpoints before the first deletion, and again after the first deletion that a controller would undo',
  },
  output: {
    kind: choice('<format>', ['text', 'json']),
    default: 'text',
    help: 'text for people, or one line of JSON for each object',
    short: 'o',
  },
} as const;

export const RETIRE_ENDPOINTS_FLAGS = {
  command: 'endpointd retire-endpoints',
  description:
    'Says which Endpoints the endpoints controller has left behind, and with --delete deletes them. Stops if a controller still writes Endpoints.',
  groups: [
    { title: '', flags: FLAGS },
    { title: 'Connection', flags: SERVER_FLAGS },
  ],
} as const satisfies CommandFlags;

/** Admission refuses single objects. To credentials without the right the server refuses all. */
const REFUSALS_MAX = 10;
const REFUSED: readonly number[] = [403, 422];

/** A label as of RFC 1123. */
const IS_NAMESPACE = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const isSomething = (said: string): boolean => said.trim() !== '';

/** What limits which objects go, by the name of its flag. */
const LIMITS = {
  namespace: {
    isValid: (said: string) => IS_NAMESPACE.test(said),
    is: 'name of a namespace',
    allowed: 'name, or no flag for all of them',
  },
  selector: { isValid: isSomething, is: 'selector', allowed: 'selector, or no flag for all of them' },
  'opt-out-label': { isValid: isSomething, is: 'key of a label', allowed: 'key, or no flag if no label opts out' },
} as const satisfies Partial<Record<keyof typeof FLAGS, object>>;

type RetireOptions = OptionsOf<typeof FLAGS & typeof SERVER_FLAGS>;

/** @throws UsageError or HelpShown */
export function parseRetireEndpointsFlags(args: readonly string[], print: (text: string) => void): RetireOptions {
  const { options, texts, given } = readFlags(RETIRE_ENDPOINTS_FLAGS, args, print);
  // An unset variable of a script is not to mean all namespaces, all Endpoints, or that no Service is opted out.
  for (const [name, { isValid, is, allowed }] of Object.entries(LIMITS)) {
    const said = texts[name]!;
    if (!given.has(name) || isValid(said)) continue;
    throw new UsageError(`--${name}: ${JSON.stringify(said)} is no ${is}. Allowed: a ${allowed}.`);
  }
  return options as RetireOptions;
}

interface Retiring {
  readonly options: RetireOptions;
  readonly ask: PatientAsker;
  readonly watch: WriteWatch;
  readonly progress: Progress;
  /** How many objects had each fate. */
  readonly counts: Map<string, number>;
  deletions: number;
  /** How many objects stay that should go. */
  left: number;
  /** Why the server has refused the last deletions; none = it has taken the last one. */
  readonly refusals: string[];
  /** Whether a running controller has had the time to undo one deletion. */
  controllersTried: boolean;
  /** That a deleted object is there again, in words; '' = none is. */
  madeAnew: string;
}

/** What became of an object. */
interface Outcome {
  readonly became: string;
  /** Why the server does not delete this object. */
  readonly refusal?: string;
  /** The deletion that the server has carried out. */
  readonly deletion?: Deletion;
}

interface Deletion {
  /** An object with finalizers is only marked: it stays until somebody has removed them, and so nobody makes it anew. */
  readonly isMarked: boolean;
  readonly hasService: boolean;
}

/**
 * `endpointd retire-endpoints`. Returns the exit status: 0 = everything that should go is deleted or marked, or listed;
 * 1 = a controller still writes Endpoints, something could not be read, watched or deleted, or an object has changed.
 */
export async function retireEndpoints(args: readonly string[]): Promise<number> {
  const options = parseRetireEndpointsFlags(args, (help) => process.stdout.write(help));
  const server = await connect(options, () => undefined, options.delete ? getOrDeleteEndpoints : readOnly);
  const progress = createProgress(process.stderr, () => performance.now());
  // The reader of the progress may go away. The deletions go on.
  process.stderr.on('error', () => undefined);
  // If the reader of stdout goes away, the next line notices.
  process.stdout.on('error', () => undefined);
  try {
    const ask = createPatientAsker(createAsker(server.transport), progress.show);
    const path = collectionPath(options.namespace, 'endpoints');
    const watch = watchWrites(server.transport, ask, path, await versionOf(ask, path));
    const retiring: Retiring = {
      options,
      ask,
      watch,
      progress,
      counts: new Map(),
      deletions: 0,
      left: 0,
      refusals: [],
      controllersTried: false,
      madeAnew: '',
    };
    const stopped = await retireAndCount(retiring);
    const { left } = retiring;
    if (stopped !== '') progress.done(`Stopped: ${printable(stopped)}`);
    else if (left > 0) progress.done(`${plural(left, 'object')} stayed that should go: start the command again`);
    return stopped === '' && left === 0 ? 0 : 1;
  } finally {
    await server.close();
  }
}

/** As `retire`. The counts are told also when it throws, and when a signal ends the command. */
async function retireAndCount(retiring: Retiring): Promise<string> {
  const off = onStopSignals((_signal, status) => {
    tellCounts(retiring);
    endNow(status);
  }, endNow);
  try {
    const stopped = await retire(retiring);
    const isEmpty = stopped === '' && retiring.counts.size === 0;
    if (isEmpty) retiring.progress.done(`No Endpoints were seen${scopeText(retiring.options)}.`);
    return stopped;
  } finally {
    off();
    retiring.watch.close();
    tellCounts(retiring);
  }
}

function tellCounts({ counts, progress }: Retiring): void {
  for (const [fate, count] of counts) progress.done(`${count} ${fate}`);
}

function scopeText({ namespace, selector }: RetireOptions): string {
  const where = namespace === '' ? '' : ` in namespace ${namespace}`;
  return selector === '' ? where : `${where} with the labels ${printable(selector)}`;
}

/** Why the run has ended early; '' = it is done. */
async function retire(retiring: Retiring): Promise<string> {
  const { options, ask, counts } = retiring;
  await quiet(retiring);
  // Without --delete the list is the result, whoever writes.
  if (options.delete && obstacle(retiring) !== '') return obstacle(retiring);
  for await (const { endpoints, service } of endpointsWithServices(ask, options.namespace, options.selector)) {
    const fate = fateOf(endpoints, service, options.optOutLabel);
    if (fate.goes && options.delete && (await obstacleNow(retiring)) !== '') return obstacle(retiring);
    const { became, refusal, deletion } = await outcomeOf(retiring, endpoints, fate.goes);
    const what = `${became}: ${fate.why}`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
    const told = refusal === undefined ? became : `${became}: ${refusal}`;
    if (fate.goes && !(await say(lineOf(options, endpoints, told, fate.why)))) return 'nobody reads the list any more';
    // A deletion is told before, because the wait may take minutes, and end the command.
    if (deletion !== undefined) await pace(retiring, endpoints, deletion);
    else if (refusal !== undefined) await sleep(1000 / options.qps);
  }
  return obstacle(retiring);
}

/** The version from which on writes are watched. */
async function versionOf(ask: Asker, path: string): Promise<string> {
  const reply = await ask({ method: 'GET', path: `${path}?limit=1`, accept: JSON_TYPE });
  if (!isDone(reply)) throw new StartError(`cannot list ${path}: ${failureOf(reply)}`);
  const { metadata } = parseJsonObject(reply.body) as { metadata?: { resourceVersion?: string } };
  return metadata?.resourceVersion ?? '';
}

/** Waits until nobody has written for the time that is asked for while somebody watched, or somebody has. */
async function quiet({ options, watch, progress }: Retiring): Promise<void> {
  progress.show(`Waiting ${formatDuration(options.quietForMs)} to see whether a controller writes Endpoints`);
  await watch.opened();
  const abort = new AbortController();
  await Promise.race([
    sleep(options.quietForMs, undefined, { signal: abort.signal }).catch(() => undefined),
    watch.over,
  ]);
  abort.abort();
}

/** As `obstacle`, of what the watch has shown by now: as long as it is not open, it may have missed a write. */
async function obstacleNow(retiring: Retiring): Promise<string> {
  await retiring.watch.opened();
  return obstacle(retiring);
}

/** Why no further object may be deleted; '' = it may. */
function obstacle({ watch, madeAnew, refusals }: Retiring): string {
  const written = watch.written() || madeAnew;
  if (written !== '') return `${written}: switch the endpoints controller off first`;
  if (watch.broken() !== '') return `the watch of Endpoints cannot go on: ${watch.broken()}`;
  if (refusals.length < REFUSALS_MAX) return '';
  return `the server has refused ${REFUSALS_MAX} deletions in a row, the last one with: ${refusals.at(-1)}`;
}

async function outcomeOf(retiring: Retiring, endpoints: WrittenMeta, goes: boolean): Promise<Outcome> {
  if (!goes) return { became: 'stay' };
  return retiring.options.delete ? remove(retiring, endpoints) : { became: 'would go' };
}

/** Deletes the object. @throws StartError if the server fails for a reason that holds for other objects too */
async function remove(retiring: Retiring, endpoints: WrittenMeta): Promise<Outcome> {
  const { namespace, name } = endpoints;
  // The list of Services may be minutes old, and somebody may have removed the selector and manage the Endpoints now.
  const service = await serviceNow(retiring, namespace, name);
  const fate = fateOf(endpoints, service, retiring.options.optOutLabel);
  if (!fate.goes) return { became: 'stay: the Service has changed since the list' };
  if ((await obstacleNow(retiring)) !== '') return { became: 'stay: no deletion is allowed any more' };
  const { reply, repeated } = await sendDelete(retiring, endpoints);
  const gone = reply.type === 'response' && isNotFound(reply.contentType, reply.status, reply.body);
  // A repetition finds nothing where the first request was carried out.
  const isDeleted = gone ? repeated : isDone(reply);
  if (!isRefusal(reply)) retiring.refusals.length = 0;
  if (!isDeleted) {
    // Of several requests the first may have marked it.
    if (!repeated) retiring.watch.expectNone(endpoints.uid);
    return gone ? { became: 'gone already' } : notDone(retiring, endpoints, reply);
  }
  retiring.deletions += 1;
  const isMarked = !gone && endpoints.finalizers.length > 0;
  const became = isMarked ? 'waits for its finalizers' : 'deleted';
  return { became, deletion: { isMarked, hasService: service !== null } };
}

/** What becomes of an object that the server does not delete. @throws StartError as `remove` */
function notDone(retiring: Retiring, { namespace, name }: WrittenMeta, reply: Reply): Outcome {
  const failure = failureOf(reply);
  if (reply.type === 'response' && reply.status === 409) {
    retiring.left += 1;
    return { became: 'stay: the object has changed since the list' };
  }
  if (isRefusal(reply)) {
    retiring.refusals.push(failure);
    retiring.left += 1;
    return { became: 'stay: the server refuses', refusal: failure };
  }
  const why = obstacle(retiring) === '' ? '' : `; ${obstacle(retiring)}`;
  throw new StartError(printable(`cannot delete Endpoints ${namespace}/${name}: ${failure}${why}`));
}

function isRefusal(reply: Reply): boolean {
  return reply.type === 'response' && REFUSED.includes(reply.status);
}

/** Sends it again to a busy server, as long as there is no obstacle. */
async function sendDelete(
  retiring: Retiring,
  { namespace, name, uid, resourceVersion }: WrittenMeta,
): Promise<{ readonly reply: Reply; readonly repeated: boolean }> {
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } };
  let repeated = false;
  retiring.watch.expectDeletion(uid);
  const question = {
    method: 'DELETE',
    path: endpointsPath(namespace, name),
    accept: JSON_TYPE,
    contentType: JSON_TYPE,
    body: Buffer.from(JSON.stringify(body), 'utf8'),
  } as const;
  const reply = await retiring.ask(question, async () => {
    repeated = true;
    return (await obstacleNow(retiring)) === '';
  });
  return { reply, repeated };
}

/**
 * Waits after a deletion, first until the watch has shown it. An idle controller would make the object of a Service
 * anew. So after the first deletion of such an object nothing is deleted until a controller has had the time, and the
 * object is looked for: the watch may be silent. An object without a Service is no test, because no controller wants it.
 */
async function pace(retiring: Retiring, endpoints: WrittenMeta, { isMarked, hasService }: Deletion): Promise<void> {
  if (!isMarked) await retiring.watch.shown(endpoints.uid);
  if (hasService && !isMarked && !retiring.controllersTried) {
    retiring.controllersTried = true;
    await quiet(retiring);
    if (obstacle(retiring) === '') retiring.madeAnew = await madeAnew(retiring, endpoints);
  } else await sleep(1000 / retiring.options.qps);
  retiring.progress.show(`${retiring.deletions} Endpoints deleted`);
}

/** Says whether the deleted object is there again; '' = it is not. */
async function madeAnew({ ask }: Retiring, endpoints: WrittenMeta): Promise<string> {
  const uid = await uidNow(ask, endpoints);
  if (uid === '' || uid === endpoints.uid) return '';
  return `somebody has made Endpoints ${endpoints.namespace}/${endpoints.name} anew`;
}

async function serviceNow(retiring: Retiring, namespace: string, name: string): Promise<ServiceRecord | null> {
  const reply = await retiring.ask({ method: 'GET', path: servicePath(namespace, name), accept: JSON_TYPE });
  if (reply.type === 'response' && isNotFound(reply.contentType, reply.status, reply.body)) return null;
  if (!isDone(reply)) {
    throw new StartError(printable(`cannot read Service ${namespace}/${name}: ${failureOf(reply)}`));
  }
  const value = parseJsonObject(reply.body);
  return projectService({ encoding: 'json', kind: 'Service', apiVersion: 'v1', value }, createInterner(1));
}

function lineOf({ output }: RetireOptions, endpoints: WrittenMeta, became: string, why: string): string {
  const { namespace, name, uid, resourceVersion } = endpoints;
  if (output === 'json') return `${printableJson({ namespace, name, uid, resourceVersion, became, why }, 0)}\n`;
  return printable(`${became}: ${namespace}/${name} (${why})`) + '\n';
}

/** Prints as fast as the reader reads; false = the reader has gone. @throws StartError, such as of a full disk */
function say(line: string): Promise<boolean> {
  const said = new Promise<boolean>((resolve, reject) => {
    writeWhole(process.stdout, line, (error) => {
      if (error == null) resolve(true);
      else if ((error as NodeJS.ErrnoException).code === 'EPIPE') resolve(false);
      else reject(error);
    });
  });
  return starting('write the list', said);
}

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
import { type Asker, createAsker, type Reply } from '../../node/asker.ts';
import { getOrDeleteEndpoints, readOnly } from '../../node/read-only-transport.ts';
import { bool, choice, duration, number, text } from '../flags/flag-kinds.ts';
import { parseFlags, type CommandFlags, type OptionsOf } from '../flags/flag-table.ts';
import { BEYOND_UPSTREAM_FLAGS, SERVER_FLAGS } from '../flags/flags.ts';
import { createProgress, type Progress } from '../progress.ts';
import { collectionPath, endpointsWithServices, failureOf, type WrittenMeta } from './retire-lists.ts';
import { fateOf } from './retire-rules.ts';
import { watchWrites, type WriteWatch } from './retire-watch.ts';
import { openServer } from '../server.ts';
import { StartError } from '../usage.ts';

const FLAGS = {
  delete: { kind: bool, default: 'false', help: 'delete; without it the command only says what would go' },
  namespace: { kind: text('<name>'), default: '', help: 'only this namespace; without it all of them', short: 'n' },
  selector: {
    kind: text('<selector>'),
    default: '',
    help: 'only Endpoints with these labels, as kubectl writes them: the labels of their Services',
    short: 'l',
  },
  'opt-out-label': {
    kind: BEYOND_UPSTREAM_FLAGS['opt-out-label'].kind,
    default: BEYOND_UPSTREAM_FLAGS['opt-out-label'].default,
    help: "keep the Endpoints of Services that have this label, whatever its value: as endpointd's flag of that name",
  },
  qps: { kind: number(0.1, 1000), default: '20', help: 'most deletions a second' },
  'quiet-for': {
    kind: duration(1000),
    default: '30s',
    help: 'how long no controller may write Endpoints before the first deletion, and again after the first that a controller would undo',
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
    'Says which Endpoints the endpoints controller has left behind, and with --delete deletes them. Stops when a controller still writes Endpoints.',
  groups: [
    { title: '', flags: FLAGS },
    { title: 'Connection', flags: SERVER_FLAGS },
  ],
} as const satisfies CommandFlags;

type RetireOptions = OptionsOf<typeof FLAGS & typeof SERVER_FLAGS>;

/** @throws UsageError or HelpShown */
export function parseRetireEndpointsFlags(args: readonly string[], print: (text: string) => void): RetireOptions {
  return parseFlags(RETIRE_ENDPOINTS_FLAGS, args, print) as RetireOptions;
}

interface Retiring {
  readonly options: RetireOptions;
  readonly ask: Asker;
  readonly watch: WriteWatch;
  readonly progress: Progress;
  /** How many objects had which fate. */
  readonly counts: Map<string, number>;
  deletions: number;
  /** A deletion that a running controller would have undone has had its time. */
  controllersTried: boolean;
}

/**
 * `endpointd retire-endpoints`. Gives the exit status: 0 = all that should go has gone, or is listed; 1 = a controller
 * still writes Endpoints, or something could not be read or deleted.
 */
export async function retireEndpoints(args: readonly string[]): Promise<number> {
  const options = parseRetireEndpointsFlags(args, (help) => process.stdout.write(help));
  const server = await openServer(options, () => undefined, options.delete ? getOrDeleteEndpoints : readOnly);
  const progress = createProgress(process.stderr, () => performance.now());
  // A reader that has gone is noticed at the next line.
  process.stdout.on('error', () => undefined);
  try {
    const ask = createAsker(server.transport);
    const path = collectionPath(options.namespace, 'endpoints');
    const watch = watchWrites(server.transport, path, await versionOf(ask, path));
    const retiring: Retiring = {
      options,
      ask,
      watch,
      progress,
      counts: new Map(),
      deletions: 0,
      controllersTried: false,
    };
    const stopped = await retire(retiring);
    for (const [fate, count] of retiring.counts) progress.done(`${count} ${fate}`);
    if (stopped !== '') progress.done(`Stopped: ${printable(stopped)}`);
    return stopped === '' ? 0 : 1;
  } finally {
    await server.close();
  }
}

/** '' = it was done to the end, or why it was not. */
async function retire(retiring: Retiring): Promise<string> {
  const { options, ask, counts } = retiring;
  await quiet(retiring);
  // Without --delete the list is what was asked for, whoever writes.
  if (options.delete && obstacle(retiring) !== '') return obstacle(retiring);
  for await (const { endpoints, service } of endpointsWithServices(ask, options.namespace, options.selector)) {
    const fate = fateOf(endpoints, service, options.optOutLabel);
    if (fate.goes && options.delete && obstacle(retiring) !== '') return obstacle(retiring);
    const became = !fate.goes ? 'stay' : options.delete ? await remove(retiring, endpoints) : 'would go';
    const what = `${became}: ${fate.why}`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
    if (fate.goes && !(await say(lineOf(options, endpoints, became, fate.why))))
      return 'nobody reads the list any more';
  }
  return obstacle(retiring);
}

/** The version from which on writes are watched. */
async function versionOf(ask: Asker, path: string): Promise<string> {
  const reply = await ask({ method: 'GET', path: `${path}?limit=1`, accept: JSON_TYPE });
  if (reply.type === 'failure' || reply.status !== 200)
    throw new StartError(`cannot list ${path}: ${failureOf(reply)}`);
  const { metadata } = parseJsonObject(reply.body) as { metadata?: { resourceVersion?: string } };
  return metadata?.resourceVersion ?? '';
}

/** Waits until nobody has written for as long as is asked for, or somebody has. */
async function quiet({ options, watch, progress }: Retiring): Promise<void> {
  progress.show(`Watching for ${formatDuration(options.quietForMs)} whether a controller writes Endpoints`);
  const abort = new AbortController();
  await Promise.race([
    sleep(options.quietForMs, undefined, { signal: abort.signal }).catch(() => undefined),
    watch.over,
  ]);
  abort.abort();
}

/** Why no further object may go; '' = nothing. */
function obstacle({ watch }: Retiring): string {
  if (watch.written() !== '') return `${watch.written()}: switch the endpoints controller off first`;
  return watch.broken() === '' ? '' : `the watch of Endpoints cannot go on: ${watch.broken()}`;
}

const BUSY_TRIES_MAX = 10;
const BUSY_SECONDS = 1;

/** What became of the object. @throws StartError when the server refuses for a reason that others would meet too */
async function remove(retiring: Retiring, endpoints: WrittenMeta): Promise<string> {
  const { namespace, name, uid, resourceVersion } = endpoints;
  // The list of Services may be minutes old, and who took a selector away has the Endpoints in hand now.
  const service = await serviceNow(retiring, namespace, name);
  const fate = fateOf(endpoints, service, retiring.options.optOutLabel);
  if (!fate.goes) return 'stay, since a moment ago';
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } };
  const reply = await patiently(retiring, {
    method: 'DELETE',
    path: endpointsPath(namespace, name),
    accept: JSON_TYPE,
    contentType: JSON_TYPE,
    body: Buffer.from(JSON.stringify(body), 'utf8'),
  });
  if (reply.type === 'response' && reply.status === 409) return 'changed meanwhile, so stay';
  if (reply.type === 'response' && isNotFound(reply.contentType, reply.status, reply.body)) return 'gone already';
  if (reply.type === 'failure' || reply.status >= 300) {
    throw new StartError(printable(`cannot delete Endpoints ${namespace}/${name}: ${failureOf(reply)}`));
  }
  retiring.deletions += 1;
  await pace(retiring, service !== null);
  return 'deleted';
}

/**
 * A controller that was idle makes the object of a Service anew: after the first such deletion nothing else goes until
 * that has had its time. An object without a Service shows nothing, because no controller wants it.
 */
async function pace(retiring: Retiring, hasService: boolean): Promise<void> {
  if (hasService && !retiring.controllersTried) {
    retiring.controllersTried = true;
    await quiet(retiring);
  } else await sleep(1000 / retiring.options.qps);
  retiring.progress.show(`${retiring.deletions} Endpoints deleted`);
}

async function serviceNow(retiring: Retiring, namespace: string, name: string): Promise<ServiceRecord | null> {
  const reply = await patiently(retiring, { method: 'GET', path: servicePath(namespace, name), accept: JSON_TYPE });
  if (reply.type === 'response' && isNotFound(reply.contentType, reply.status, reply.body)) return null;
  if (reply.type === 'failure' || reply.status !== 200) {
    throw new StartError(printable(`cannot read Service ${namespace}/${name}: ${failureOf(reply)}`));
  }
  const value = parseJsonObject(reply.body);
  return projectService({ encoding: 'json', kind: 'Service', apiVersion: 'v1', value }, createInterner(1));
}

/** A server that is busy or away for a moment is asked again. */
async function patiently({ ask }: Retiring, question: Parameters<Asker>[0]): Promise<Reply> {
  for (let tries = 1; ; tries++) {
    const reply = await ask(question);
    const busy = reply.type === 'failure' || reply.status === 429 || reply.status >= 500;
    if (!busy || tries === BUSY_TRIES_MAX) return reply;
    const seconds = reply.type === 'response' && reply.retryAfterSeconds > 0 ? reply.retryAfterSeconds : BUSY_SECONDS;
    await sleep(seconds * 1000);
  }
}

function lineOf({ output }: RetireOptions, endpoints: WrittenMeta, became: string, why: string): string {
  const { namespace, name, uid, resourceVersion } = endpoints;
  if (output === 'json') return `${printableJson({ namespace, name, uid, resourceVersion, became, why }, 0)}\n`;
  return printable(`${became}: ${namespace}/${name} (${why})`) + '\n';
}

/** Prints at the pace of the reader; false = it has gone. */
function say(line: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    process.stdout.write(line, (error) => {
      if (error == null) resolve(true);
      else if ((error as NodeJS.ErrnoException).code === 'EPIPE') resolve(false);
      else reject(error);
    });
  });
}

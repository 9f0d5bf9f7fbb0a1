import process from 'node:process';
import { TooManyAddresses } from '../../core/endpoints/layout-size.ts';
import type { NotRun } from '../../core/explain/service.ts';
import { servicePath } from '../../kube/key.ts';
import { projectPod, projectService } from '../../kube/project.ts';
import type { PodRecord } from '../../kube/types.ts';
import { createInterner } from '../../lib/interner.ts';
import { writeReport } from '../../node/output.ts';
import { printable, printableJson } from '../../lib/printable.ts';
import { createApiReader, ReadError } from './api-reader.ts';
import {
  missing,
  readCandidates,
  readChanges,
  readListing,
  readNodes,
  readOutputs,
  readPodsOf,
  readServicesOf,
  type Reading,
  see,
} from './explain-read.ts';
import { changeLines, podLines, serviceLines } from './explain-text.ts';
import { tell, type Told } from './explain-told.ts';
import { choice, integer, parsed } from '../flags/flag-kinds.ts';
import { readFlags, type CommandFlags, type OptionsOf } from '../flags/flag-table.ts';
import { notRunOf } from '../flags/controllers.ts';
import { PLANNING_FLAGS, runningControllers, SERVER_FLAGS } from '../flags/flags.ts';
import { MONITOR_FLAGS, monitorOf, monitorUrl, refuseMonitorFlags } from '../live/monitor.ts';
import { createProgress } from '../progress.ts';
import { connect } from '../api-connection.ts';
import { StartError, starting, UsageError } from '../usage.ts';

const OUTPUT = {
  output: {
    kind: choice('<format>', ['text', 'json']),
    default: 'text',
    help: 'text for people, or JSON',
    short: 'o',
  },
  others: {
    kind: integer(0, 10_000),
    default: '5',
    help: 'the most pods, or Services, that are shown although they lack labels',
  },
} as const;

const ENDPOINTD = {
  endpointd: {
    kind: parsed('<url>', monitorUrl),
    default: '',
    help: 'address of a running endpointd, such as https://127.0.0.1:10267, which tells where the last changes spent their time',
  },
  ...MONITOR_FLAGS,
} as const;

export const EXPLAIN_FLAGS = {
  command: 'endpointd explain',
  description:
    'Says why a pod is in the Endpoints and EndpointSlices of a Service, or why it is not. `explain service NAMESPACE/NAME` tells of all pods that the Service selects or nearly selects, `explain pod NAMESPACE/NAME` of one pod in all Services. Only reads.',
  arguments: ['kind', 'name'],
  groups: [
    { title: 'Output', flags: OUTPUT },
    { title: 'Connection', flags: SERVER_FLAGS },
    { title: 'Running endpointd', flags: ENDPOINTD },
    { title: 'With which flags the controller runs', flags: PLANNING_FLAGS },
  ],
} as const satisfies CommandFlags;

type ExplainFlags = OptionsOf<typeof OUTPUT & typeof SERVER_FLAGS & typeof ENDPOINTD & typeof PLANNING_FLAGS>;

export interface ExplainOptions extends ExplainFlags {
  readonly notRun: NotRun;
  readonly kind: 'service' | 'pod';
  readonly namespace: string;
  readonly name: string;
}

const NAME = /^(?!\.)[a-z0-9.:_-]{1,253}$/i;
const KINDS: Readonly<Record<string, ExplainOptions['kind']>> = {
  service: 'service',
  services: 'service',
  svc: 'service',
  pod: 'pod',
  pods: 'pod',
  po: 'pod',
};

/** @throws UsageError or HelpShown */
export function parseExplainFlags(args: readonly string[], print: (text: string) => void): ExplainOptions {
  const { options, given } = readFlags(EXPLAIN_FLAGS, args, print);
  const flags = options as ExplainFlags & { kind: string; name: string };
  const kind = Object.hasOwn(KINDS, flags.kind) ? KINDS[flags.kind]! : null;
  if (kind === null) throw new UsageError(`unknown kind "${printable(flags.kind)}". Allowed: service, pod.`);
  const [namespace = '', name = '', ...more] = flags.name.split('/');
  if (!NAME.test(namespace) || !NAME.test(name) || more.length > 0) {
    throw new UsageError(`invalid name "${printable(flags.name)}". Allowed: NAMESPACE/NAME, such as shop/web.`);
  }
  if (flags.endpointd === '') refuseMonitorFlags(given, 'needs --endpointd: nothing else takes it.');
  return { ...flags, kind, namespace, name, notRun: notRunOf(runningControllers(flags.controllers)) };
}

/**
 * `endpointd explain`. Returns the exit status: 0 = explained, 1 = there is no such object, or it could not be read.
 */
export async function explain(args: readonly string[]): Promise<number> {
  const options = parseExplainFlags(args, (text) => process.stdout.write(text));
  const server = await connect(options, () => undefined);
  const monitor = options.endpointd === '' ? null : await monitorOf(options.endpointd, options);
  const reader = createApiReader(server);
  const progress = createProgress(process.stderr, () => performance.now());
  const reading: Reading = {
    reader,
    interner: createInterner(),
    config: {
      ...options,
      mirror: { endpointsPerSubsetMax: options.mirroringMaxEndpointsPerSubset, all: options.mirroringAllEndpoints },
    },
    othersMax: options.others,
    progress: process.stderr.isTTY ? progress.show : () => undefined,
    endpointd: monitor === null ? null : { origin: new URL(options.endpointd).origin, monitor },
    unseen: [],
  };
  try {
    const answer = await (options.kind === 'service' ? explainOneService : explainOnePod)(reading, options);
    progress.clear();
    const text = options.output === 'json' ? `${printableJson(answer.json)}\n` : textOf(answer, reading);
    await starting('write the answer', writeReport(process.stdout, text));
    return answer.status;
  } catch (error) {
    if (error instanceof ReadError || error instanceof TooManyAddresses) {
      throw new StartError(printable(error.message), { cause: error });
    }
    throw error;
  } finally {
    await Promise.all([server.close(), monitor?.close()]);
  }
}

interface Answer {
  readonly status: number;
  readonly lines: readonly string[];
  readonly json: object;
}

function textOf({ lines }: Answer, { unseen }: Reading): string {
  const missed = unseen.map((what) => `Could not be seen: ${printable(what)}`);
  return [...lines, ...(lines.length > 0 && missed.length > 0 ? [''] : []), ...missed, ''].join('\n');
}

async function explainOneService(reading: Reading, { namespace, name }: ExplainOptions): Promise<Answer> {
  const { reader, interner, unseen } = reading;
  const what = `service ${namespace}/${name}`;
  const source = await see(reading, what, reader.get(servicePath(namespace, name)).catch(missing));
  if (source === undefined) return { status: 1, lines: [], json: { service: `${namespace}/${name}`, unseen } };
  if (source === null) return notFound(what);
  const service = projectService(source, interner);
  const [outputs, nodes, changes] = await Promise.all([
    readOutputs(reading, service),
    readNodes(reading),
    readChanges(reading, service),
  ]);
  const candidates =
    service.selector === null
      ? { pods: [], asked: null, all: true, others: 0 }
      : await readCandidates(reading, service, outputs);
  const told = tell(reading, service, outputs, candidates, nodes, changes);
  const explained = told.podsSeen || told.explanation.unplanned !== '';
  return { status: explained ? 0 : 1, lines: serviceLines(told), json: { ...toldJson(told), unseen } };
}

function notFound(what: string): Answer {
  return { status: 1, lines: [`There is no ${printable(what)}.`], json: { error: `there is no ${what}` } };
}

function toldJson({ explanation, endpoints, slices, others, changes }: Told): object {
  const stored = [...endpoints, ...slices];
  return { ...explanation, stored, morePods: others, changes: changes.last, changesNote: changes.note };
}

async function explainOnePod(reading: Reading, { namespace, name }: ExplainOptions): Promise<Answer> {
  const { reader, interner, unseen } = reading;
  const key = `${namespace}/${name}`;
  const source = await see(
    reading,
    `pod ${key}`,
    reader.get(`/api/v1/namespaces/${namespace}/pods/${name}`).catch(missing),
  );
  if (source === undefined) return { status: 1, lines: [], json: { pod: key, unseen } };
  if (source === null) return explainMissingPod(reading, key, { namespace, name });
  const pod = projectPod(source, interner, reading.config.kubeletShutdownIsTermination);
  const listing = await readListing(reading, pod, pod.uid);
  const found = await readServicesOf(reading, pod, new Set(listing?.map(({ service }) => service)));
  if (found === undefined) return { status: 1, lines: [], json: { pod: key, unseen } };
  const { selecting, others, more } = found;
  const nodes = await readNodes(reading);
  const candidates = await readPodsOf(reading, pod, selecting);
  const told: Told[] = [];
  for (const service of selecting) {
    const outputs = await readOutputs(reading, service);
    const changes = await readChanges(reading, service);
    told.push(tell(reading, service, outputs, candidates, nodes, changes));
  }
  const missed: Told[] = [];
  for (const service of others) {
    const outputs = await readOutputs(reading, service);
    missed.push(tell(reading, service, outputs, { pods: [pod], asked: name, all: false, others: 0 }, nodes));
  }
  const explanations = [...told, ...missed].map(({ explanation }) => explanation);
  const lines = podLines(key, explanations);
  lines.push(...changeLines(told));
  if (explanations.length === 0) {
    const stored = listing === undefined ? 'whether a slice lists it could not be seen' : 'no slice of one lists it';
    lines.push(`No Service of the namespace selects the pod, or nearly does, and ${stored}.`);
  }
  if (more > 0) lines.push(`${more} more Services have selectors that the pod meets in part (--others shows more).`);
  const shown = ({ explanation: one }: Told): object => {
    const { service, unplanned, notWritten, due } = one;
    return { service, unplanned, notWritten, due, explanation: one.pods[0] ?? null };
  };
  const services = [
    ...told.map((one) => Object.assign(shown(one), { changes: one.changes.last, changesNote: one.changes.note })),
    // Nobody is asked for changes of a Service that does not select the pod.
    ...missed.map(shown),
  ];
  return { status: 0, lines, json: { pod: key, services, moreServices: more, unseen } };
}

/** A pod that does not exist may be listed all the same, as an earlier pod of its name. */
async function explainMissingPod(
  reading: Reading,
  key: string,
  pod: Pick<PodRecord, 'namespace' | 'name'>,
): Promise<Answer> {
  const listing = await readListing(reading, pod, null);
  const { status, lines, json } = notFound(`pod ${key}`);
  const listed = (listing ?? []).map(({ slice, service }) =>
    printable(`EndpointSlice ${slice}${service === '' ? '' : ` of Service ${service}`} lists it.`),
  );
  if (listing?.length === 0) listed.push('No EndpointSlice lists it.');
  return { status, lines: [...lines, ...listed], json: { ...json, listedIn: listing ?? null, unseen: reading.unseen } };
}

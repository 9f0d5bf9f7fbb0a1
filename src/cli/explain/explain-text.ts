/** An explanation as lines for a person. */
import type {
  EndpointsExplanation,
  PodExplanation,
  ServiceExplanation,
  SliceExplanation,
} from '../../core/explain/service.ts';
import { leftOutText } from '../../core/explain/reasons.ts';
import type { Listed } from '../../core/explain/stored.ts';
import { formatTime } from '../../kube/time.ts';
import { printable } from '../../lib/printable.ts';
import { CHANGE_HEAD, changeCells } from '../live/debug-page.ts';
import type { Told } from './explain-told.ts';
import { textTable } from '../text-table.ts';

/** The explanation of one Service. */
export function serviceLines(told: Told): string[] {
  const { explanation, slices, endpoints, others } = told;
  const lines = [`Service ${printable(explanation.service)}: ${printable(told.summary)}`, ...outputLines(told)];
  for (const note of explanation.notes) lines.push(`Note: ${printable(note)}`);
  const selected = explanation.pods.some((pod) => pod.selected);
  if (!selected && explanation.unplanned === '' && told.podsSeen) {
    lines.push('No pod of the namespace has all the labels that the selector asks for.');
  }
  if (explanation.pods.length > 0) {
    addTable(
      lines,
      ['POD', ...POD_HEAD],
      explanation.pods.map((pod) => [nameOf(pod), ...podCells(pod)]),
    );
  }
  if (others !== null && others > 0) lines.push(`${others} more pods have some of the labels (--others shows more).`);
  if (explanation.mirrored.length > 0) {
    const rows = explanation.mirrored.map(({ ip, state, ports, reason }) => {
      return [ip, STATES[state], ports.join(','), reason === null ? '' : leftOutText(reason, told.mirrorLimit)];
    });
    addTable(lines, ['ADDRESS', 'MIRRORED', 'PORTS', 'WHY'], rows);
  }
  const objects = [...endpoints, ...slices];
  if (objects.length > 0) {
    const rows = objects.map((object) => [
      object.name,
      object.type,
      String(object.addresses),
      object.managedBy,
      object.writtenAt === 0 ? '' : formatTime(object.writtenAt),
      object.writtenBy,
    ]);
    addTable(lines, ['OBJECT', 'TYPE', 'ADDRESSES', 'MANAGED BY', 'LAST WRITTEN', 'WRITER'], rows);
  }
  lines.push(...changeLines([told]));
  return lines;
}

/** Where the last change of each controller has spent its time, a table for each Service, and what is to be said of it. */
export function changeLines(services: readonly Told[]): string[] {
  const lines: string[] = [];
  const head = CHANGE_HEAD.map((title) => title.toUpperCase());
  for (const { changes } of services) {
    if (changes.last.length > 0) addTable(lines, head, changes.last.map(changeCells));
  }
  const notes = new Set(services.map(({ changes }) => changes.note).filter((note) => note !== ''));
  if (notes.size > 0) lines.push('', ...[...notes].map(printable));
  return lines;
}

function outputLines({ explanation, podsSeen, nodesSeen }: Told): string[] {
  const { unplanned, unmirrored, notWritten, endpoints, families, due } = explanation;
  const lines: string[] = [];
  if (unplanned !== '') lines.push(`Pods: ${printable(unplanned)}`);
  else if (!podsSeen) lines.push('Endpoints and EndpointSlices: the pods that they depend on could not be seen');
  lines.push(...notWritten);
  if (endpoints !== null) {
    const { ready, notReady, truncated } = endpoints;
    const cut = truncated === 0 ? '' : `, ${truncated} cut off`;
    lines.push(
      `Endpoints: ${ready} ready, ${notReady} not ready${cut}; ${due.endpoints === null ? STORED_UNSEEN : dueText(due.endpoints)}`,
    );
  }
  for (const { family, endpoints: count, slices, hints, hintsFailure } of families) {
    const hinted = hints === 'none' ? '' : `; hints ${hints}${hintsFailureText(hintsFailure)}`;
    const assumed = nodesSeen ? '' : ', if all their nodes exist';
    lines.push(
      `EndpointSlices ${family}: ${count} endpoints in ${slices} ${slices === 1 ? 'slice' : 'slices'}${assumed}${printable(hinted)}`,
    );
  }
  if (families.length > 0) {
    const unseen = nodesSeen ? STORED_UNSEEN : 'whether a write is due could not be seen';
    lines.push(`EndpointSlices: ${due.slices === null ? unseen : dueText(due.slices)}`);
  }
  if (unplanned !== '') {
    const how = unmirrored === null ? 'could not be seen' : unmirrored === '' ? 'yes' : `no: ${unmirrored}`;
    lines.push(`Mirrored: ${printable(how)}`);
  }
  return lines;
}

const STORED_UNSEEN = 'what is stored could not be seen';

function hintsFailureText(failure: string | null): string {
  if (failure === null) return ': could not be seen';
  return failure === '' ? '' : `: none: ${failure}`;
}

function dueText(writes: number): string {
  if (writes === 0) return 'stored as planned';
  return `${writes === 1 ? '1 write is' : `${writes} writes are`} due, or the Service is changing just now`;
}

/** The columns of `podCells`. */
export const POD_HEAD = [
  'ADDRESSES',
  'PHASE',
  'READY',
  'NODE',
  'PORTS',
  'ENDPOINTS',
  'SLICES',
  'HINTS',
  'WHY',
] as const;

export function podCells(pod: PodExplanation): string[] {
  return [
    pod.addresses.map(({ ip, family }) => `${family === '' ? '?' : family} ${ip}`).join(', '),
    pod.phase,
    readyText(pod),
    nodeText(pod),
    pod.selected
      ? pod.ports.map(({ target, number }) => (number === null ? `no ${target}` : String(number))).join(',')
      : '',
    pod.endpoints === null ? NOT_WRITTEN : endpointsText(pod.endpoints),
    pod.slices === null ? NOT_WRITTEN : pod.slices.map(sliceText).join(', '),
    hintsText(pod.slices ?? []),
    whyText(pod),
  ];
}

/** In the column of an object whose controller `--controllers` leaves out. */
const NOT_WRITTEN = 'not written';

const STATES: Readonly<Record<Listed, string>> = {
  ready: 'ready',
  'not-ready': 'not ready',
  'left-out': 'left out',
  outdated: 'outdated',
};

function readyText({ exists, ready, readySince, publishNotReady, terminating }: PodExplanation): string {
  if (!exists) return '';
  const since = readySince === 0 ? '' : ` since ${formatTime(readySince)}`;
  const published = publishNotReady ? ', published anyway' : '';
  return `${ready ? 'yes' : 'no'}${since}${terminating ? ', terminating' : ''}${published}`;
}

function nodeText({ node: { name, known, zone } }: PodExplanation): string {
  if (name === '') return '';
  if (known === null) return `${name} (not seen)`;
  if (!known) return `${name} (unknown)`;
  return zone === '' ? name : `${name} (${zone})`;
}

/** Beside a state: the stored object could not be read, so that it may say something else. */
const NOT_READ = '(not read)';

function endpointsText({ state, listed }: EndpointsExplanation): string {
  if (listed === null) return `${STATES[state]} ${NOT_READ}`;
  return listed === state ? STATES[state] : `${STATES[state]} (now ${STATES[listed]})`;
}

function sliceText(slice: SliceExplanation): string {
  const { family, state, serving, listed, listedIn } = slice;
  const planned = `${family} ${conditionsText(state, serving)}`;
  if (listedIn === null) return `${planned} ${NOT_READ}`;
  const where = listedIn.length === 0 ? '' : ` in ${listedIn.join('+')}`;
  // A slice of somebody else is right whatever it lists.
  const elsewhere = where === '' ? '' : `,${where} (not planned)`;
  if (listed === 'left-out') return `${planned}${state === 'left-out' ? '' : ' (in none yet)'}${elsewhere}`;
  if (state === 'left-out') return `${planned} still${where}`;
  return `${planned}${nowText(slice)}${where}`;
}

/** What the slices say now; '' = what is planned. Conditions that the state does not show are named if they differ. */
function nowText(slice: SliceExplanation): string {
  const { state, serving, terminating, listed, listedServing, listedTerminating } = slice;
  if (listed === 'outdated') return ` (now ${STATES[listed]})`;
  const now = conditionsText(listed!, listedServing);
  if (now !== conditionsText(state, serving)) return ` (now ${now})`;
  const differing = [
    ...(serving === listedServing ? [] : [listedServing ? 'serving' : 'not serving']),
    ...(terminating === listedTerminating ? [] : [listedTerminating ? 'terminating' : 'not terminating']),
  ];
  return differing.length === 0 ? '' : ` (now ${[now, ...differing].join(', ')})`;
}

function conditionsText(state: Listed, serving: boolean): string {
  return `${STATES[state]}${state === 'not-ready' && serving ? ', serving' : ''}`;
}

/** The hints of a pod, once if they are the same for all families. */
function hintsText(slices: readonly SliceExplanation[]): string {
  const texts = slices
    .filter(({ state }) => state !== 'left-out')
    .map(({ hintZones, hintNodes, hintsWhy }) => {
      const zones = hintZones === null ? ['zone not seen'] : hintZones.map((zone) => `zone ${zone}`);
      const hints = [...zones, ...hintNodes.map((node) => `node ${node}`)].join(', ');
      return `${hints === '' ? 'none' : hints}: ${hintsWhy}`;
    });
  return [...new Set(texts)].join('; ');
}

/** Why the pod is where it is. A reason that holds for Endpoints and slices is named once. */
function whyText({ endpoints, slices, notes }: PodExplanation): string {
  const places = new Map<string, string[]>();
  const say = (place: string, why: string): void => {
    if (why !== '') places.set(why, [...(places.get(why) ?? []), place]);
  };
  if (endpoints !== null) say('Endpoints', endpoints.why);
  for (const { family, why } of slices ?? []) say(family, why);
  const all = (endpoints === null ? 0 : 1) + (slices ?? []).length;
  const texts = [...places].map(([why, where]) => (where.length === all ? why : `${where.join(', ')}: ${why}`));
  return [...texts, ...notes].join('; ');
}

function nameOf({ pod }: PodExplanation): string {
  return pod.slice(pod.indexOf('/') + 1);
}

/** The explanation of one pod: a line for each Service, of which no other pod is explained. */
export function podLines(pod: string, services: readonly ServiceExplanation[]): string[] {
  const rows = services.map(({ service, unplanned, pods: [found] }) => {
    if (found !== undefined) return [service, ...podCells(found)];
    return [service, ...POD_HEAD.map((column) => (column === 'WHY' ? unplanned : ''))];
  });
  const lines = [`Pod ${printable(pod)}`, ...new Set(services.flatMap(({ notWritten }) => notWritten))];
  if (rows.length > 0) addTable(lines, ['SERVICE', ...POD_HEAD], rows);
  return lines;
}

/** Adds line by line: the arguments of a call are limited, and a Service may have more pods. */
function addTable(lines: string[], head: readonly string[], rows: readonly (readonly string[])[]): void {
  lines.push('');
  for (const line of textTable(head, rows)) lines.push(line);
}

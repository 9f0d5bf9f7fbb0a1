/**
 * The roll-outs in a recording: a Service gets pods with another template, and its pods with older templates go. Pods
 * beside it that stay, as those of a canary, do not hold it up, and one that is rolled back ends with its own last pod.
 * Where the only pod of a template is replaced meanwhile, the roll-out is told as ended then. A pod that enters a Service
 * by its labels is counted, and begins no roll-out. A Service whose pods all go before new ones come has none.
 */
import { hasEnded } from '../core/pod-endpoint.ts';
import { labelsGet } from '../kube/labels.ts';
import type { PodRecord } from '../kube/types.ts';
import type { RecordedEvent } from './recording.ts';
import type { RecordedService, Selection } from './selections.ts';

export interface RollOut {
  readonly namespace: string;
  readonly service: string;
  /** How many pods the Service had when it began. */
  readonly pods: number;
  /** Since everything that may be read was listed. */
  readonly fromSeconds: number;
  /** null = it had not ended at the end of the recording. */
  toSeconds: number | null;
  /** How many changes the Service's pods had meanwhile. */
  podChanges: number;
}

export interface RollOuts {
  found: RollOut[];
  /** When everything that may be read was listed, in milliseconds. */
  beganMs: number;
  readonly byService: Map<RecordedService, Templates>;
}

interface Templates {
  /** How many pods have each template. */
  readonly pods: Map<string, number>;
  /** null = none is under way. */
  underWay: UnderWay | null;
}

interface UnderWay {
  readonly rollOut: RollOut;
  /** The new one. */
  readonly template: string;
  /** The older templates of which a pod has gone, and none has come since. */
  readonly going: Set<string>;
}

/** Labels with the template of a pod, by Deployments, StatefulSets and DaemonSets. */
const TEMPLATE_LABELS = ['pod-template-hash', 'controller-revision-hash'];

export function createRollOuts(): RollOuts {
  return { found: [], beganMs: 0, byService: new Map() };
}

export function followRollOuts(rollOuts: RollOuts, event: RecordedEvent, { service: of, selected }: Selection): void {
  if (event.type === 'listed' && event.told === 'start') startClock(rollOuts, event.atMs);
  if (event.type !== 'change') return;
  if (event.resource === 'services') {
    countTemplates(rollOuts, selected);
    if (event.after === null && of !== null) forget(rollOuts, of, event.atMs);
  }
  if (event.resource !== 'pods') return;
  const { told, atMs } = event;
  for (const { service, before, after } of selected) {
    const [was, is] = [templateOf(before), templateOf(after)];
    if (was === undefined && is === undefined) continue;
    const templates = templatesOf(rollOuts, service);
    const { pods, underWay } = templates;
    if (underWay !== null) underWay.rollOut.podChanges++;
    if (was === is) continue;
    if (is !== undefined) {
      const isNew = event.before === null && !pods.has(is) && pods.size > 0 && told !== 'start';
      if (isNew && underWay === null) begin(rollOuts, templates, service, is, atMs);
      underWay?.going.delete(is);
      pods.set(is, (pods.get(is) ?? 0) + 1);
    }
    if (was !== undefined) takeAway(rollOuts, templates, was, atMs);
  }
}

/** What was found between the first lists is of no time that counts. */
function startClock(rollOuts: RollOuts, atMs: number): void {
  rollOuts.beganMs = atMs;
  rollOuts.found = [];
  for (const templates of rollOuts.byService.values()) templates.underWay = null;
}

/** A roll-out ends with its Service. */
function forget(rollOuts: RollOuts, service: RecordedService, atMs: number): void {
  const underWay = rollOuts.byService.get(service)?.underWay ?? null;
  if (underWay !== null) underWay.rollOut.toSeconds = since(rollOuts, atMs);
  rollOuts.byService.delete(service);
}

function since({ beganMs }: RollOuts, atMs: number): number {
  return (atMs - beganMs) / 1000;
}

/** A Service has begun to select pods, or has ceased to: they are those that it has, and nothing was rolled out. */
function countTemplates(rollOuts: RollOuts, selected: Selection['selected']): void {
  for (const { service, before, after } of selected) {
    const template = templateOf(after ?? before);
    const by = (after === null ? 0 : 1) - (before === null ? 0 : 1);
    if (template === undefined || by === 0) continue;
    const { pods } = templatesOf(rollOuts, service);
    const left = (pods.get(template) ?? 0) + by;
    if (left > 0) pods.set(template, left);
    else pods.delete(template);
  }
}

function templateOf(pod: PodRecord | null): string | undefined {
  // A ReplicaSet leaves a pod that has failed.
  if (pod === null || hasEnded(pod)) return undefined;
  return TEMPLATE_LABELS.map((label) => labelsGet(pod.labels, label)).find((value) => value !== undefined);
}

function templatesOf({ byService }: RollOuts, service: RecordedService): Templates {
  let templates = byService.get(service);
  if (templates === undefined) {
    templates = { pods: new Map(), underWay: null };
    byService.set(service, templates);
  }
  return templates;
}

function begin(
  rollOuts: RollOuts,
  templates: Templates,
  { namespace, name }: RecordedService,
  template: string,
  atMs: number,
): void {
  const pods = [...templates.pods.values()].reduce((sum, count) => sum + count, 0);
  const rollOut: RollOut = {
    namespace,
    service: name,
    pods,
    fromSeconds: since(rollOuts, atMs),
    toSeconds: null,
    podChanges: 1,
  };
  templates.underWay = { rollOut, template, going: new Set() };
  rollOuts.found.push(rollOut);
}

function takeAway(rollOuts: RollOuts, templates: Templates, template: string, atMs: number): void {
  const { pods, underWay } = templates;
  const left = (pods.get(template) ?? 0) - 1;
  if (left > 0) {
    pods.set(template, left);
    if (template !== underWay?.template) underWay?.going.add(template);
    return;
  }
  pods.delete(template);
  if (underWay === null) return;
  underWay.going.delete(template);
  if (template !== underWay.template && underWay.going.size > 0) return;
  underWay.rollOut.toSeconds = since(rollOuts, atMs);
  templates.underWay = null;
}

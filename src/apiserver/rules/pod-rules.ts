import { duplicate, forbidden, invalid, notSupported, required } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { child, equal, items, text } from '../object.ts';
import type { ApiObject } from '../object.ts';
import { ipProblems } from './ip.ts';
import { labelName, portName, portNumber, PROTOCOLS, subdomainName } from './name-rules.ts';
import type { Rules } from './rules.ts';

type Json = Record<string, unknown>;

/** core/v1 Pod: the defaults of the API and of the admission plugins that a cluster has by default. */
export const POD_RULES: Rules = {
  name: subdomainName,
  prepareCreate: (object) => {
    object['spec'] = podDefaults(child(object, 'spec'));
    object['status'] = { phase: 'Pending', qosClass: qosClass(child(object, 'spec')) };
    object.metadata.generation = 1;
  },
  prepareUpdate: (object, old, context) => {
    const generation = old.metadata.generation;
    if (context.status) {
      object['spec'] = old['spec'];
      object['status'] = podStatus(child(object, 'status'), child(old, 'status'));
      keepGeneration(object, generation);
      return;
    }
    object['spec'] = podDefaults(child(object, 'spec'));
    object['status'] = old['status'];
    const changed = !equal(object['spec'], old['spec']);
    keepGeneration(object, changed ? (generation ?? 0) + 1 : generation);
  },
  validateCreate: (object) => validatePodSpec(child(object, 'spec')),
  validateUpdate: (object, old, context) => {
    if (context.status) return validatePodStatus(child(object, 'status'));
    return equal(frozenPart(object), frozenPart(old)) ? [] : [forbidden('spec', UPDATE_MESSAGE)];
  },
};

const UPDATE_MESSAGE =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,' +
  '`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),' +
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

function keepGeneration(object: ApiObject, generation: number | undefined): void {
  if (generation === undefined) delete object.metadata.generation;
  else object.metadata.generation = generation;
}

/** The spec without what an update may change. */
function frozenPart(object: ApiObject): Json {
  const { activeDeadlineSeconds: _, tolerations: __, ...spec } = child(object, 'spec');
  const withoutImages = (list: unknown): unknown =>
    (list as Json[] | undefined)?.map((container) => Object.assign({}, container, { image: '' }));
  return {
    ...spec,
    containers: withoutImages(spec['containers']),
    initContainers: withoutImages(spec['initContainers']),
  };
}

function podDefaults(spec: Json): Json {
  const hostNetwork = spec['hostNetwork'] === true;
  for (const container of containersOf(spec)) containerDefaults(container, hostNetwork);
  return {
    ...spec,
    restartPolicy: orElse(spec['restartPolicy'], 'Always'),
    terminationGracePeriodSeconds: spec['terminationGracePeriodSeconds'] ?? 30,
    dnsPolicy: orElse(spec['dnsPolicy'], 'ClusterFirst'),
    securityContext: spec['securityContext'] ?? {},
    schedulerName: orElse(spec['schedulerName'], 'default-scheduler'),
    tolerations: withTolerations(items(spec, 'tolerations')),
    priority: spec['priority'] ?? 0,
    enableServiceLinks: spec['enableServiceLinks'] ?? true,
    preemptionPolicy: spec['preemptionPolicy'] ?? 'PreemptLowerPriority',
  };
}

function containersOf(spec: Json): readonly Json[] {
  return [...items(spec, 'initContainers'), ...items(spec, 'containers')];
}

function containerDefaults(container: Json, hostNetwork: boolean): void {
  const image = text(container, 'image');
  const tag = image.slice(image.lastIndexOf('/') + 1);
  const latest = !tag.includes('@') && (!tag.includes(':') || tag.endsWith(':latest'));
  container['resources'] ??= {};
  container['terminationMessagePath'] = orElse(container['terminationMessagePath'], '/dev/termination-log');
  container['terminationMessagePolicy'] = orElse(container['terminationMessagePolicy'], 'File');
  container['imagePullPolicy'] = orElse(container['imagePullPolicy'], latest ? 'Always' : 'IfNotPresent');
  for (const port of items(container, 'ports')) {
    port['protocol'] = orElse(port['protocol'], 'TCP');
    if (hostNetwork) port['hostPort'] = port['hostPort'] ?? port['containerPort'];
  }
  for (const probe of ['readinessProbe', 'livenessProbe', 'startupProbe']) {
    if (container[probe] !== undefined) probeDefaults(container[probe] as Json);
  }
}

function probeDefaults(probe: Json): void {
  const http = probe['httpGet'] as Json | undefined;
  if (http !== undefined) {
    http['path'] = orElse(http['path'], '/');
    http['scheme'] = orElse(http['scheme'], 'HTTP');
  }
  probe['timeoutSeconds'] ??= 1;
  probe['periodSeconds'] ??= 10;
  probe['successThreshold'] ??= 1;
  probe['failureThreshold'] ??= 3;
}

/** Admission plugin DefaultTolerationSeconds. */
function withTolerations(tolerations: readonly Json[]): readonly Json[] {
  const added: Json[] = [];
  for (const key of ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']) {
    const covered = tolerations.some(
      (toleration) =>
        (text(toleration, 'key') === key || text(toleration, 'key') === '') &&
        (text(toleration, 'effect') === 'NoExecute' || text(toleration, 'effect') === ''),
    );
    if (!covered) added.push({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 });
  }
  return [...tolerations, ...added];
}

function qosClass(spec: Json): string {
  let any = false;
  let guaranteed = true;
  for (const container of containersOf(spec)) {
    const resources = child(container, 'resources');
    const limits = child(resources, 'limits');
    const requests = child(resources, 'requests');
    any ||= Object.keys(limits).length + Object.keys(requests).length > 0;
    guaranteed &&= limits['cpu'] !== undefined && limits['memory'] !== undefined;
    guaranteed &&= Object.keys(requests).every((name) => requests[name] === limits[name]);
  }
  if (!any) return 'BestEffort';
  return guaranteed ? 'Guaranteed' : 'Burstable';
}

/** podIP and podIPs[0] are one value in the server: where both are given and differ, podIP wins. */
function podStatus(status: Json, old: Json): Json {
  const next: Json = { ...status, qosClass: orElse(status['qosClass'], old['qosClass']) };
  const ip = text(next, 'podIP');
  const ips = items<{ ip?: string }>(next, 'podIPs');
  if (ip !== '' && ips[0]?.ip !== ip) next['podIPs'] = [{ ip }];
  if (ip === '' && ips.length > 0) next['podIP'] = ips[0]!.ip ?? '';
  for (const condition of items(next, 'conditions')) {
    condition['lastProbeTime'] ??= null;
    condition['lastTransitionTime'] ??= null;
  }
  for (const list of CONTAINER_STATUSES) {
    for (const container of items(next, list)) {
      container['state'] ??= {};
      container['lastState'] ??= {};
    }
  }
  return next;
}

const CONTAINER_STATUSES: readonly string[] = [
  'initContainerStatuses',
  'containerStatuses',
  'ephemeralContainerStatuses',
];

function validatePodStatus(status: Json): readonly FieldError[] {
  const errors: FieldError[] = [];
  for (const [at, { ip = '' }] of items<{ ip?: string }>(status, 'podIPs').entries()) {
    for (const problem of ipProblems(ip)) errors.push(invalid(`status.podIPs[${at}]`, ip, problem));
  }
  return errors;
}

function validatePodSpec(spec: Json): readonly FieldError[] {
  const errors: FieldError[] = [];
  const containers = items(spec, 'containers');
  if (containers.length === 0) errors.push(required('spec.containers'));
  const names = new Set<string>();
  for (const [at, container] of containers.entries()) {
    validateContainer(errors, `spec.containers[${at}]`, container, names);
  }
  for (const [at, container] of items(spec, 'initContainers').entries()) {
    validateContainer(errors, `spec.initContainers[${at}]`, container, names);
  }
  const nodeName = text(spec, 'nodeName');
  if (nodeName !== '') {
    for (const problem of subdomainName(nodeName)) errors.push(invalid('spec.nodeName', nodeName, problem));
  }
  for (const field of ['hostname', 'subdomain']) {
    const value = text(spec, field);
    if (value === '') continue;
    for (const problem of labelName(value)) errors.push(invalid(`spec.${field}`, value, problem));
  }
  return errors;
}

function validateContainer(errors: FieldError[], field: string, container: Json, names: Set<string>): void {
  const name = text(container, 'name');
  if (name === '') errors.push(required(`${field}.name`));
  else {
    for (const problem of labelName(name)) errors.push(invalid(`${field}.name`, name, problem));
  }
  if (names.has(name)) errors.push(duplicate(`${field}.name`, name));
  else names.add(name);
  if (text(container, 'image') === '') errors.push(required(`${field}.image`));
  const portNames = new Set<string>();
  for (const [at, port] of items(container, 'ports').entries()) {
    const portField = `${field}.ports[${at}]`;
    const portLabel = text(port, 'name');
    if (portLabel !== '') {
      for (const problem of portName(portLabel)) errors.push(invalid(`${portField}.name`, portLabel, problem));
      if (portNames.has(portLabel)) errors.push(duplicate(`${portField}.name`, portLabel));
      portNames.add(portLabel);
    }
    const number = port['containerPort'] as number | undefined;
    if (number === undefined || number === 0) errors.push(required(`${portField}.containerPort`));
    else {
      for (const problem of portNumber(number)) errors.push(invalid(`${portField}.containerPort`, number, problem));
    }
    const protocol = text(port, 'protocol');
    if (!PROTOCOLS.includes(protocol)) errors.push(notSupported(`${portField}.protocol`, protocol, PROTOCOLS));
  }
}

function orElse(value: unknown, fallback: unknown): unknown {
  return value === undefined || value === '' ? fallback : value;
}

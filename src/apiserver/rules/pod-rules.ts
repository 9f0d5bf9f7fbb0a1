import { badRequest } from '../api-error.ts';
import { duplicate, forbidden, invalid, notSupported, required, type FieldError } from '../field-error.ts';
import { goKind } from '../go-json.ts';
import { child, equal, isRecord, items, text, type ApiObject } from '../object.ts';
import { ipProblems, parseIp } from './ip.ts';
import { labelName, portName, portNumber, PROTOCOLS, qualifiedName, subdomainName } from './name-rules.ts';
import { amountOf, validateResources } from './resource-amounts.ts';
import type { Rules } from './rules.ts';

type Json = Record<string, unknown>;

/** core/v1 Pod: the defaults of the API and of the admission plugins that a cluster has by default. */
export const POD_RULES: Rules = {
  name: subdomainName,
  prepareCreate: (object) => {
    object['spec'] = podDefaults(child(object, 'spec'));
    object['status'] = { phase: 'Pending', qosClass: qosClass(child(object, 'spec')), ...gatedCondition(object) };
    object.metadata.generation = 1;
  },
  prepareUpdate: (object, old, context) => {
    const generation = old.metadata.generation;
    if (context.status) {
      object['spec'] = old['spec'];
      object['status'] = podStatus(child(object, 'status'), child(old, 'status'));
      if (old.metadata.ownerReferences === undefined) delete object.metadata.ownerReferences;
      else object.metadata.ownerReferences = old.metadata.ownerReferences;
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
    const wrong = validatePodSpec(child(object, 'spec'));
    const unlike = validatePodUpdate(child(object, 'spec'), child(old, 'spec'));
    if (unlike.length > 0) return [...wrong, ...unlike];
    return equal(frozenPart(object), frozenPart(old)) ? wrong : [...wrong, forbidden('spec', UPDATE_MESSAGE)];
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

/** The spec without the fields that an update may change. */
function frozenPart(object: ApiObject): Json {
  const { activeDeadlineSeconds: _, tolerations: __, schedulingGates: ___, ...spec } = child(object, 'spec');
  const withoutImages = (list: unknown): unknown =>
    (list as Json[] | undefined)?.map((container) => Object.assign({}, container, { image: '' }));
  return {
    ...spec,
    containers: withoutImages(spec['containers']),
    initContainers: withoutImages(spec['initContainers']),
  };
}

/** The condition of a pod that scheduling gates hold back. */
function gatedCondition(object: ApiObject): Json {
  if (items(child(object, 'spec'), 'schedulingGates').length === 0) return {};
  const condition = {
    type: 'PodScheduled',
    status: 'False',
    lastProbeTime: null,
    lastTransitionTime: object.metadata.creationTimestamp,
    reason: 'SchedulingGated',
    message: 'Scheduling is blocked due to non-empty scheduling gates',
  };
  return { conditions: [condition] };
}

function podDefaults(spec: Json): Json {
  const hostNetwork = spec['hostNetwork'] === true;
  for (const container of containersOf(spec)) containerDefaults(container, hostNetwork);
  return {
    ...spec,
    restartPolicy: orElse(spec['restartPolicy'], 'Always'),
    terminationGracePeriodSeconds: gracePeriodSeconds(spec['terminationGracePeriodSeconds'] as number | undefined),
    dnsPolicy: orElse(spec['dnsPolicy'], 'ClusterFirst'),
    securityContext: spec['securityContext'] ?? {},
    schedulerName: orElse(spec['schedulerName'], 'default-scheduler'),
    tolerations: withTolerations(items(spec, 'tolerations')),
    priority: spec['priority'] ?? 0,
    enableServiceLinks: spec['enableServiceLinks'] ?? true,
    preemptionPolicy: spec['preemptionPolicy'] ?? 'PreemptLowerPriority',
  };
}

/** A negative period becomes one second. */
function gracePeriodSeconds(given: number = 30): number {
  return given < 0 ? 1 : given;
}

function validatePodUpdate(spec: Json, old: Json): readonly FieldError[] {
  for (const field of ['containers', 'initContainers']) {
    if (items(spec, field).length === items(old, field).length) continue;
    return [forbidden(`spec.${field}`, 'pod updates may not add or remove containers')];
  }
  const errors: FieldError[] = [];
  for (const [at, gate] of items(spec, 'schedulingGates').entries()) {
    if (items(old, 'schedulingGates').some((one) => equal(one, gate))) continue;
    const why = `only deletion is allowed, but found new scheduling gate '${text(gate, 'name')}'`;
    errors.push(forbidden(`spec.schedulingGates[${at}].name`, why));
  }
  const isKept = (toleration: Json): boolean =>
    items(spec, 'tolerations').some((one) =>
      equal({ ...toleration, tolerationSeconds: one['tolerationSeconds'] }, one),
    );
  if (!items(old, 'tolerations').every(isKept)) {
    errors.push(forbidden('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds'));
  }
  for (const [at, container] of items(spec, 'containers').entries()) {
    validateImage(errors, `spec.containers[${at}].image`, text(container, 'image'));
  }
  const seconds = spec['activeDeadlineSeconds'] as number | undefined;
  const before = old['activeDeadlineSeconds'] as number | undefined;
  validateDeadline(errors, seconds);
  if (errors.length > 0 || before === undefined) return errors;
  if (seconds === undefined) {
    errors.push(invalid(DEADLINE, null, 'must not update from a positive integer to nil value'));
  } else if (seconds > before) errors.push(invalid(DEADLINE, seconds, 'must be less than or equal to previous value'));
  return errors;
}

const DEADLINE = 'spec.activeDeadlineSeconds';

function validateDeadline(errors: FieldError[], seconds: number | undefined): void {
  if (seconds === undefined || (seconds >= 1 && seconds < 2 ** 31)) return;
  errors.push(invalid(DEADLINE, seconds, 'must be between 1 and 2147483647, inclusive'));
}

function validateImage(errors: FieldError[], field: string, image: string): void {
  if (image === '') errors.push(required(field));
  else if (image !== image.trim()) {
    errors.push(invalid(field, image, 'must not have leading or trailing whitespace'));
  }
}

function containersOf(spec: Json): readonly Json[] {
  return [...items(spec, 'initContainers'), ...items(spec, 'containers')];
}

function containerDefaults(container: Json, hostNetwork: boolean): void {
  const latest = tagOf(text(container, 'image')) === 'latest';
  container['resources'] = withRequests(child(container, 'resources'));
  container['terminationMessagePath'] = orElse(container['terminationMessagePath'], '/dev/termination-log');
  container['terminationMessagePolicy'] = orElse(container['terminationMessagePolicy'], 'File');
  container['imagePullPolicy'] = orElse(container['imagePullPolicy'], latest ? 'Always' : 'IfNotPresent');
  for (const port of items(container, 'ports')) {
    port['protocol'] = orElse(port['protocol'], 'TCP');
    if (hostNetwork) port['hostPort'] = port['hostPort'] ?? port['containerPort'];
  }
  for (const probe of ['readinessProbe', 'livenessProbe', 'startupProbe']) {
    if (container[probe] !== undefined) probeDefaults(probe, container[probe]);
  }
}

/** A reference to an image: an optional host, a path, an optional tag and an optional digest. */
const IMAGE =
  /^((?:[\w.-]+(?::[0-9]+)?\/)?[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*)(?::(\w[\w.-]{0,127}))?(?:@(\w[\w.+-]*:[0-9a-fA-F]{32,}))?$/;

const IMAGE_NAME_MAX = 255;
const IMAGE_PREFIX = 'library/';
/** The name of an image may not look like a digest. */
const IDENTIFIER = /^[a-f0-9]{64}$/;

/** The tag by which an image is pulled; '' = the digest decides, or the text is no reference. */
function tagOf(image: string): string {
  const [, name = '', tag, digest] = IMAGE.exec(image) ?? [];
  const path = name.includes('/') ? name : IMAGE_PREFIX + name;
  if (name === '' || path.length > IMAGE_NAME_MAX || IDENTIFIER.test(image)) return '';
  return tag ?? (digest === undefined ? 'latest' : '');
}

/** A resource with a limit and without a request is requested up to its limit. */
function withRequests(resources: Json): Json {
  if (resources['limits'] === undefined) return resources;
  return { ...resources, requests: { ...child(resources, 'limits'), ...child(resources, 'requests') } };
}

/** @throws ApiError 400 */
function probeDefaults(field: string, probe: unknown): void {
  if (!isRecord(probe)) throw noProbe(probe, `Container.spec.containers.${field}`, 'Probe');
  const http = probe['httpGet'];
  if (http !== undefined && http !== null) {
    if (!isRecord(http)) throw noProbe(http, `HTTPGetAction.spec.containers.${field}.httpGet`, 'HTTPGetAction');
    http['path'] = orElse(http['path'], '/');
    http['scheme'] = orElse(http['scheme'], 'HTTP');
  }
  probe['timeoutSeconds'] ??= 1;
  probe['periodSeconds'] ??= 10;
  probe['successThreshold'] ??= 1;
  probe['failureThreshold'] ??= 3;
}

function noProbe(value: unknown, field: string, type: string): Error {
  const why = `json: cannot unmarshal ${goKind(value)} into Go struct field ${field} of type v1.${type}`;
  return badRequest(`Pod in version "v1" cannot be handled as a Pod: ${why}`);
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
    for (const name of ['cpu', 'memory']) {
      const [limit, request] = [amountOf(limits[name]), amountOf(requests[name])];
      any ||= limit > 0n || request > 0n;
      guaranteed &&= limit > 0n && request === limit;
    }
  }
  if (!any) return 'BestEffort';
  return guaranteed ? 'Guaranteed' : 'Burstable';
}

/** podIP and podIPs[0] are one value in the server. If both are given and differ, podIP wins. */
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
      for (const field of ['state', 'lastState']) {
        const state = child(container, field);
        container[field] = state;
        if (state['running'] !== undefined) child(state, 'running')['startedAt'] ??= null;
        if (state['terminated'] === undefined) continue;
        for (const time of ['startedAt', 'finishedAt']) child(state, 'terminated')[time] ??= null;
      }
    }
  }
  return next;
}

/** The policies in the order of the server's message. So are the values of the next list. */
const RESTART_POLICIES: readonly string[] = ['Always', 'OnFailure', 'Never'];
const DNS_POLICIES: readonly string[] = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'];
const PULL_POLICIES: readonly string[] = ['Always', 'IfNotPresent', 'Never'];

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
  const ips = items<{ ip?: string }>(status, 'podIPs');
  const families = ips.map(({ ip = '' }) => parseIp(ip)?.family);
  if (errors.length === 0 && ips.length > 1 && (ips.length > 2 || families[0] === families[1])) {
    const shown = ips.map(({ ip }) => ({ IP: ip }));
    errors.push(invalid('status.podIPs', shown, 'may specify no more than one IP for each IP family'));
  }
  const hostIp = items<{ ip?: string }>(status, 'hostIPs')[0]?.ip;
  if (hostIp !== undefined && hostIp !== text(status, 'hostIP')) {
    errors.push(invalid('status.hostIPs[0].ip', hostIp, 'must be equal to `hostIP`'));
  }
  for (const [at, condition] of items(status, 'conditions').entries()) {
    const type = text(condition, 'type');
    for (const problem of qualifiedName(type)) errors.push(invalid(`status.conditions[${at}].Type`, type, problem));
  }
  const nominated = text(status, 'nominatedNodeName');
  if (nominated !== '') {
    for (const problem of subdomainName(nominated)) {
      errors.push(invalid('status.nominatedNodeName', nominated, problem));
    }
  }
  return errors;
}

function validatePodSpec(spec: Json): readonly FieldError[] {
  const errors: FieldError[] = [];
  const containers = items(spec, 'containers');
  if (containers.length === 0) errors.push(required('spec.containers'));
  const names = new Set<string>();
  for (const [at, container] of containers.entries()) {
    validateContainer(errors, `spec.containers[${at}]`, container, names, spec['hostNetwork'] === true);
  }
  for (const [at, container] of items(spec, 'initContainers').entries()) {
    validateContainer(errors, `spec.initContainers[${at}]`, container, names, spec['hostNetwork'] === true);
  }
  const nodeName = text(spec, 'nodeName');
  if (nodeName !== '') {
    for (const problem of subdomainName(nodeName)) errors.push(invalid('spec.nodeName', nodeName, problem));
  }
  validateDeadline(errors, spec['activeDeadlineSeconds'] as number | undefined);
  const restarts = text(spec, 'restartPolicy');
  if (!RESTART_POLICIES.includes(restarts)) {
    errors.push(notSupported('spec.restartPolicy', restarts, RESTART_POLICIES, false));
  }
  const dnsPolicy = text(spec, 'dnsPolicy');
  if (!DNS_POLICIES.includes(dnsPolicy)) errors.push(notSupported('spec.dnsPolicy', dnsPolicy, DNS_POLICIES, false));
  for (const key of Object.keys(child(spec, 'nodeSelector'))) {
    for (const problem of qualifiedName(key)) errors.push(invalid('spec.nodeSelector', key, problem));
  }
  for (const [at, gate] of items(spec, 'readinessGates').entries()) {
    const type = text(gate, 'conditionType');
    for (const problem of qualifiedName(type)) {
      errors.push(invalid(`spec.readinessGates[${at}].conditionType`, type, problem));
    }
  }
  for (const field of ['hostname', 'subdomain']) {
    const value = text(spec, field);
    if (value === '') continue;
    for (const problem of labelName(value)) errors.push(invalid(`spec.${field}`, value, problem));
  }
  return errors;
}

function validateContainer(
  errors: FieldError[],
  field: string,
  container: Json,
  names: Set<string>,
  hostNetwork: boolean,
): void {
  const name = text(container, 'name');
  if (name === '') errors.push(required(`${field}.name`));
  else {
    for (const problem of labelName(name)) errors.push(invalid(`${field}.name`, name, problem));
  }
  if (names.has(name)) errors.push(duplicate(`${field}.name`, name));
  else names.add(name);
  validateImage(errors, `${field}.image`, text(container, 'image'));
  const pull = text(container, 'imagePullPolicy');
  if (!PULL_POLICIES.includes(pull)) errors.push(notSupported(`${field}.imagePullPolicy`, pull, PULL_POLICIES));
  const hostPorts = new Set<string>();
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
    validateHostPort(errors, `${portField}.hostPort`, port, hostPorts);
    if (hostNetwork && port['hostPort'] !== port['containerPort']) {
      const why = 'must match `containerPort` when `hostNetwork` is true';
      errors.push(invalid(`${portField}.hostPort`, port['hostPort'], why));
    }
    if (!PROTOCOLS.includes(protocol)) errors.push(notSupported(`${portField}.protocol`, protocol, PROTOCOLS));
  }
  validateResources(errors, `${field}.resources`, child(container, 'resources'));
}

function validateHostPort(errors: FieldError[], field: string, port: Json, taken: Set<string>): void {
  const number = (port['hostPort'] as number | undefined) ?? 0;
  if (number === 0) return;
  for (const problem of portNumber(number)) errors.push(invalid(field, number, problem));
  const triple = `${text(port, 'protocol')}/${text(port, 'hostIP')}/${number}`;
  if (taken.has(triple)) errors.push(duplicate(field, triple));
  taken.add(triple);
}

function orElse(value: unknown, fallback: unknown): unknown {
  return value === undefined || value === '' ? fallback : value;
}

/**
 * Pseudonyms: a kind and a number, such as `p1`. Numbers are dealt in the order of asking, which the recorder has made
 * random. Pseudonyms are unique by construction and say nothing about the text. A number is dealt once. Only addresses
 * that nothing has any more may come again. A text that was forgotten gets another number.
 */
import { parseIp } from '../core/ip.ts';
import { labelsFromPairs } from '../kube/labels.ts';
import {
  CONTROL_PLANE_LABELS,
  HEADLESS_LABEL,
  MANAGED_BY_LABEL,
  MANAGED_BY_VALUE,
  MIRROR_MANAGED_BY_VALUE,
  SERVICE_NAME_LABEL,
  SKIP_MIRROR_LABEL,
  SLICE_MANAGED_BY_LABEL,
  SLICE_MANAGED_BY_VALUE,
  ZONE_LABEL,
} from '../kube/names.ts';
import type { Labels } from '../kube/types.ts';
import type { Names } from './names.ts';

export interface Pseudonyms {
  readonly names: Names;
  /** How many texts are remembered. */
  readonly size: () => number;
  /** Forgets all texts for which `live` does not ask while it runs. */
  readonly sweep: (live: () => void) => void;
}

/** The label of pods whose value is the pod's name, by StatefulSets. */
const POD_NAME_LABEL = 'statefulset.kubernetes.io/pod-name';

/** Label keys of Kubernetes that stay, because these controllers or the shape of a roll-out depend on them. */
const KEPT_KEYS: ReadonlySet<string> = new Set([
  MANAGED_BY_LABEL,
  HEADLESS_LABEL,
  SERVICE_NAME_LABEL,
  SLICE_MANAGED_BY_LABEL,
  SKIP_MIRROR_LABEL,
  ZONE_LABEL,
  ...CONTROL_PLANE_LABELS,
  POD_NAME_LABEL,
  'pod-template-hash',
  'controller-revision-hash',
]);

/** Values that Kubernetes gives to labels. */
const KEPT_VALUES: ReadonlySet<string> = new Set([
  '',
  'true',
  'false',
  MANAGED_BY_VALUE,
  SLICE_MANAGED_BY_VALUE,
  MIRROR_MANAGED_BY_VALUE,
]);

const KEPT_APP_PROTOCOLS: ReadonlySet<string> = new Set([
  'http',
  'https',
  'grpc',
  'tcp',
  'tls',
  'kubernetes.io/h2c',
  'kubernetes.io/ws',
  'kubernetes.io/wss',
]);

/** The addresses of 10.0.0.0/8 without the first one. */
const IPV4_NUMBERS = 2 ** 24 - 1;
/** The numbers of addresses behind fd00::/96. */
const IPV6_NUMBERS = 2 ** 32 - 1;
const QUANTITY = /^\d{1,9}(?:\.\d{1,9})?(?:[munkMGTPE]|[KMGTPE]i)?$/;

interface State {
  readonly uint32: () => number;
  readonly fixed: ReturnType<typeof fixedDomains>;
  /** The values of each label key. */
  values: Map<string, Domain>;
  /** During a sweep: the values before it. */
  valuesBefore: Map<string, Domain>;
  /** An interner makes the label sets, so most are known by identity. */
  memo: WeakMap<Labels, Labels>;
}

function fixedDomains() {
  return {
    namespace: createDomain('n'),
    pod: createDomain('p'),
    service: createDomain('s'),
    slice: createDomain('e'),
    node: createDomain('node'),
    zone: createDomain('zone'),
    port: createDomain('port'),
    appProtocol: createDomain('a'),
    uid: createDomain('u'),
    ipv4: createDomain('', IPV4_NUMBERS),
    ipv6: createDomain('', IPV6_NUMBERS),
    fqdn: createDomain('host'),
    key: createDomain('k'),
  };
}

/** @param uint32 uniform and unpredictable: it gives the order in which the labels of one object are dealt */
export function createPseudonyms(uint32: () => number): Pseudonyms {
  const state: State = {
    uint32,
    fixed: fixedDomains(),
    values: new Map(),
    valuesBefore: new Map(),
    memo: new WeakMap(),
  };
  const names = namesOf(state);
  return {
    names,
    size: () => domainsOf(state).reduce((sum, { texts }) => sum + texts.size, 0),
    sweep(live) {
      for (const domain of domainsOf(state)) {
        domain.before = domain.texts;
        domain.texts = new Map();
      }
      state.valuesBefore = state.values;
      // Another key has another pseudonym when it comes back. The name of a kept one stays, so its numbers go on.
      state.values = new Map([...state.values].filter(([key]) => KEPT_KEYS.has(key)));
      state.memo = new WeakMap();
      live();
      for (const domain of domainsOf(state)) endSweep(domain);
      state.valuesBefore = new Map();
    },
  };
}

function domainsOf({ fixed, values }: State): Domain[] {
  return [...Object.values(fixed), ...values.values()];
}

function namesOf(state: State): Names {
  const { fixed } = state;
  const names: Names = {
    namespace: (text) => deal(fixed.namespace, text),
    pod: (namespace, text) => within(fixed.pod, namespace, text),
    service: (namespace, text) => within(fixed.service, namespace, text),
    slice: (namespace, text) => within(fixed.slice, namespace, text),
    node: (text) => deal(fixed.node, text),
    zone: (text) => deal(fixed.zone, text),
    port: (text) => deal(fixed.port, text),
    appProtocol: (text) => (KEPT_APP_PROTOCOLS.has(text) ? text : deal(fixed.appProtocol, text)),
    uid: (text) => deal(fixed.uid, text),
    address(text) {
      if (text === '' || text === 'None') return text;
      // An address has several texts, and what is published of a pod has another one than the pod.
      const ip = parseIp(text);
      if (ip === null) return deal(fixed.fqdn, text);
      return ip.family === 'IPv4' ? ipv4(numberOf(fixed.ipv4, ip.canonical)) : ipv6(numberOf(fixed.ipv6, ip.canonical));
    },
    labels: (namespace, labels) => labelsOf(state, names, namespace, labels),
    oneOf: (allowed, text) => (text === '' || allowed.includes(text) ? text : 'other'),
    quantity: (text) => (QUANTITY.test(text) ? text : ''),
  };
  return names;
}

function labelsOf(state: State, names: Names, namespace: string, labels: Labels): Labels {
  const { fixed, memo, uint32 } = state;
  const known = memo.get(labels);
  if (known !== undefined) return known;
  const pairs: [string, string][] = [];
  for (const at of shuffled(labels.length / 2, uint32)) {
    const key = labels[2 * at]!;
    const renamed = KEPT_KEYS.has(key) ? key : deal(fixed.key, key);
    pairs.push([renamed, valueOf(state, names, namespace, key, labels[2 * at + 1]!)]);
  }
  const renamed = labelsFromPairs(pairs);
  // Such a value has another pseudonym in each namespace.
  if (!renamed.includes(SERVICE_NAME_LABEL) && !renamed.includes(POD_NAME_LABEL)) memo.set(labels, renamed);
  return renamed;
}

function valueOf(state: State, names: Names, namespace: string, key: string, value: string): string {
  switch (key) {
    case SERVICE_NAME_LABEL:
      return names.service(namespace, value);
    case POD_NAME_LABEL:
      return names.pod(namespace, value);
    case ZONE_LABEL:
      return names.zone(value);
    default:
      return KEPT_KEYS.has(key) && KEPT_VALUES.has(value) ? value : deal(valueDomain(state, key), value);
  }
}

function valueDomain({ values, valuesBefore }: State, key: string): Domain {
  let domain = values.get(key);
  if (domain === undefined) {
    domain = valuesBefore.get(key) ?? createDomain('v');
    values.set(key, domain);
  }
  return domain;
}

interface Domain {
  readonly prefix: string;
  /** The numbers are 1 to this. */
  readonly numbers: number;
  texts: Map<string, number>;
  /** During a sweep: the texts before it. */
  before: Map<string, number> | null;
  last: number;
  /** The numbers in use, from the time when all were dealt once; null = none was dealt twice. */
  used: Set<number> | null;
}

function createDomain(prefix: string, numbers = Infinity): Domain {
  return { prefix, numbers, texts: new Map(), before: null, last: 0, used: null };
}

function endSweep(domain: Domain): void {
  domain.before = null;
  if (domain.used !== null) domain.used = new Set(domain.texts.values());
}

function deal(domain: Domain, text: string): string {
  return text === '' ? '' : `${domain.prefix}${numberOf(domain, text)}`;
}

function within(domain: Domain, namespace: string, text: string): string {
  return text === '' ? '' : `${domain.prefix}${numberOf(domain, `${namespace}/${text}`)}`;
}

/** @throws RangeError if all numbers are in use */
function numberOf(domain: Domain, text: string): number {
  let number = domain.texts.get(text);
  if (number !== undefined) return number;
  number = domain.before?.get(text) ?? nextNumber(domain);
  domain.texts.set(text, number);
  return number;
}

function nextNumber(domain: Domain): number {
  const { numbers } = domain;
  if (domain.used === null && domain.last < numbers) return ++domain.last;
  domain.used ??= new Set(domain.texts.values());
  if (domain.used.size >= numbers) throw new RangeError(`more than ${numbers} addresses of one family are in use`);
  do domain.last = (domain.last % numbers) + 1;
  while (domain.used.has(domain.last));
  domain.used.add(domain.last);
  return domain.last;
}

function ipv4(number: number): string {
  return `10.${number >>> 16}.${(number >>> 8) & 0xff}.${number & 0xff}`;
}

/** The address in the form of RFC 5952. */
function ipv6(number: number): string {
  const low = (number & 0xffff).toString(16);
  const high = number >>> 16;
  return high === 0 ? `fd00::${low}` : `fd00::${high.toString(16)}:${low}`;
}

/** The numbers 0 to `count` - 1 in random order. */
export function shuffled(count: number, uint32: () => number): number[] {
  const order = Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const j = uint32() % (i + 1);
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}

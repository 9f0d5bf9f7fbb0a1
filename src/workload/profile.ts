/**
 * How large a seeded cluster is, and what it consists of. Shares are from 0 to 1, of the Services unless said
 * otherwise.
 */
export interface Profile {
  readonly name: string;
  readonly nodes: number;
  readonly namespaces: number;
  readonly servicesPerNamespace: number;
  /** The numbers of pods that Services have. `weight` is relative to the sum of all weights. */
  readonly sizes: readonly ServiceSize[];
  /** Headless Services, with stable pod names, hostnames and a subdomain. */
  readonly headlessShare: number;
  /** Services whose target port is the name of a container port. */
  readonly namedPortShare: number;
  readonly publishNotReadyShare: number;
  /** Services whose selector also selects the pods of a neighbour. */
  readonly overlapShare: number;
  /** The share of the pods that are not ready. */
  readonly notReadyShare: number;
  /**
   * Services that ask for addresses of both families, where the server has both. If it is not 0, all pods have both.
   */
  readonly dualStackShare: number;
  /** Services with a value of trafficDistribution. */
  readonly trafficShare: number;
  /** Services with hints by CPU shares (`topology-mode: Auto`). */
  readonly topologyShare: number;
  /** Services with an appProtocol. */
  readonly appProtocolShare: number;
  /** Apps half-way through a roll-out: a named port has two numbers. */
  readonly halfUpdatedShare: number;
  /** Services without a selector and with Endpoints made by hand. They come in addition to the others. */
  readonly handMadeShare: number;
  readonly zones: number;
  /** How many nodes, the last ones, have no zone. */
  readonly zonelessNodes: number;
  /**
   * Whether pods are padded to production size: about 7.7 kB of JSON as stored, with 20 environment variables and
   * managedFields.
   */
  readonly realistic: boolean;
}

export interface ServiceSize {
  readonly pods: number;
  readonly weight: number;
}

/** Only ready pods behind plain Services. The measured baselines use it. */
const PLAIN = {
  headlessShare: 0,
  namedPortShare: 0,
  publishNotReadyShare: 0,
  overlapShare: 0,
  notReadyShare: 0,
  dualStackShare: 0,
  trafficShare: 0,
  topologyShare: 0,
  appProtocolShare: 0,
  halfUpdatedShare: 0,
  handMadeShare: 0,
  zones: 3,
  zonelessNodes: 0,
  realistic: true,
} as const;

/** Some of everything. */
const MIXED = {
  headlessShare: 0.2,
  namedPortShare: 0.3,
  publishNotReadyShare: 0.05,
  overlapShare: 0.1,
  notReadyShare: 0.05,
  dualStackShare: 0.2,
  trafficShare: 0.3,
  topologyShare: 0.2,
  appProtocolShare: 0.2,
  halfUpdatedShare: 0.1,
  handMadeShare: 0.2,
  zones: 3,
  zonelessNodes: 0,
  realistic: false,
} as const;

export const PROFILES: readonly Profile[] = [
  {
    name: 'tiny',
    nodes: 3,
    namespaces: 2,
    servicesPerNamespace: 5,
    sizes: [
      { pods: 1, weight: 1 },
      { pods: 3, weight: 3 },
      { pods: 5, weight: 1 },
    ],
    ...MIXED,
  },
  {
    name: 'small',
    nodes: 20,
    namespaces: 4,
    servicesPerNamespace: 25,
    sizes: [
      { pods: 5, weight: 9 },
      { pods: 30, weight: 1 },
    ],
    ...MIXED,
  },
  // As small, in two zones, with some nodes in none, as in clusters that have grown from machines of several kinds.
  {
    name: 'patchy',
    nodes: 12,
    namespaces: 2,
    servicesPerNamespace: 20,
    sizes: [
      { pods: 4, weight: 4 },
      { pods: 20, weight: 1 },
    ],
    ...MIXED,
    zones: 2,
    zonelessNodes: 3,
  },
  {
    name: 'demo',
    nodes: 150,
    namespaces: 20,
    servicesPerNamespace: 50,
    sizes: [
      { pods: 3, weight: 960 },
      { pods: 30, weight: 37 },
      { pods: 250, weight: 3 },
    ],
    ...MIXED,
  },
  // Groups of 250, 30 and 5 pods have a quarter, a quarter and half of all pods, as in upstream's load test.
  {
    name: 'load',
    nodes: 1000,
    namespaces: 10,
    servicesPerNamespace: 330,
    sizes: [
      { pods: 5, weight: 300 },
      { pods: 30, weight: 25 },
      { pods: 250, weight: 3 },
    ],
    ...MIXED,
    realistic: true,
  },
  {
    name: 'spread',
    nodes: 300,
    namespaces: 20,
    servicesPerNamespace: 100,
    sizes: [{ pods: 5, weight: 1 }],
    ...PLAIN,
  },
  {
    name: 'onens',
    nodes: 300,
    namespaces: 1,
    servicesPerNamespace: 2000,
    sizes: [{ pods: 5, weight: 1 }],
    ...PLAIN,
  },
  {
    name: 'huge',
    nodes: 150,
    namespaces: 1,
    servicesPerNamespace: 1,
    sizes: [{ pods: 5000, weight: 1 }],
    ...PLAIN,
  },
  // The same groups, with 100,020 pods.
  {
    name: 'large',
    nodes: 3000,
    namespaces: 77,
    servicesPerNamespace: 142,
    sizes: [
      { pods: 5, weight: 10_000 },
      { pods: 30, weight: 834 },
      { pods: 250, weight: 100 },
    ],
    ...PLAIN,
  },
];

/** @throws Error that names all profiles */
export function findProfile(name: string): Profile {
  const profile = PROFILES.find((candidate) => candidate.name === name);
  if (profile === undefined) {
    throw new Error(`unknown profile ${JSON.stringify(name)}: one of ${PROFILES.map((p) => p.name).join(', ')}`);
  }
  return profile;
}

/**
 * The numbers of pods of `count` Services, in no particular order. Each size comes as often as its weight says, so two
 * seeds differ in order but not in the number of pods.
 * @throws Error if there are no sizes, or a weight is not positive
 */
export function sizesOf(profile: Profile, count: number): number[] {
  const total = profile.sizes.reduce((sum, size) => sum + size.weight, 0);
  if (!(total > 0)) throw new Error(`profile ${profile.name}: sizes: weights must add up to more than 0`);
  const sizes: number[] = [];
  let weights = 0;
  for (const { pods, weight } of profile.sizes) {
    weights += weight;
    const end = Math.round((weights / total) * count);
    while (sizes.length < end) sizes.push(pods);
  }
  return sizes;
}

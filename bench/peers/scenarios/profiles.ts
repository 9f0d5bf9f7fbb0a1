/** The clusters of the scenarios in their sizes. */
import { findProfile, type Profile } from '../../../src/workload/profile.ts';
import type { Size } from '../scenario.ts';

type Changes = Readonly<Partial<Profile>>;

function sized(name: string, bySize: Readonly<Record<Exclude<Size, 'full'>, Changes>>, changes: Changes = {}) {
  const whole = { ...findProfile(name), ...changes };
  return (size: Size): Profile => (size === 'full' ? whole : { ...whole, ...bySize[size] });
}

/** 2,000 services of 5 pods in 20 namespaces. */
export const SPREAD = sized('spread', {
  tiny: { namespaces: 2, servicesPerNamespace: 3, nodes: 3 },
  small: { namespaces: 10, servicesPerNamespace: 20, nodes: 30 },
});

/** A tenth of `SPREAD`. */
export const FEW = sized(
  'spread',
  { tiny: { namespaces: 1, servicesPerNamespace: 2, nodes: 3 }, small: { namespaces: 1, servicesPerNamespace: 20 } },
  { name: 'few', namespaces: 2, nodes: 30 },
);

/** 2,000 services of 5 pods in one namespace. */
export const ONENS = sized('onens', {
  tiny: { servicesPerNamespace: 6, nodes: 3 },
  small: { servicesPerNamespace: 200, nodes: 30 },
});

/** As `SPREAD`, with no pod ready yet. */
export function unready(profile: (size: Size) => Profile): (size: Size) => Profile {
  return (size) => ({ ...profile(size), name: `${profile(size).name}-unready`, notReadyShare: 1 });
}

/** One service of 5,000 pods. */
export const HUGE = sized('huge', {
  tiny: { sizes: [{ pods: 25, weight: 1 }], nodes: 3 },
  small: { sizes: [{ pods: 500, weight: 1 }], nodes: 20 },
});

/** One service of 1,000 pods: as many as an Endpoints object holds. */
export const ONE_OF_1000 = sized(
  'huge',
  { tiny: { sizes: [{ pods: 25, weight: 1 }], nodes: 3 }, small: { sizes: [{ pods: 250, weight: 1 }], nodes: 20 } },
  { name: 'one-of-1000', sizes: [{ pods: 1000, weight: 1 }] },
);

/** A cluster half-way through a roll-out: a named port with two numbers. */
export function halfUpdated(profile: (size: Size) => Profile): (size: Size) => Profile {
  return (size) => ({ ...profile(size), name: `${profile(size).name}-two-numbers`, halfUpdatedShare: 1 });
}

/** 100,020 pods of production size in 10,934 services. */
export const LARGE = sized('large', {
  tiny: { namespaces: 1, servicesPerNamespace: 5, nodes: 5, sizes: [{ pods: 5, weight: 1 }] },
  small: { namespaces: 8, nodes: 300 },
});

/** 150,755 pods of production size in 16,472 services. */
export const LARGER = sized(
  'large',
  {
    tiny: { namespaces: 1, servicesPerNamespace: 6, nodes: 5, sizes: [{ pods: 5, weight: 1 }] },
    small: { namespaces: 12, nodes: 450 },
  },
  { name: 'larger', namespaces: 116, nodes: 4500 },
);

/** As `SPREAD`, with 110 pods on a node. */
export function dense(profile: (size: Size) => Profile): (size: Size) => Profile {
  return (size) => {
    const { nodes, ...rest } = profile(size);
    return { ...rest, nodes: Math.max(2, Math.round(nodes * DENSE_SHARE)), name: `${rest.name}-dense` };
  };
}

/** 300 nodes of 33 pods become 91 of 110. */
const DENSE_SHARE = 0.303;

/** Services with Endpoints made by hand, and hardly any pods. */
export const HAND_MADE = sized(
  'spread',
  { tiny: { namespaces: 2, servicesPerNamespace: 4, nodes: 2 }, small: { namespaces: 4, nodes: 10 } },
  { name: 'by-hand', sizes: [{ pods: 1, weight: 1 }], handMadeShare: 1, nodes: 30 },
);

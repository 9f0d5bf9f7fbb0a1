/**
 * The points of four axes. A point is a cluster in which one number has grown and the others are as at all points.
 * Plain data in and out.
 */
import { serviceCount, type Shape } from './shape.ts';

export const AXES = ['pods', 'size', 'services', 'nodes'] as const;

export type AxisName = (typeof AXES)[number];

export interface Point {
  readonly axis: AxisName;
  /** The value of the number that grows. */
  readonly at: number;
  readonly shape: Shape;
}

export const KUBE_MANAGER = 'kube-controller-manager';
/** Each may cost seconds. */
const MANAGER_FLIPS_MAX = 40;

/** How many flips of `wanted` are made with this controller at a point. */
export function flipsOf(peer: string, wanted: number): number {
  return peer === KUBE_MANAGER ? Math.min(wanted, MANAGER_FLIPS_MAX) : wanted;
}

interface Axis {
  /** The title for a table. */
  readonly title: string;
  readonly steps: readonly number[];
  readonly tiny: readonly number[];
  readonly shapeAt: (step: number) => Shape;
}

export const AXIS: Readonly<Record<AxisName, Axis>> = {
  pods: {
    title: 'pods, in services of 10',
    steps: [1000, 10_000, 100_000, 1_000_000],
    tiny: [20, 40],
    shapeAt: (pods) => ({ pods, podsPerService: 10, nodes: 1000 }),
  },
  size: {
    title: 'pods of a service, of 50,000 in all',
    steps: [5, 50, 500, 5000, 50_000],
    tiny: [5, 120],
    shapeAt: (podsPerService) => ({ pods: 50_000, podsPerService, nodes: 1000 }),
  },
  services: {
    title: 'services of 5 pods',
    steps: [10, 100, 1000, 10_000, 100_000],
    tiny: [2, 8],
    shapeAt: (services) => ({ pods: 5 * services, podsPerService: 5, nodes: 1000 }),
  },
  nodes: {
    title: 'nodes, of 50,000 pods in services of 10',
    steps: [1, 10, 100, 1000, 10_000, 50_000],
    tiny: [1, 6],
    shapeAt: (nodes) => ({ pods: 50_000, podsPerService: 10, nodes }),
  },
};

/** @param podsMax points of clusters with more pods are left out and returned as such */
export function pointsOf(
  axes: readonly AxisName[],
  podsMax: number,
  tiny: boolean,
): { readonly points: readonly Point[]; readonly leftOut: readonly Point[] } {
  const all = axes.flatMap((axis) => {
    const { steps, tiny: few, shapeAt } = AXIS[axis];
    return (tiny ? few : steps).map((at): Point => ({ axis, at, shape: small(shapeAt(at), tiny) }));
  });
  return {
    points: all.filter(({ shape }) => shape.pods <= podsMax),
    leftOut: all.filter(({ shape }) => shape.pods > podsMax),
  };
}

const TINY_PODS = 240;

function small(shape: Shape, tiny: boolean): Shape {
  const { podsPerService } = shape;
  const most = Math.max(1, Math.floor(TINY_PODS / podsPerService)) * podsPerService;
  return tiny ? { ...shape, pods: Math.min(shape.pods, most), nodes: Math.min(shape.nodes, TINY_PODS) } : shape;
}

export function shapeText(shape: Shape): string {
  const { pods, podsPerService, nodes } = shape;
  return `${pods} pods, ${serviceCount(shape)} services of ${podsPerService}, ${nodes} nodes`;
}

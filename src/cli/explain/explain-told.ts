/** What `explain` tells of a Service, from what it has read. */
import { explainService, type ServiceExplanation } from '../../core/explain/service.ts';
import { allNodes, currentShares, type NodeTable, zoneOf } from '../../core/node-table.ts';
import { shareOf } from '../../core/slices/zone-shares.ts';
import { selectorText } from '../../kube/labels.ts';
import type { PodRecord, ServiceRecord } from '../../kube/types.ts';
import {
  type Candidates,
  type Changes,
  NO_CHANGES,
  type Outputs,
  type Reading,
  type StoredOutput,
} from './explain-read.ts';

/** The explanation of one Service, and what the server holds of it. */
export interface Told {
  readonly explanation: ServiceExplanation;
  readonly summary: string;
  readonly endpoints: readonly StoredOutput[];
  readonly slices: readonly StoredOutput[];
  readonly podsSeen: boolean;
  readonly nodesSeen: boolean;
  /** How many pods have some of the labels and are not shown; null = the pods could not be seen. */
  readonly others: number | null;
  /** `--mirroring-max-endpoints-per-subset` */
  readonly mirrorLimit: number;
  readonly changes: Changes;
}

/** Explains a Service from what was read. */
export function tell(
  reading: Reading,
  service: ServiceRecord,
  outputs: Outputs,
  { pods, asked, all, others }: Candidates,
  nodes: NodeTable | undefined,
  changes: Changes = NO_CHANGES,
): Told {
  const { config } = reading;
  const zones = nodes === undefined ? null : zonesOf(nodes, pods);
  const explanation = explainService(
    {
      service,
      pods,
      asked,
      allPods: all,
      zones,
      shares: nodes === undefined ? null : currentShares(nodes),
      endpoints: outputs.endpoints,
      slices: outputs.slices,
    },
    config,
  );
  const wantsShares = explanation.families.some(({ hintsFailure }) => hintsFailure?.startsWith('Insufficient Node'));
  const notes = wantsShares && nodes !== undefined ? whyNoShares(nodes) : [];
  return {
    explanation: { ...explanation, notes: [...explanation.notes, ...notes] },
    summary: summaryOf(service),
    endpoints: outputs.stored.endpoints,
    slices: outputs.stored.slices,
    podsSeen: all,
    nodesSeen: nodes !== undefined,
    others,
    mirrorLimit: config.mirror.endpointsPerSubsetMax,
    changes,
  };
}

function zonesOf(nodes: NodeTable, pods: readonly PodRecord[]): Map<string, string> {
  const zones = new Map<string, string>();
  for (const { nodeName } of pods) {
    const zone = zoneOf(nodes, nodeName);
    if (zone !== null) zones.set(nodeName, zone);
  }
  return zones;
}

function summaryOf(service: ServiceRecord): string {
  const { type, selector, ports, clusterIP, ipFamilies, deleting } = service;
  return [
    ...(deleting ? ['is being deleted'] : []),
    `${type === '' ? 'ClusterIP' : type}${clusterIP === 'None' ? ' (headless)' : ''}`,
    ...(ipFamilies.length > 0 ? [ipFamilies.join('+')] : []),
    selector === null ? 'no selector' : `selector ${selectorText(selector)}`,
    ports.length === 0
      ? 'no ports'
      : `ports ${ports.map((port) => `${port.port}->${port.targetPort}/${port.protocol}`).join(', ')}`,
  ].join(', ');
}

/** Why no Service gets hints by CPU: the nodes because of which, or that the others are not in two zones. */
function whyNoShares(nodes: NodeTable): string[] {
  const found: string[] = [];
  const zones = new Set<string>();
  for (const node of allNodes(nodes)) {
    const { spoils, zone } = shareOf(node);
    if (spoils !== '') found.push(`node ${node.name}: ${spoils}`);
    else if (zone !== '') zones.add(zone);
  }
  if (found.length > 0) return found.sort().slice(0, SPOILERS_MAX);
  const [zone] = zones;
  return [zone === undefined ? 'no ready node counts' : `all ready nodes that count are in one zone: ${zone}`];
}

const SPOILERS_MAX = 3;

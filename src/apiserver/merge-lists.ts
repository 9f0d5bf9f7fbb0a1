/** How a strategic merge patch treats one list: the OpenAPI extensions of its field. */
export interface MergeList {
  /** Absent = the list has plain values, which are joined. */
  readonly 'x-kubernetes-patch-merge-key'?: string;
  readonly 'x-kubernetes-patch-strategy': string;
}

function mergedBy(key: string, strategy = 'merge'): MergeList {
  return { 'x-kubernetes-patch-merge-key': key, 'x-kubernetes-patch-strategy': strategy };
}

/**
 * Lists that a patch merges by a key of their items instead of replacing them, by message and field (struct tag
 * patchMergeKey).
 */
export const MERGE_LISTS: Readonly<Record<string, Readonly<Record<string, MergeList>>>> = {
  ObjectMeta: { finalizers: { 'x-kubernetes-patch-strategy': 'merge' }, ownerReferences: mergedBy('uid') },
  PodSpec: {
    containers: mergedBy('name'),
    ephemeralContainers: mergedBy('name'),
    hostAliases: mergedBy('ip'),
    imagePullSecrets: mergedBy('name'),
    initContainers: mergedBy('name'),
    resourceClaims: mergedBy('name', 'merge,retainKeys'),
    schedulingGates: mergedBy('name'),
    topologySpreadConstraints: mergedBy('topologyKey'),
    volumes: mergedBy('name', 'merge,retainKeys'),
  },
  PodStatus: {
    conditions: mergedBy('type'),
    hostIPs: mergedBy('ip'),
    podIPs: mergedBy('ip'),
    resourceClaimStatuses: mergedBy('name', 'merge,retainKeys'),
  },
  Container: {
    env: mergedBy('name'),
    ports: mergedBy('containerPort'),
    volumeDevices: mergedBy('devicePath'),
    volumeMounts: mergedBy('mountPath'),
  },
  ServiceSpec: { ports: mergedBy('port') },
  ServiceStatus: { conditions: mergedBy('type') },
  NodeSpec: { podCIDRs: { 'x-kubernetes-patch-strategy': 'merge' } },
  NodeStatus: { addresses: mergedBy('type'), conditions: mergedBy('type') },
  NamespaceStatus: { conditions: mergedBy('type') },
};

/** Records as the controller holds them: read from wire bytes, not taken from the generator. */
import { projectPod, projectService } from '../../src/kube/project.ts';
import { podIPsOf } from '../../src/kube/record.ts';
import type { PodRecord, ServiceRecord } from '../../src/kube/types.ts';
import { createInterner } from '../../src/lib/interner.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import { podObject, serviceObject } from '../../src/workload/objects.ts';
import { findProfile, type Profile } from '../../src/workload/profile.ts';
import { storedPodSource, storedServiceSource } from './stored-pod.ts';

export interface ClusterRecords {
  readonly services: readonly ServiceRecord[];
  readonly pods: readonly PodRecord[];
}

export const SEED = 1;

/** @param changes fields that replace the profile's, to make it smaller */
export function clusterRecords(profileName: string, changes: Partial<Profile> = {}): ClusterRecords {
  const cluster = makeCluster({ ...findProfile(profileName), ...changes }, SEED);
  const interner = createInterner();
  let revision = 0;
  return {
    services: cluster.services.map((s) => projectService(storedServiceSource(serviceObject(s), ++revision), interner)),
    pods: cluster.pods.map((p) => projectPod(storedPodSource(podObject(cluster, p), ++revision), interner)),
  };
}

/** The same pod with the opposite readiness and a newer version. */
export function flipped(pod: PodRecord, resourceVersion: number): PodRecord {
  return {
    ...pod,
    ready: !pod.ready,
    readyTime: pod.readyTime + 1,
    resourceVersion: String(resourceVersion),
  };
}

/** The pods with all of their lists of IPs, so that a hash does not depend on which lists a record leaves out. */
export function spellOut(pods: readonly PodRecord[]): readonly PodRecord[] {
  return pods.map((pod) => Object.assign({}, pod, { podIPs: podIPsOf(pod) }));
}

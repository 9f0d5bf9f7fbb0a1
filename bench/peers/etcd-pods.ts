/**
 * Pods put into etcd as a kube-apiserver stores them, which takes seconds where creating 10,000 of them takes minutes. The
 * server that is started on them reads them as its own.
 */
import { request } from 'undici';
import { encodeEnvelope } from '../../src/kube/codec.ts';
import type { Cluster } from '../../src/workload/cluster.ts';
import { podObject } from '../../src/workload/objects.ts';
import { storedPodBytes } from '../support/stored-pod.ts';

/** etcd takes 128 operations in a request, and 1.5 MiB. */
const PODS_A_REQUEST = 64;

/** @param url of etcd; no API server must have seen these pods otherwise */
export async function putPods(url: string, cluster: Cluster): Promise<void> {
  const { pods } = cluster;
  for (let from = 0; from < pods.length; from += PODS_A_REQUEST) {
    const success = pods.slice(from, from + PODS_A_REQUEST).map((pod, i) => {
      const object = podObject(cluster, pod);
      const bytes = storedPodBytes(object, from + i + 1);
      return {
        requestPut: {
          key: base64(Buffer.from(`/registry/pods/${pod.app.namespace}/${pod.name}`)),
          value: base64(encodeEnvelope('v1', 'Pod', bytes)),
        },
      };
    });
    const response = await request(`${url}/v3/kv/txn`, { method: 'POST', body: JSON.stringify({ success }) });
    const answer = await response.body.text();
    if (response.statusCode !== 200) throw new Error(`etcd: ${response.statusCode} ${answer.slice(0, 300)}`);
  }
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

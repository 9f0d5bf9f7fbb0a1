/**
 * Puts pods into etcd in kube-apiserver's form. This takes seconds where creating 10,000 pods takes minutes. A server
 * that starts on this etcd reads them as its own.
 */
import { request } from 'undici';
import { encodeEnvelope } from '../../src/kube/codec.ts';
import type { Cluster } from '../../src/workload/cluster.ts';
import { podObject } from '../../src/workload/objects.ts';
import { storedPodBytes } from '../support/stored-pod.ts';

/** etcd accepts 128 operations and 1.5 MiB in a request. */
const PODS_A_REQUEST = 64;

/** @param url etcd's address; no API server may have seen these pods in another form */
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

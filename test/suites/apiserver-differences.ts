import { create, get, jsonPatch, put, strategic } from './apiserver-script.ts';
import type { Step } from './apiserver-script.ts';

/**
 * Where the embedded API server does not do what a real one does, by the name of the case that shows it. The suite runs
 * these cases against the real server as all others, and demands that they fail against the embedded one: an entry that
 * has become wrong must go.
 */
export const DIFFERENCES: Readonly<Record<string, string>> = {
  'open: managedFields are kept': 'nobody in this project reads them, and keeping them costs more than the objects',
  'open: server-side apply creates and updates':
    'needs managedFields; refused with 415. kubectl apply does not use it by default',
  'open: a pod keeps fields that the protobuf tables skip': 'probes, volumes and the like have no part in endpoints',
  'open: duplicate fields are warned of': 'JSON.parse does not tell of them; kubectl never sends any',
  'open: unknown fields of what the protobuf tables skip': 'probes, volumes and the like are kept as they come',
  'open: a forbidden change of a pod is shown': 'the real message ends with a difference of two Go structs',
  'open: quotas and limit ranges': 'kubectl describe namespace leaves out what is not served',
};

/** An answer of a real server that the embedded one is not held to, where seeded stories of requests are compared. */
export interface AnswerDifference {
  readonly why: string;
  /** Matches `METHOD PATH`; absent = any. */
  readonly request?: RegExp;
  /** Matches the real answer: its status, then what it shows, a line each. */
  readonly real: RegExp;
  /** The last of these requests shows it. */
  readonly example: readonly Step[];
}

export const ANSWER_DIFFERENCES: readonly AnswerDifference[] = [
  {
    why: 'the handler of the real server panics (a JSON patch that tests for a list with null in it)',
    real: /^no answer: .*NGHTTP2_INTERNAL_ERROR/,
    example: [
      create('endpointslices', { addressType: 'IPv4', ports: [{ port: 80 }] }),
      jsonPatch('endpointslices/a', [{ op: 'test', path: '/ports', value: [null] }]),
    ],
  },
  {
    why: 'a strategic patch that puts a value of a wrong type: both answer 422, the real one without the name of the field',
    real: /^422\n.*patch: (unrecognized type|cannot (restore|convert))/,
    example: [create('endpoints', {}), strategic('endpoints/a', { subsets: 'x' })],
  },
  {
    why: 'a strategic patch with a number beyond 32 bits: there it wraps around, here it is refused',
    real: /Invalid value: -2147483648/,
    example: [create('leases', {}), strategic('leases/a', { spec: { leaseTransitions: 2 ** 31 } })],
  },
  {
    why: 'a strategic patch that merges texts into a list of objects: 500 there, 400 here',
    real: /list element types are not identical/,
    example: [
      create('services', { spec: { ports: [{ port: 80 }] } }),
      strategic('services/a', { spec: { ports: ['x'] } }),
    ],
  },
  {
    why: 'a Service without a usable name: there the allocator of cluster IPs refuses it first, in its words',
    real: /failed to allocate IP: IPAddress/,
    example: [create('services', { metadata: { name: 'a/b' }, spec: { ports: [{ port: 80 }] } })],
  },
  {
    why: 'the status of a Service that does not exist: there a PUT creates a Service without a cluster IP',
    request: /^PUT services\/\w+\/status/,
    real: /^(201|422)/,
    example: [put('services/a/status', { spec: { ports: [{ port: 80 }] } })],
  },
  {
    why: 'whole numbers with an exponent: JSON.parse does not tell how a number was written',
    real: /cannot unmarshal number 1e3 /,
    example: [{ method: 'POST', path: 'endpoints', body: '{"subsets":[{"ports":[{"port":1e3}]}]}' }],
  },
  {
    why: 'counts beyond 64 bits once they are in thousandths: there they overflow and are no whole number any more',
    real: /Invalid value: "1Ei": must be an integer/,
    example: [
      create('/api/v1/nodes', { metadata: { name: 'NS-a' }, status: { capacity: { 'example.com/x': '1Ei' } } }),
    ],
  },
  {
    why: 'paths below /watch/, which the query parameter has replaced long ago, are not served',
    real: /^200/,
    example: [get('/api/v1/watch/namespaces/NS/endpoints?timeoutSeconds=1')],
  },
  {
    why: 'logs, proxies and other subresources that need a kubelet are not served',
    real: /pods "a" not found/,
    example: [get('pods/a/log')],
  },
  {
    why: 'a path that cannot be decoded: there the stream is broken off, here it is a bad request',
    real: /^no answer: .*NGHTTP2_PROTOCOL_ERROR/,
    example: [get('endpoints/%zz')],
  },
  {
    why: 'an empty namespace in a path: there the object is read before anybody misses it',
    real: /metadata.namespace: Required value/,
    example: [{ method: 'POST', path: '/api/v1/namespaces//endpoints', body: {} }],
  },
];

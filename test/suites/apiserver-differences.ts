import { create, get, jsonPatch, strategic, type Step } from './apiserver-script.ts';

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

/**
 * Answers in which the two servers differ, where seeded stories of requests are compared. Only what matches all three
 * patterns is excused: each says the whole of what it is about.
 */
export interface AnswerDifference {
  readonly why: string;
  /** Matches the line of the request, `METHOD PATH TYPE BODY`, from its start; the type is empty for plain JSON. */
  readonly request: RegExp;
  /** Matches the real answer from its start to its end: its status, then what it shows, a line each. */
  readonly real: RegExp;
  /** The same for the embedded server. */
  readonly embedded: RegExp;
  /** The last of these requests shows it. */
  readonly example: readonly Step[];
}

/** What `request` of an entry is compared with. */
export function requestLine({ method, path, body, options }: Step): string {
  const text = typeof body === 'string' ? body : (JSON.stringify(body) ?? '');
  return `${method} ${path} ${options?.contentType ?? ''} ${text}`;
}

/** The entry that states this difference; undefined = nobody knows of it. */
export function listedDifference(step: Step, real: string, embedded: string): AnswerDifference | undefined {
  const line = requestLine(step);
  return ANSWER_DIFFERENCES.find(
    (known) => known.request.test(line) && known.real.test(real) && known.embedded.test(embedded),
  );
}

const NO_SUCH_PATH = /^404\n {2}NotFound: the server could not find the requested resource$/;

export const ANSWER_DIFFERENCES: readonly AnswerDifference[] = [
  {
    why: 'a JSON patch that tests for a list with null in it: the handler of the real server panics',
    request: /^PATCH \S+ application\/json-patch\+json .*"op":"test".*"value":\[null\]/,
    real: /^no answer: Stream closed with error code NGHTTP2_INTERNAL_ERROR$/,
    embedded: /^422\n {2}Invalid: the server rejected our request due to an error in our request$/,
    example: [
      create('endpointslices', { addressType: 'IPv4', ports: [{ port: 80 }] }),
      jsonPatch('endpointslices/a', [{ op: 'test', path: '/ports', value: [null] }]),
    ],
  },
  {
    why: 'a strategic patch whose merge key is an object or a list: the handler of the real server panics',
    request: /^PATCH \S+ application\/strategic-merge-patch\+json .*"(name|uid|port|containerPort|ip|type)":[[{]/,
    real: /^no answer: Stream closed with error code NGHTTP2_INTERNAL_ERROR$/,
    embedded: /^422\n {2}patch: unrecognized type: (string|int32)$/,
    example: [
      create('pods', { spec: { containers: [{ name: 'c', image: 'i' }] } }),
      strategic('pods/a', { spec: { containers: [{ name: {} }] } }),
    ],
  },
  {
    why: 'whole numbers with an exponent: JSON.parse does not tell how a number was written, so they are read here',
    request: /^(POST|PUT) \S+ {2}.*[^\w"][0-9.]+[eE][+-]?[0-9]+[^\w"]/,
    real: /^400\n {2}BadRequest: \w+ in version "v1" cannot be handled as a \w+: json: cannot unmarshal number [0-9.]+[eE][+-]?[0-9]+ into Go struct field \S+ of type int(32|64)$/,
    embedded: /^20[01]\n[^]*$/,
    example: [
      {
        method: 'POST',
        path: 'endpoints',
        body: '{"metadata":{"name":"a"},"subsets":[{"addresses":[{"ip":"10.0.0.1"}],"ports":[{"port":1e3}]}]}',
      },
    ],
  },
  {
    why: 'paths below /watch/, which the query parameter has replaced long ago, are not served',
    request: /^\S+ \/(api|apis\/[^/ ]+)\/v1\/watch\/\S+ /,
    real: /^(200(\n {2}ADDED \S+)*|405\n {2}MethodNotAllowed: the server does not allow this method on the requested resource)$/,
    embedded: NO_SUCH_PATH,
    example: [get('/api/v1/watch/namespaces/NS/endpoints?timeoutSeconds=1')],
  },
  {
    why: 'logs, proxies and other subresources of a pod that need a kubelet are not served',
    request: /^GET pods\/a\/(attach|exec|log|portforward|proxy) /,
    real: /^404\n {2}NotFound: pods "a" not found$/,
    embedded: NO_SUCH_PATH,
    example: [get('pods/a/log')],
  },
  {
    why: 'a path that cannot be decoded: there the stream is broken off, here it is a bad request',
    request: /^\S+ \S*%(?![0-9a-fA-F]{2})\S* /,
    real: /^no answer: Stream closed with error code NGHTTP2_PROTOCOL_ERROR$/,
    embedded: /^400\n {2}BadRequest: malformed path$/,
    example: [get('endpoints/%zz')],
  },
  {
    why: 'an empty namespace in the path of a POST or DELETE: there it is missed, here the method is not allowed',
    request: /^(POST|DELETE) \/(api|apis\/[^/ ]+)\/v1\/namespaces\/\/\w+ /,
    real: /^(422\n( {2}.*\n)* {2}metadata\.namespace: Required value(\n {2}.*)*|400\n {2}BadRequest: Namespace parameter required\.)$/,
    embedded: /^405\n {2}MethodNotAllowed: the server does not allow this method on the requested resource$/,
    example: [create('/api/v1/namespaces//endpoints', {})],
  },
];

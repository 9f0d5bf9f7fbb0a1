/** What the list of differences from a real server may excuse: only what an entry states, whole and for both sides. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createApiServer } from '../../src/apiserver/server.ts';
import { createPrng, nextFloat } from '../../src/lib/prng.ts';
import { serveApi } from '../../src/node/apiserver-http.ts';
import { answers } from '../suites/apiserver-answers.ts';
import { createClient, type Client } from '../suites/apiserver-client.ts';
import { ANSWER_DIFFERENCES, listedDifference, requestLine } from '../suites/apiserver-differences.ts';
import { create, get, jsonPatch, merge, put, remove, strategic, type Step } from '../suites/apiserver-script.ts';

const TOKEN = 'secret';

/** Such as any request may get: they say nothing of a listed difference. */
const ORDINARY_ANSWERS: readonly string[] = [
  '400\n  BadRequest: the namespace of the provided object does not match the namespace sent on the request',
  '400\n  BadRequest: Endpoints in version "v1" cannot be handled as a Endpoints: json: cannot unmarshal string into Go struct field EndpointPort.subsets.ports.port of type int32',
  '403\n  Forbidden: pods "a" is forbidden: this namespace may not be deleted',
  '404\n  NotFound: endpoints "a" not found',
  '409\n  AlreadyExists: pods "a" already exists',
  '409\n  Conflict: Operation cannot be fulfilled on pods "a": the object has been modified',
  '415\n  UnsupportedMediaType: 415: Unsupported Media Type',
  '422\n  metadata.name: Required value: name or generateName is required',
  '422\n  patch: json: cannot unmarshal string into Go struct field Endpoints.subsets of type []v1.EndpointSubset',
  '500\n  no reason: resourceVersion should not be set on objects to be created',
  'no answer: other side closed',
];

const ORDINARY_REQUESTS: readonly Step[] = [
  get('endpoints'),
  get('pods/a'),
  get('services/a/status'),
  get('endpoints?watch=1&timeoutSeconds=1'),
  create('endpoints', { subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80 }] }] }),
  create('pods', { metadata: { name: 'e1', labels: { a: '1e3' } } }),
  put('services/a', { spec: { ports: [{ port: 80 }] } }),
  remove('pods/a', {}),
  merge('endpoints/a', { subsets: null }),
  strategic('services/a', { spec: { ports: [{ name: 'http', port: 80 }] } }),
  jsonPatch('endpoints/a', [{ op: 'test', path: '/subsets', value: null }]),
];

describe('a listed difference from the real API server', () => {
  let client: Client;
  let stop: () => Promise<void>;

  before(async () => {
    const prng = createPrng(1);
    const http = await serveApi(createApiServer({ random: () => nextFloat(prng) }), { token: TOKEN });
    client = createClient({ url: http.url, token: TOKEN, stop: () => http.close() });
    stop = async () => {
      await client.close();
      await http.close();
    };
  });

  after(() => stop());

  for (const { why, request, real, embedded, example } of ANSWER_DIFFERENCES) {
    test(`the entry states both answers from end to end: ${why}`, () => {
      assert.match(request.source, /^\^/);
      for (const { source } of [real, embedded]) assert.match(source, /^\^.*\$$/);
    });

    test(`the entry has an example that the embedded server answers so: ${why}`, async () => {
      const last = example.at(-1)!;
      assert.match(requestLine(last), request);
      assert.match((await answers(client, example)).at(-1)!, embedded);
    });

    test(`no other answer excuses the difference: ${why}`, () => {
      for (const answer of ORDINARY_ANSWERS) {
        assert.doesNotMatch(answer, real);
        assert.doesNotMatch(answer, embedded);
      }
    });

    test(`no ordinary request meets the difference: ${why}`, () => {
      for (const step of ORDINARY_REQUESTS) assert.doesNotMatch(requestLine(step), request);
    });
  }

  test("a difference is found only if the request and both answers are the entry's", () => {
    const log = get('pods/a/log');
    const [real, embedded] = [
      '404\n  NotFound: pods "a" not found',
      '404\n  NotFound: the server could not find the requested resource',
    ];
    assert.notEqual(listedDifference(log, real, embedded), undefined);
    assert.equal(listedDifference(get('pods/a'), real, embedded), undefined);
    assert.equal(listedDifference(log, '400\n  BadRequest: x', embedded), undefined);
    assert.equal(listedDifference(log, real, '400\n  BadRequest: x'), undefined);
  });
});

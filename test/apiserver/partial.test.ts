/** The tables of the codec skip parts of a pod. Who reads one pod and takes JSON as well gets it whole. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apply, createApiServer } from '../../src/apiserver/server.ts';

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const POD = '/api/v1/namespaces/default/pods/p';

/** Content type of a GET of a pod with such a container. */
function typeOf(container: object, accept: string): string {
  const server = createApiServer({ random: () => 0.5 });
  const body = Buffer.from(
    JSON.stringify({ metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i', ...container }] } }),
  );
  const created = apply(server, 0, { method: 'POST', path: '/api/v1/namespaces/default/pods', headers: {}, body });
  assert.equal(created.status, 201);
  return String(
    apply(server, 0, { method: 'GET', path: POD, headers: { accept }, body: null }).headers['content-type'],
  );
}

const WITH_PROBE = { readinessProbe: { httpGet: { port: 80 } } };

test('a pod whose fields the tables have goes in protobuf', () => {
  assert.equal(typeOf({}, `${PROTOBUF},application/json`), PROTOBUF);
});

test('a pod with a probe goes in JSON to clients that accept it', () => {
  assert.equal(typeOf(WITH_PROBE, `${PROTOBUF},application/json`), 'application/json');
  assert.equal(typeOf(WITH_PROBE, PROTOBUF), PROTOBUF);
});

test('the metadata of a pod with a probe go in protobuf', () => {
  const as = 'as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
  assert.equal(typeOf(WITH_PROBE, `${PROTOBUF};${as},application/json`), PROTOBUF);
});

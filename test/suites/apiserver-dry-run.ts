import assert from 'node:assert/strict';
import type { Case } from './apiserver.ts';
import { endpointsPath, MERGE, plain, type Json } from './apiserver-client.ts';

/** `dryRun=All`: everything but the write. */
export const DRY_RUN_CASES: Readonly<Record<string, Case>> = {
  'a dry create is answered and not kept': async (client) => {
    const path = await endpointsPath(client);
    const { status, body } = await client.call('POST', `${path}?dryRun=All`, { metadata: { name: 'a' } });
    assert.deepEqual([status, body.metadata.name, body.metadata.resourceVersion], [201, 'a', undefined]);
    assert.match(body.metadata.uid, /^[0-9a-f-]{36}$/);
    assert.equal((await client.call('GET', `${path}/a`)).status, 404);
  },

  'a dry create is validated': async (client) => {
    const path = await endpointsPath(client);
    await client.ok('POST', path, { metadata: { name: 'a' } });
    assert.equal((await client.call('POST', `${path}?dryRun=All`, { metadata: { name: 'a' } })).status, 409);
    assert.equal((await client.call('POST', `${path}?dryRun=All`, { metadata: { name: 'A' } })).status, 422);
  },

  'a dry update keeps the version': async (client) => {
    const path = await endpointsPath(client);
    const { metadata } = await client.ok('POST', path, { metadata: { name: 'a' } });
    const wanted = { metadata: { name: 'a', labels: { b: 'c' } } };
    const answer = await client.ok('PUT', `${path}/a?dryRun=All`, wanted);
    assert.deepEqual([answer.metadata.labels, answer.metadata.resourceVersion], [{ b: 'c' }, metadata.resourceVersion]);
    const patched = await client.ok('PATCH', `${path}/a?dryRun=All`, wanted, { contentType: MERGE });
    assert.deepEqual(patched.metadata.labels, { b: 'c' });
    assert.equal((await client.ok('GET', `${path}/a`)).metadata.labels, undefined);
    assert.equal((await client.call('PUT', `${path}/b?dryRun=All`, { metadata: { name: 'b' } })).status, 201);
    assert.equal((await client.call('GET', `${path}/b`)).status, 404);
  },

  'a dry delete keeps the object': async (client) => {
    const path = await endpointsPath(client);
    await client.ok('POST', path, { metadata: { name: 'a' } });
    for (const [query, body] of [
      ['?dryRun=All', undefined],
      ['', { dryRun: ['All'] }],
    ] as const) {
      const answer = await client.ok('DELETE', `${path}/a${query}`, body);
      assert.deepEqual([answer.kind, answer.status, answer.details.name], ['Status', 'Success', 'a']);
    }
    assert.equal((await client.ok('DELETE', `${path}?dryRun=All`)).items.length, 1);
    assert.equal((await client.call('GET', `${path}/a`)).status, 200);
  },

  'a dry delete shows how a namespace would end': async (client) => {
    const name = await client.namespace();
    const answer = await client.ok('DELETE', `/api/v1/namespaces/${name}?dryRun=All`);
    assert.equal(answer.status.phase, 'Terminating');
    assert.equal((await client.ok('GET', `/api/v1/namespaces/${name}`)).status.phase, 'Active');
  },

  "a dry create shows a Service's address and takes none": async (client) => {
    const path = `/api/v1/namespaces/${await client.namespace()}/services`;
    const service = { metadata: { name: 'a' }, spec: { ports: [{ port: 80 }], clusterIP: '10.100.20.30' } };
    for (const time of ['first', 'second']) {
      const { status, body } = await client.call('POST', `${path}?dryRun=All`, service);
      assert.deepEqual([status, body.spec.clusterIP], [201, '10.100.20.30'], time);
    }
  },

  'no watcher hears of a dry run': async (client) => {
    const path = await endpointsPath(client);
    const { metadata } = await client.ok('GET', path);
    const watch = await client.watch(`${path}?watch=1&resourceVersion=${metadata.resourceVersion}`);
    await client.ok('POST', `${path}?dryRun=All`, { metadata: { name: 'a' } });
    await client.ok('POST', path, { metadata: { name: 'b' } });
    const events = await watch.take(1);
    watch.close();
    assert.deepEqual(
      events.map((event) => event.object.metadata.name),
      ['b'],
    );
  },

  'any other value of dryRun is refused': async (client) => {
    const path = await endpointsPath(client);
    await client.ok('POST', path, { metadata: { name: 'a' } });
    const message = 'Unsupported value: ["foo"]: supported values: "All"';
    const answers: Record<string, Json> = {
      CreateOptions: await client.call('POST', `${path}?dryRun=foo`, { metadata: { name: 'b' } }),
      UpdateOptions: await client.call('PUT', `${path}/a?dryRun=foo`, { metadata: { name: 'a' } }),
      PatchOptions: await client.call('PATCH', `${path}/a?dryRun=foo`, {}, { contentType: MERGE }),
      DeleteOptions: await client.call('DELETE', `${path}/a?dryRun=foo`),
    };
    for (const [kind, { status, body }] of Object.entries(answers)) {
      assert.equal(status, 422, kind);
      assert.deepEqual(plain(body).details, {
        group: 'meta.k8s.io',
        kind,
        causes: [{ reason: 'FieldValueNotSupported', message, field: 'dryRun' }],
      });
    }
  },
};

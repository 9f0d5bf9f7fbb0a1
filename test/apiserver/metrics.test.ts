import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apply, createApiServer, type ApiServer } from '../../src/apiserver/server.ts';

const PATH = '/api/v1/namespaces/default/endpoints';

function send(server: ApiServer, method: string, path: string, body: object | null = null): string {
  const bytes = body === null ? null : Buffer.from(JSON.stringify(body));
  const reply = apply(server, 0, { method, path, headers: {}, body: bytes });
  return 'body' in reply ? Buffer.from(reply.body).toString() : '';
}

/** Lines of one metric, without its name. */
function linesOf(server: ApiServer, name: string): string[] {
  const lines = send(server, 'GET', '/metrics').split('\n');
  return lines.filter((line) => line.startsWith(`${name}{`)).map((line) => line.slice(name.length));
}

test('a new server holds the objects of a new cluster', () => {
  const server = createApiServer({ random: () => 0.5 });
  assert.deepEqual(linesOf(server, 'apiserver_resource_objects'), [
    '{group="",resource="namespaces"} 4',
    '{group="",resource="pods"} 0',
    '{group="",resource="services"} 1',
    '{group="",resource="endpoints"} 1',
    '{group="",resource="nodes"} 0',
    '{group="",resource="events"} 0',
    '{group="discovery.k8s.io",resource="endpointslices"} 1',
    '{group="coordination.k8s.io",resource="leases"} 0',
  ]);
  assert.deepEqual(linesOf(server, 'apiserver_longrunning_requests'), []);
});

test('requests are counted by resource, verb and status', () => {
  const server = createApiServer({ random: () => 0.5 });
  send(server, 'POST', PATH, { metadata: { name: 'a' } });
  send(server, 'POST', PATH, { metadata: { name: 'a' } });
  send(server, 'POST', `${PATH}?dryRun=All`, { metadata: { name: 'b' } });
  send(server, 'GET', PATH);
  send(server, 'GET', PATH);
  send(server, 'GET', '/api/v1/endpoints?watch=1');
  send(server, 'EVIL"\n', '/nowhere');
  const labels = (code: number, dryRun: string, scope: string, verb: string): string =>
    `{code="${code}",component="apiserver",dry_run="${dryRun}",group="",resource="endpoints",scope="${scope}",` +
    `subresource="",verb="${verb}",version="v1"}`;
  const [other, ...about] = linesOf(server, 'apiserver_request_total').toSorted((left, right) =>
    left.includes('other') ? -1 : right.includes('other') ? 1 : 0,
  );
  assert.match(other!, /code="404".*resource="".*verb="other".* 1$/);
  assert.deepEqual(about.toSorted(), [
    `${labels(200, '', 'cluster', 'WATCH')} 1`,
    `${labels(200, '', 'namespace', 'LIST')} 2`,
    `${labels(201, '', 'resource', 'POST')} 1`,
    `${labels(201, 'All', 'resource', 'POST')} 1`,
    `${labels(409, '', 'resource', 'POST')} 1`,
  ]);
  assert.deepEqual(linesOf(server, 'apiserver_longrunning_requests'), [
    '{component="apiserver",group="",resource="endpoints",scope="cluster",subresource="",verb="WATCH",version="v1"} 1',
  ]);
});

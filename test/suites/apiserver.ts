/**
 * What an API server has to say and do, for this controller and what surrounds it. One suite for the embedded server and
 * for a real kube-apiserver (1.36): what is written here was seen there.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createClient, type ApiServerUnderTest, type Client, type Json } from './apiserver-client.ts';
import { DIFFERENCES } from './apiserver-differences.ts';
import { BINDING_CASES } from './apiserver-binding.ts';
import { CREATE_CASES } from './apiserver-create.ts';
import { DELETE_CASES } from './apiserver-delete.ts';
import { DISCOVERY_CASES } from './apiserver-discovery.ts';
import { DRY_RUN_CASES } from './apiserver-dry-run.ts';
import { LIST_CASES } from './apiserver-list.ts';
import { OPEN_CASES } from './apiserver-open.ts';
import { PATCH_CASES } from './apiserver-patch.ts';
import { PLAIN_CASES } from './apiserver-plain.ts';
import { POD_CASES } from './apiserver-pods.ts';
import { SERVICE_CASES } from './apiserver-services.ts';
import { TABLE_CASES } from './apiserver-tables.ts';
import { casesOf } from './apiserver-script.ts';
import { ENDPOINT_SLICE_SCRIPTS, ENDPOINTS_SCRIPTS } from './apiserver-rules/endpoints.ts';
import { ENDPOINT_SLICE_LIFE_SCRIPTS } from './apiserver-rules/endpointslices.ts';
import { FOUND_SCRIPTS } from './apiserver-rules/found.ts';
import { METADATA_SCRIPTS } from './apiserver-rules/metadata.ts';
import { NODE_SCRIPTS } from './apiserver-rules/nodes.ts';
import { OTHER_SCRIPTS } from './apiserver-rules/others.ts';
import { POD_SCRIPTS } from './apiserver-rules/pods.ts';
import { REQUEST_SCRIPTS } from './apiserver-rules/requests.ts';
import {
  SERVICE_ADDRESS_SCRIPTS,
  SERVICE_POLICY_SCRIPTS,
  SERVICE_PORT_SCRIPTS,
  SERVICE_TYPE_SCRIPTS,
} from './apiserver-rules/services.ts';
import { STRATEGIC_SCRIPTS } from './apiserver-rules/strategic.ts';
import { UNREADABLE_SCRIPTS } from './apiserver-rules/unreadable.ts';
import { UPDATE_CASES } from './apiserver-update.ts';
import { WATCH_CASES } from './apiserver-watch.ts';
import { YAML_CASES } from './apiserver-yaml.ts';

/** `client` is shared: a case stays in namespaces of its own. */
export type Case = (client: Client) => Promise<void>;

const GROUPS: Readonly<Record<string, Readonly<Record<string, Case>>>> = {
  'paths that are no objects': PLAIN_CASES,
  create: CREATE_CASES,
  update: UPDATE_CASES,
  patch: PATCH_CASES,
  delete: DELETE_CASES,
  pods: POD_CASES,
  'services and others': SERVICE_CASES,
  list: LIST_CASES,
  watch: WATCH_CASES,
  discovery: DISCOVERY_CASES,
  tables: TABLE_CASES,
  yaml: YAML_CASES,
  'dry run': DRY_RUN_CASES,
  binding: BINDING_CASES,
  rules: casesOf({
    ...METADATA_SCRIPTS,
    ...ENDPOINTS_SCRIPTS,
    ...ENDPOINT_SLICE_SCRIPTS,
    ...ENDPOINT_SLICE_LIFE_SCRIPTS,
    ...NODE_SCRIPTS,
    ...UNREADABLE_SCRIPTS,
    ...POD_SCRIPTS,
    ...OTHER_SCRIPTS,
    ...REQUEST_SCRIPTS,
    ...SERVICE_PORT_SCRIPTS,
    ...SERVICE_TYPE_SCRIPTS,
    ...SERVICE_ADDRESS_SCRIPTS,
    ...SERVICE_POLICY_SCRIPTS,
    ...STRATEGIC_SCRIPTS,
    ...FOUND_SCRIPTS,
  }),
  'not in the embedded server': OPEN_CASES,
};

/** @param embedded the listed differences must show */
export function apiServerContract(name: string, embedded: boolean, start: () => Promise<ApiServerUnderTest>): void {
  describe(`API server contract: ${name}`, { concurrency: 8 }, () => {
    let server: ApiServerUnderTest;
    let client: Client;
    before(async () => {
      server = await start();
      client = createClient(server);
    });
    after(async () => {
      await client.close();
      await server.stop();
    });
    for (const [group, cases] of Object.entries(GROUPS)) {
      for (const [title, run] of Object.entries(cases)) {
        const difference = embedded ? DIFFERENCES[title] : undefined;
        test(`${group}: ${title}`, { timeout: 120_000 }, async () => {
          if (difference === undefined) await run(client);
          else await assert.rejects(run(client), `no difference any more: ${difference}`);
        });
      }
    }
    test('every listed difference has its case', () => {
      const titles = Object.values(GROUPS).flatMap((cases) => Object.keys(cases));
      assert.deepEqual(
        Object.keys(DIFFERENCES).filter((title) => !titles.includes(title)),
        [],
      );
    });
  });
}

/** What is different on a server without the WatchList feature. */
export function apiServerWithoutWatchList(name: string, start: () => Promise<ApiServerUnderTest>): void {
  describe(`API server without WatchList: ${name}`, () => {
    let server: ApiServerUnderTest;
    let client: Client;
    before(async () => {
      server = await start();
      client = createClient(server);
    });
    after(async () => {
      await client.close();
      await server.stop();
    });

    test('initial events with a bookmark at their end are refused', async () => {
      const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
      const { status, body } = await client.call('GET', `/api/v1/namespaces/default/endpoints?${query}`);
      assert.deepEqual([status, body.reason], [422, 'Invalid']);
      assert.deepEqual(
        body.details.causes.map((cause: Json) => `${cause.field}: ${cause.message}`),
        [
          'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled',
        ],
      );
    });

    test('no bookmark ends the initial objects', async () => {
      const path = `/api/v1/namespaces/${await client.namespace()}/endpoints`;
      await client.ok('POST', path, { metadata: { name: 'a' } });
      const watch = await client.watch(`${path}?watch=1&allowWatchBookmarks=true`);
      const added = await watch.take(1);
      await client.ok('POST', path, { metadata: { name: 'b' } });
      const next = await watch.take(1);
      watch.close();
      assert.deepEqual(
        [...added, ...next].map((event) => `${event.type} ${event.object.metadata.name}`),
        ['ADDED a', 'ADDED b'],
      );
    });
  });
}

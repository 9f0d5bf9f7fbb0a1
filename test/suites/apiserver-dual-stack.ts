import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createClient, MERGE, type ApiServerUnderTest, type Client, type Json } from './apiserver-client.ts';

/** Families and addresses of Services where the cluster has both: 10.96.0.0/12, then fd00:10:96::/112. */
export function apiServerDualStack(name: string, start: () => Promise<ApiServerUnderTest>): void {
  describe(`dual-stack API server: ${name}`, () => {
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

    const post = async (spec: object): Promise<{ path: string; status: number; body: Json }> => {
      const path = `/api/v1/namespaces/${await client.namespace()}/services`;
      const { status, body } = await client.call('POST', path, { metadata: { name: 'a' }, spec });
      return { path: `${path}/a`, status, body };
    };

    /** `families policy addresses`, addresses by their family. */
    const shown = ({ spec }: Json): string => {
      const ips = (spec.clusterIPs ?? []).map((ip: string) => (ip === 'None' ? ip : ip.includes(':') ? 'v6' : 'v4'));
      return `${spec.ipFamilies} ${spec.ipFamilyPolicy} ${ips}`;
    };

    const PORTS = { ports: [{ port: 80 }] };

    for (const [title, spec, expected] of [
      ['one family unless asked', PORTS, 'IPv4 SingleStack v4'],
      ['both are wished for', { ipFamilyPolicy: 'PreferDualStack', ...PORTS }, 'IPv4,IPv6 PreferDualStack v4,v6'],
      ['both are needed', { ipFamilyPolicy: 'RequireDualStack', ...PORTS }, 'IPv4,IPv6 RequireDualStack v4,v6'],
      ['the other one', { ipFamilies: ['IPv6'], ...PORTS }, 'IPv6 SingleStack v6'],
      [
        'the other one first',
        { ipFamilies: ['IPv6'], ipFamilyPolicy: 'PreferDualStack', ...PORTS },
        'IPv6,IPv4 PreferDualStack v6,v4',
      ],
      [
        'two families, but one policy',
        { ipFamilies: ['IPv6', 'IPv4'], ipFamilyPolicy: 'PreferDualStack', ...PORTS },
        'IPv6,IPv4 PreferDualStack v6,v4',
      ],
      ['an address tells its family', { clusterIP: 'fd00:10:96::1234', ...PORTS }, 'IPv6 SingleStack v6'],
      ['headless', { clusterIP: 'None', selector: { a: 'b' } }, 'IPv4 SingleStack None'],
      [
        'headless, both wished for',
        { clusterIP: 'None', selector: { a: 'b' }, ipFamilyPolicy: 'PreferDualStack' },
        'IPv4,IPv6 PreferDualStack None',
      ],
      ['headless without a selector', { clusterIP: 'None' }, 'IPv4,IPv6 RequireDualStack None'],
      [
        'headless without a selector, one policy',
        { clusterIP: 'None', ipFamilyPolicy: 'SingleStack' },
        'IPv4 SingleStack None',
      ],
    ] as const) {
      test(`${title}: the answer is ${expected}`, async () => {
        const { status, body } = await post(spec);
        assert.equal(status, 201, body.message);
        assert.equal(shown(body), expected);
      });
    }

    test('a second family can be added later', async () => {
      const { path } = await post(PORTS);
      const spec = { ipFamilyPolicy: 'PreferDualStack' };
      assert.equal(
        shown(await client.ok('PATCH', path, { spec }, { contentType: MERGE })),
        'IPv4,IPv6 PreferDualStack v4,v6',
      );
    });

    test('a second family can be given up', async () => {
      const { path } = await post({ ipFamilyPolicy: 'PreferDualStack', ...PORTS });
      const spec = { ipFamilyPolicy: 'SingleStack' };
      assert.equal(shown(await client.ok('PATCH', path, { spec }, { contentType: MERGE })), 'IPv4 SingleStack v4');
    });

    // kube-apiserver compares the reservation of an address with its Service letter by letter some time after the create,
    // and deletes the reservation of a spelling that is not canonical. The address of the other Services is canonical.
    test('an IPv6 address is one address in all its spellings', async () => {
      const first = await post({ clusterIP: 'fd00:10:96::ab', ...PORTS });
      assert.equal(first.status, 201, first.body.message);
      for (const clusterIP of ['fd00:10:96::ab', 'fd00:10:96:0::00ab', 'FD00:10:96::AB']) {
        const { status, body } = await post({ clusterIP, ...PORTS });
        assert.deepEqual([status, body.details?.causes[0].field], [422, 'spec.clusterIPs'], clusterIP);
        assert.match(body.message, /: provided IP is already allocated$/);
      }
      await client.ok('DELETE', first.path);
      assert.equal((await post({ clusterIP: 'fd00:10:96:0::00ab', ...PORTS })).status, 201);
    });

    test('an IPv6 address is kept as it was spelled', async () => {
      const { status, body } = await post({ clusterIP: 'fd00:10:96:0::00ac', ...PORTS });
      assert.deepEqual([status, body.spec?.clusterIP], [201, 'fd00:10:96:0::00ac']);
    });

    test('the first family is fixed', async () => {
      const { path } = await post(PORTS);
      const spec = { ipFamilies: ['IPv6'] };
      const { status, body } = await client.call('PATCH', path, { spec }, { contentType: MERGE });
      assert.equal(status, 422);
      assert.match(
        body.message,
        /spec.clusterIPs\[0\]: Invalid value: "[0-9.]+": expected an IPv6 value as indicated by `ipFamilies\[0\]`$/,
      );
    });
  });
}

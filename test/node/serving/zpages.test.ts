/** /flagz and /statusz: a text for people, v1beta1 for programs that ask for it by name. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Answer, Page } from '../../../src/node/serving/page.ts';
import { flagzPage, statuszPage } from '../../../src/node/serving/zpages.ts';

const STARTED_MS = Date.UTC(2026, 10, 2, 8, 5, 9);
const flagz = flagzPage({ v: '2', 'bind-address': '0.0.0.0', 'kube-api-qps': '20' });
const statusz = statuszPage(
  { startedMs: STARTED_MS, runtimeVersion: 'Node.js v26.10.0', version: '1.2.3', paths: ['/flagz', '/metrics'] },
  () => STARTED_MS + (3 * 3600 + 4 * 60 + 5) * 1000 + 999,
);

function ask(page: Page, accept = ''): Answer {
  const asked = { path: '', query: new URLSearchParams(), accept, left: new AbortController().signal };
  return page({ ...asked, method: 'GET', extend: () => undefined }) as Answer;
}

const V1BETA1 = 'application/json;v=v1beta1;g=config.k8s.io;as=';

describe('/flagz', () => {
  it('/flagz is text by default, one flag a line, in order', () => {
    const { status, contentType, body } = ask(flagz);
    assert.deepEqual([status, contentType], [200, 'text/plain; charset=utf-8']);
    assert.match(String(body), /^\nendpointd flagz\nWarning: [^\n]+\nbind-address=0\.0\.0\.0\nkube-api-qps=20\nv=2\n$/);
  });

  it('/flagz shows no password of an address', () => {
    for (const [master, shown] of [
      ['https://10.0.0.1:6443', 'https://10.0.0.1:6443'],
      ['https://user:secret@10.0.0.1/a@b', 'https://...@10.0.0.1/a@b'],
      ['https://user:p@ss@10.0.0.1', 'https://...@10.0.0.1'],
      ['user:secret@10.0.0.1:8080', '...@10.0.0.1:8080'],
    ] as const) {
      assert.ok(String(ask(flagzPage({ master })).body).includes(`\nmaster=${shown}\n`), shown);
    }
  });

  it('/flagz is JSON of config.k8s.io/v1beta1 for clients that ask for it', () => {
    const { contentType, body } = ask(flagz, `${V1BETA1}Flagz`);
    assert.equal(contentType, 'application/json;g=config.k8s.io;v=v1beta1;as=Flagz');
    assert.deepEqual(JSON.parse(String(body)), {
      kind: 'Flagz',
      apiVersion: 'config.k8s.io/v1beta1',
      metadata: { name: 'endpointd' },
      flags: { 'bind-address': '0.0.0.0', 'kube-api-qps': '20', v: '2' },
    });
  });

  for (const [accept, status, type] of [
    ['text/plain', 200, 'text/plain'],
    ['*/*', 200, 'text/plain'],
    [`text/html, ${V1BETA1}Flagz;q=0.9, */*;q=0.1`, 200, 'application/json'],
    ['application/json', 406, 'application/json'],
    ['text/html', 406, 'application/json'],
    [`${V1BETA1}Statusz`, 406, 'application/json'],
    ['application/json;v=v2;g=config.k8s.io;as=Flagz', 406, 'application/json'],
  ] as const) {
    it(`/flagz with ${accept} gets ${status} and ${type}`, () => {
      const answer = ask(flagz, accept);
      assert.deepEqual([answer.status, answer.contentType.split(';')[0]], [status, type]);
    });
  }
});

describe('/statusz', () => {
  it('/statusz is text by default', () => {
    assert.deepEqual(String(ask(statusz).body).split('\n').toSpliced(2, 1), [
      '',
      'endpointd statusz',
      '',
      'Started: Mon Nov  2 08:05:09 UTC 2026',
      'Up: 3 hr 04 min 05 sec',
      'Go version: Node.js v26.10.0',
      'Binary version: 1.2.3',
      '',
      'Paths: /flagz /metrics',
      '',
    ]);
  });

  it('/statusz is JSON of config.k8s.io/v1beta1 for clients that ask for it', () => {
    assert.deepEqual(JSON.parse(String(ask(statusz, `${V1BETA1}Statusz`).body)), {
      kind: 'Statusz',
      apiVersion: 'config.k8s.io/v1beta1',
      metadata: { name: 'endpointd' },
      startTime: '2026-11-02T08:05:09Z',
      uptimeSeconds: 11_045,
      goVersion: 'Node.js v26.10.0',
      binaryVersion: '1.2.3',
      paths: ['/flagz', '/metrics'],
    });
  });
});

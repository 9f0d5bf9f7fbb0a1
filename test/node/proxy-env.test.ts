import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proxyFromEnvironment } from '../../src/node/proxy-env.ts';

const cases: [server: string, env: Record<string, string>, proxy: string | null][] = [
  ['https://api.example.com:6443', {}, null],
  ['https://api.example.com:6443', { HTTPS_PROXY: 'http://proxy:3128' }, 'http://proxy:3128'],
  ['https://api.example.com:6443', { https_proxy: 'proxy:3128' }, 'http://proxy:3128'],
  ['https://api.example.com:6443', { HTTP_PROXY: 'http://proxy:3128' }, null],
  ['http://api.example.com:8080', { HTTP_PROXY: 'http://proxy:3128' }, 'http://proxy:3128'],
  ['https://127.0.0.1:6443', { HTTPS_PROXY: 'http://proxy:3128' }, null],
  ['https://[::1]:6443', { HTTPS_PROXY: 'http://proxy:3128' }, null],
  ['https://localhost:6443', { HTTPS_PROXY: 'http://proxy:3128' }, null],
];
for (const [server, env, proxy] of cases) {
  test(`the proxy of ${server} is right with ${JSON.stringify(env)}`, () =>
    assert.equal(proxyFromEnvironment(new URL(server), env), proxy));
}

const noProxy: [server: string, noProxy: string, exempt: boolean][] = [
  ['https://api.example.com', '*', true],
  ['https://api.example.com', 'example.com', true],
  ['https://api.example.com', '.example.com', true],
  ['https://api.example.com', '*.example.com', true],
  ['https://example.com', '.example.com', false],
  ['https://badexample.com', 'example.com', false],
  ['https://api.example.com', 'other, API.example.com ', true],
  ['https://api.example.com:6443', 'api.example.com:6443', true],
  ['https://api.example.com:6443', 'api.example.com:443', false],
  ['https://api.example.com', 'api.example.com:443', true],
  ['https://10.1.2.3:6443', '10.0.0.0/8', true],
  ['https://11.1.2.3:6443', '10.0.0.0/8', false],
  ['https://10.1.2.3:6443', '10.1.2.3', true],
  ['https://10.1.2.3:6443', '2.3', false],
  ['https://[fd00::1]:6443', 'fd00::/8', true],
  ['https://[fd00::1]:6443', '[fd00::1]:6443', true],
  ['https://10.1.2.3:6443', '10.0.0.0/99', false],
  ['https://api.example.com', '', false],
];
for (const [server, entry, exempt] of noProxy) {
  test(`NO_PROXY=${entry} ${exempt ? 'exempts' : 'does not exempt'} ${server}`, () => {
    const env = { HTTPS_PROXY: 'http://proxy:3128', NO_PROXY: entry };
    assert.equal(proxyFromEnvironment(new URL(server), env), exempt ? null : 'http://proxy:3128');
  });
}

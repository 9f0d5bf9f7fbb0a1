import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPrng, nextUint32 } from '../../src/lib/prng.ts';
import { createPseudonyms, shuffled, type Pseudonyms } from '../../src/recording/pseudonyms.ts';

function pseudonyms(seed = 1): Pseudonyms {
  const prng = createPrng(seed);
  return createPseudonyms(() => nextUint32(prng));
}

describe('pseudonyms', () => {
  it('the same text has the same pseudonym, and each text its own', () => {
    const { names } = pseudonyms();
    assert.equal(names.node('worker-7'), 'node1');
    assert.equal(names.node('worker-8'), 'node2');
    assert.equal(names.node('worker-7'), 'node1');
    assert.equal(names.node(''), '');
  });

  it('pseudonyms of a Service and of a subdomain are equal within a namespace only', () => {
    const { names } = pseudonyms();
    assert.equal(names.service('shop', 'web'), names.service('shop', 'web'));
    assert.notEqual(names.service('shop', 'web'), names.service('test', 'web'));
    const labels = names.labels('shop', ['kubernetes.io/service-name', 'web']);
    assert.deepEqual(labels, ['kubernetes.io/service-name', names.service('shop', 'web')]);
  });

  it('each key has its own pseudonyms of label values, so equal values do not show', () => {
    const { names } = pseudonyms();
    const [, first] = names.labels('a', ['x', 'filler']);
    const [, second] = names.labels('a', ['x', 'payments']);
    const [, other] = names.labels('a', ['y', 'payments']);
    assert.deepEqual([first, second, other], ['v1', 'v2', 'v1']);
  });

  it('keys and values of Kubernetes stay, and values that a user may choose do not', () => {
    const { names } = pseudonyms();
    const labels = ['endpointslice.kubernetes.io/skip-mirror', 'true', 'pod-template-hash', 'secret'];
    assert.deepEqual(names.labels('a', labels), [
      'endpointslice.kubernetes.io/skip-mirror',
      'true',
      'pod-template-hash',
      'v1',
    ]);
    assert.equal(names.labels('a', ['app.kubernetes.io/name', 'secret'])[0], 'k1');
  });

  it('the labels of one object get pseudonyms in random order', () => {
    const labels = ['a', '1', 'b', '1', 'c', '1', 'd', '1', 'e', '1'];
    const orders = new Set(
      Array.from({ length: 20 }, (_, seed) => {
        const { names } = pseudonyms(seed);
        names.labels('x', labels);
        return 'abcde'
          .split('')
          .map((key) => names.labels('x', [key, '1'])[0])
          .join();
      }),
    );
    assert.ok(orders.size > 10, String(orders.size));
  });

  it('pseudonyms of addresses are in a private range of their family', () => {
    const { names } = pseudonyms();
    assert.equal(names.address('203.0.113.9'), '10.0.0.1');
    assert.equal(names.address('2001:db8::1'), 'fd00::1');
    assert.equal(names.address('db.example.com'), 'host1');
    assert.deepEqual([names.address('None'), names.address('')], ['None', '']);
  });

  it('an address has one pseudonym, in whichever way it is written', () => {
    const { names } = pseudonyms();
    const of = (...texts: readonly string[]): string[] => texts.map((text) => names.address(text));
    assert.deepEqual(
      of('203.0.113.9', '203.000.113.09', '::ffff:203.0.113.9', '::ffff:cb00:7109'),
      Array(4).fill('10.0.0.1'),
    );
    assert.deepEqual(of('2001:db8::1', '2001:DB8::1', '2001:db8:0:0:0:0:0:1'), Array(3).fill('fd00::1'));
    // What is no address stays none.
    assert.deepEqual(of('203.0.113.999', 'fe80::1%eth0'), ['host1', 'host2']);
  });

  it('texts that the API does not know get pseudonyms: a phase, a quantity', () => {
    const { names } = pseudonyms();
    assert.equal(names.oneOf(['TCP'], 'TCP'), 'TCP');
    assert.equal(names.oneOf(['TCP'], 'secret'), 'other');
    assert.deepEqual([names.quantity('3920m'), names.quantity('secret')], ['3920m', '']);
    assert.deepEqual(
      [names.appProtocol('kubernetes.io/h2c'), names.appProtocol('secret')],
      ['kubernetes.io/h2c', 'a1'],
    );
  });

  it('pseudonyms do not collide (`npm run bench -- recording` deals a million)', () => {
    const { names } = pseudonyms();
    const seen = new Set<string>();
    for (let i = 0; i < 20_000; i++)
      seen.add(names.pod('shop', `x${i}`)).add(names.address(`192.0.${i >> 8}.${i & 255}`));
    assert.equal(seen.size, 40_000);
  });

  it('pseudonyms are forgotten when nothing has their text any more', () => {
    const { names, size, sweep } = pseudonyms();
    const kept = [names.pod('a', 'kept'), names.labels('a', ['app', 'kept'])] as const;
    for (let i = 0; i < 100; i++) names.pod('a', `gone-${i}`);
    sweep(() => {
      names.pod('a', 'kept');
      names.labels('a', ['app', 'kept']);
    });
    assert.equal(size(), 3);
    assert.deepEqual([names.pod('a', 'kept'), names.labels('a', ['app', 'kept'])], kept);
    assert.equal(names.pod('a', 'gone-5'), 'p102');
  });

  it('a label that nothing has for a while gets no pseudonym a second time', () => {
    const { names, sweep } = pseudonyms();
    const named = (key: string, value: string): string => names.labels('a', [key, value]).join('=');
    const before = [named('pod-template-hash', 'aaa'), named('app', 'web')];
    sweep(() => undefined);
    const after = [named('pod-template-hash', 'bbb'), named('app', 'api')];
    assert.deepEqual(
      [before, after],
      [
        ['pod-template-hash=v1', 'k1=v1'],
        ['pod-template-hash=v2', 'k2=v1'],
      ],
    );
  });
});

it('a shuffled order has each place once', () => {
  const prng = createPrng(3);
  assert.deepEqual(
    shuffled(50, () => nextUint32(prng)).toSorted((a, b) => a - b),
    Array.from({ length: 50 }, (_, i) => i),
  );
});

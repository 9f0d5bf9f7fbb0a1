import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { formatFaultRule, parseFaultRule } from '../../src/apiserver/fault-text.ts';
import { drawDelayMs, drawFate, ruleFor, type FaultTarget } from '../../src/apiserver/faults.ts';
import { createPrng, nextFloat } from '../../src/lib/prng.ts';
import { propertyRuns } from '../support/runs.ts';

const PUT: FaultTarget = { verb: 'update', resource: 'endpoints', userAgent: 'endpointd/1.0' };

describe('a fault rule', () => {
  it('a fault rule that is written as text reads as the same rule', () => {
    const text =
      'verb=update|patch,resource=endpoints,user-agent=endpointd,lose-reply=0.25,lag=0.5,delay=uniform:10ms-2s';
    assert.equal(formatFaultRule(parseFaultRule(text)), text);
  });

  it('a rule with a delay alone delays every request', () => {
    assert.equal(formatFaultRule(parseFaultRule('delay=exponential:50ms')), 'lag=1,delay=exponential:50ms');
  });

  const refused: readonly [text: string, why: RegExp][] = [
    ['lose-everything=1', /"lose-everything" is not one of verb, resource/],
    ['too-many=2', /too-many: "2" is not a chance from 0 to 1/],
    ['verb=write', /verb "write" is not one of get, list/],
    ['delay=slow', /delay "slow" is not fixed:<duration>/],
    ['delay=uniform:2s-1s', /is not fixed/],
    ['lag=0.5', /lag needs a delay/],
    ['', /"" is not one of/],
  ];
  for (const [text, why] of refused) {
    it(`the rule ${JSON.stringify(text)} is refused`, () => {
      assert.throws(() => parseFaultRule(text), why);
    });
  }

  it('the first rule that fits a request decides', () => {
    const rules = ['verb=get,gone=1', 'resource=pods,gone=1', 'user-agent=endpointd,too-many=1', 'server-error=1'];
    const found = ruleFor(rules.map(parseFaultRule), PUT);
    assert.equal(formatFaultRule(found!), 'user-agent=endpointd,too-many=1');
    assert.equal(ruleFor(rules.slice(0, 2).map(parseFaultRule), PUT), null);
  });

  it('a rule draws faults as often as its chances say', () => {
    const prng = createPrng(1);
    const rule = parseFaultRule('lose-reply=0.1,too-many=0.2,gone=1');
    const counts: Record<string, number> = {};
    for (let i = 0; i < 10_000; i++) {
      const { fault } = drawFate(rule, 'update', () => nextFloat(prng));
      counts[fault] = (counts[fault] ?? 0) + 1;
    }
    assert.deepEqual(Object.keys(counts).toSorted(), ['loseReply', 'none', 'tooMany'], 'nothing but reads can be gone');
    assert.ok(Math.abs(counts['tooMany']! - 2000) < 150, String(counts['tooMany']));
    assert.ok(Math.abs(counts['loseReply']! - 800) < 120, String(counts['loseReply']));
  });

  it("a rule's delays are of its distribution", () => {
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(chance, (at) => {
        const of = (text: string): number => drawDelayMs(parseFaultRule(text).delay, () => at);
        assert.equal(of('delay=fixed:5ms'), 5);
        const uniform = of('delay=uniform:1s-3s');
        assert.ok(uniform >= 1000 && uniform <= 3000);
        assert.ok(of('delay=exponential:1s') >= 0);
        // Node's timers fire at once for a longer time.
        for (const kind of ['fixed', 'exponential']) assert.ok(of(`delay=${kind}:9999h`) <= 2 ** 31 - 1);
      }),
      propertyRuns(200, 1),
    );
  });
});

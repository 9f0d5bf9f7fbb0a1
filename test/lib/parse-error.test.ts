import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { load } from 'js-yaml';
import { parseErrorText } from '../../src/lib/parse-error.ts';
import { propertyRuns } from '../support/runs.ts';

function textOf(parse: (text: string) => unknown, text: string): string | null {
  try {
    parse(text);
    return null;
  } catch (error) {
    return parseErrorText(error);
  }
}

describe('a text that cannot be parsed', () => {
  const told: [text: string, parse: (text: string) => unknown, message: string][] = [
    ['{"a": 1,\n "b" 2}', JSON.parse, 'not JSON (line 2, column 6)'],
    ['{"a": ', JSON.parse, 'not JSON: it ends too early'],
    ['secret', JSON.parse, 'not JSON'],
    ['a: 1\n b: 2', load, 'bad indentation of a mapping entry (line 2, column 3)'],
    ['a: *secret', load, 'unidentified alias (line 1, column 5)'],
    ['a: !secret b', load, 'unknown scalar tag (line 1, column 4)'],
    ['', load, 'expected a document, but the input is empty'],
  ];
  for (const [text, parse, message] of told) {
    it(`the error is told as: ${message}`, () => assert.equal(textOf(parse, text), message));
  }

  it("an error that is no parser's has a message too", () => {
    assert.equal(parseErrorText(new Error('secret')), 'not valid');
    assert.equal(parseErrorText('secret'), 'not valid');
  });
});

describe('property: the message holds nothing of the text', () => {
  const CANARY = 'CanaryQz';
  /** Syntax of both languages, in any order, with the canary wherever a name or value may stand. */
  const pieces = fc.oneof(
    { weight: 3, arbitrary: fc.constant(CANARY) },
    {
      weight: 8,
      arbitrary: fc.oneof(
        fc.constantFrom(...Array.from('{}[]"\':,\n -*&!<>|%@`\\\t?#')),
        fc.constantFrom('!<', '!!', '%TAG ', '---\n', '"a":', '1', ': '),
      ),
    },
  );
  const texts = fc.array(pieces, { minLength: 1, maxLength: 24 }).map((parts) => parts.join(''));

  for (const [name, parse] of [
    ['JSON', JSON.parse],
    ['YAML', load],
  ] as const) {
    it(name, () => {
      let failures = 0;
      fc.assert(
        fc.property(texts, (text) => {
          const message = textOf(parse, text);
          if (message === null) return;
          failures++;
          // Half of it is as good as all of it.
          for (const part of [CANARY.slice(0, 4), CANARY.slice(4)]) assert.ok(!message.includes(part), message);
        }),
        propertyRuns(5000),
      );
      assert.ok(failures > 100);
    });
  }
});

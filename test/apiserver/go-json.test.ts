/** What is no JSON is told in the words of Go's decoder; what is, is read as ever. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { JsonSyntaxError, parseGoJson } from '../../src/apiserver/go-json.ts';
import { propertyRuns } from '../support/runs.ts';

const SEED = 20_261_121;

function problemOf(text: string): string {
  try {
    parseGoJson(Buffer.from(text));
    return 'none';
  } catch (error) {
    assert.ok(error instanceof JsonSyntaxError);
    return error.message;
  }
}

test('the error names the place where a text stops being JSON', () => {
  const problems: Readonly<Record<string, string>> = {
    '': 'unexpected end of JSON input',
    '{"a":[1,': 'unexpected end of JSON input',
    '"\\u00': "invalid character ' ' in \\u hexadecimal character escape",
    '-': "invalid character ' ' in numeric literal",
    '[1,]': "invalid character ']' looking for beginning of value",
    '[1 2]': "invalid character '2' after array element",
    '{"a":1 "b"}': "invalid character '\"' after object key:value pair",
    '1e+': "invalid character ' ' in exponent of numeric literal",
    falsy: "invalid character 'y' in literal false (expecting 'e')",
    '"\t"': "invalid character '\\t' in string literal",
    é: "invalid character 'Ã' looking for beginning of value",
  };
  for (const [text, problem] of Object.entries(problems)) assert.equal(problemOf(text), problem, text);
});

test('JSON may be nested 500 deep', () => {
  assert.equal(problemOf('['.repeat(500)), 'unexpected end of JSON input');
  assert.equal(problemOf('['.repeat(501)), 'exceeded max depth');
  assert.equal(problemOf(`"${'['.repeat(501)}`), 'unexpected end of JSON input');
});

test('the scanner finds a problem wherever JSON.parse finds one', () => {
  const piece = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\',
    'u00',
    'a',
    '0',
    '1',
    '-',
    '.',
    'e',
    '+',
    ' ',
    'true',
    'null',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const text = pieces.join('');
      const problem = problemOf(text);
      let valid = true;
      try {
        JSON.parse(text);
      } catch {
        valid = false;
      }
      assert.equal(problem === 'none', valid);
      if (!valid) assert.match(problem, /^invalid character '.+' |^unexpected end of JSON input$/);
    }),
    propertyRuns(5000, SEED),
  );
});

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { KINDS } from '../../src/kube/schema.ts';
import { tagOf } from '../../src/kube/tags.ts';
import { tagsByOracle } from '../support/kube-proto.ts';

const SRC = join(import.meta.dirname, '../../src');

/** Parts of objects that the schema passes over whole, in kube.proto for the sake of whole pods. */
const ONLY_IN_ORACLE: ReadonlySet<string> = new Set(
  `MicroTime FieldsV1 ObjectFieldSelector EnvVarSource HTTPGetAction ProbeHandler Probe SecurityContext
  EmptyDirVolumeSource VolumeSource Volume`.split(/\s+/),
);

test("every tag of the schema is the field's tag in the .proto file", () => {
  const fields = tagsByOracle().filter(({ message }) => !ONLY_IN_ORACLE.has(message));
  assert.ok(fields.length > 200, `${fields.length} fields`);
  for (const { message, field, tag } of fields) assert.equal(tagOf(message, field), tag, `${message}.${field}`);
});

test('a field number and its wire type make the tag', () => {
  assert.equal(tagOf('PodSpec', 'nodeName'), (10 << 3) | 2);
  assert.equal(tagOf('ServiceSpec', 'publishNotReadyAddresses'), 13 << 3);
  assert.equal(tagOf('ServiceSpec', 'selector'), (2 << 3) | 2);
  assert.equal(tagOf('MapEntry', 'value'), (2 << 3) | 2);
});

test('a name that the schema lacks is an error when the reader is loaded', () => {
  assert.throws(() => tagOf('PodSpec', 'nodename'), { message: 'schema: no field nodename in PodSpec' });
  assert.throws(() => tagOf('Podspec', 'nodeName'), { message: 'schema: no message Podspec' });
});

test('one reader is right for the conditions of pods and of nodes', () => {
  for (const field of ['type', 'status', 'lastTransitionTime']) {
    assert.equal(tagOf('NodeCondition', field), tagOf('PodCondition', field), field);
  }
});

test('every object has its metadata under one number, and every list its items', () => {
  for (const { name, fields } of KINDS.values()) {
    if (!fields.some((field) => field.name === 'metadata') || name === 'Status') continue;
    assert.equal(tagOf(name, 'metadata'), tagOf('PartialObjectMetadata', 'metadata'), name);
    if (name.endsWith('List')) assert.equal(tagOf(name, 'items'), tagOf('PodList', 'items'), name);
  }
});

test('only the schema states field numbers', () => {
  const stated = /<< 3\b|byNumber\[\d|\b(?:tag|inner) [!=]== [1-9]/;
  const files = globSync('**/*.ts', { cwd: SRC }).filter((file) => file !== 'kube/schema.ts');
  const wrong = files.flatMap((file) =>
    readFileSync(join(SRC, file), 'utf8')
      .split('\n')
      .filter((line) => stated.test(line) && !/^\s*(?:\/\*\*|\*|\/\/)/.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  assert.deepEqual(wrong, []);
});

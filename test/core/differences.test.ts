import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  ENDPOINTS_DIFFERENCES,
  KEPT_DEFECTS,
  MENDED_DEFECTS,
  MIRRORING_DIFFERENCES,
  SLICES_DIFFERENCES,
} from '../../src/core/differences.ts';
import { hasTest } from '../support/test-titles.ts';

const OF_SLICES = [...SLICES_DIFFERENCES, ...MIRRORING_DIFFERENCES];
const ALL = [...ENDPOINTS_DIFFERENCES, ...OF_SLICES];
/** Of docs/spec/endpointslice.md "Known defects". */
const DEFECTS = Array.from({ length: 41 }, (_, i) => `D${i + 1}`);

/** The file is empty when there is none. */
function shownIn(shownBy: string): { readonly source: string; readonly title: string } {
  const [file = '', ...title] = shownBy.split(': ');
  const path = new URL(`../${file}`, import.meta.url);
  return { source: existsSync(path) ? readFileSync(path, 'utf8') : '', title: title.join(': ') };
}

/** The defects that a text names. */
function defectsIn(text: string): string[] {
  return text.match(/\bD\d+\b/g) ?? [];
}

test('every difference has an id of its own, and all fields', () => {
  const ids = ALL.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
  for (const difference of ALL) {
    for (const text of Object.values(difference)) assert.notEqual(text, '', difference.id);
  }
});

test('the id shows whose difference it is', () => {
  assert.ok(ENDPOINTS_DIFFERENCES.every(({ id }) => !/^(slices|mirror)-/.test(id)));
  assert.ok(SLICES_DIFFERENCES.every(({ id }) => id.startsWith('slices-')));
  assert.ok(MIRRORING_DIFFERENCES.every(({ id }) => id.startsWith('mirror-')));
});

test('the test that shows a difference is in the named file, by that title', () => {
  const also = ALL.flatMap(({ id, alsoShownBy }) => (alsoShownBy === undefined ? [] : [{ id, shownBy: alsoShownBy }]));
  for (const { id, shownBy } of [...ALL, ...also, ...MENDED_DEFECTS]) {
    const { source, title } = shownIn(shownBy);
    assert.ok(hasTest(source, title), `${id}: ${shownBy}`);
  }
});

test('each known defect of upstream is a difference, or kept, or mended upstream', () => {
  const differ = new Set(OF_SLICES.flatMap(({ defects }) => defects));
  const kept = KEPT_DEFECTS.map(({ id }) => id);
  const mended = MENDED_DEFECTS.map(({ id }) => id);
  for (const id of DEFECTS) {
    const lists = [differ.has(id), kept.includes(id), mended.includes(id)];
    // Of one that upstream has mended in part, the rest may be a difference.
    assert.ok(lists.includes(true) && !(lists[0] && lists[1]), id);
  }
  const known = new Set(DEFECTS);
  assert.ok([...differ, ...kept, ...mended].every((id) => known.has(id)));
});

test('a defect that does not exist here is named in the test that shows it', () => {
  const shown = [
    ...OF_SLICES.flatMap(({ defects, shownBy }) => defects.map((id) => ({ id, shownBy }))),
    ...MENDED_DEFECTS,
  ];
  for (const { id, shownBy } of shown) {
    assert.ok(defectsIn(shownIn(shownBy).source).includes(id), `${id} in ${shownBy}`);
  }
});

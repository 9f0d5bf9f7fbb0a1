import { dump, load } from 'js-yaml';
import type { YamlFormat } from '../apiserver/state.ts';

/** YAML as the Kubernetes API reads and writes it: the data of JSON, with keys in order. */
export const YAML_FORMAT: YamlFormat = {
  parse: (text) => {
    const value = load(text);
    extentOf(value, 0, new Map());
    return value;
  },
  format: (value) =>
    dump(value, { sortKeys: true, seqNoIndent: true, quoteStyle: 'double', lineWidth: -1, noRefs: true }),
};

/** What a list or a map takes once each alias in it is written out. */
interface Extent {
  /** The number of its values, and the characters of its texts and keys. */
  readonly size: number;
  readonly depth: number;
}

/** No text of 3 MiB without aliases comes near. */
const SIZE_MAX = 4 * 1024 * 1024;
/** As of JSON. */
const DEPTH_MAX = 500;

/**
 * The aliases of a short text can stand for more than fits into memory, and a list can hold itself. Such a text is
 * refused, as the real server does.
 * @param known the extents of what is measured already. Without them a chain of aliases would be walked exponentially
 * @throws Error
 */
function extentOf(value: unknown, at: number, known: Map<object, Extent>): Extent {
  if (typeof value !== 'object' || value === null) {
    return { size: 1 + (typeof value === 'string' ? value.length : 0), depth: 0 };
  }
  let extent = known.get(value);
  if (extent === undefined && at <= DEPTH_MAX) {
    let [size, depth] = [1, 0];
    for (const item of Object.values(value)) {
      const inner = extentOf(item, at + 1, known);
      size += inner.size;
      depth = Math.max(depth, inner.depth);
    }
    if (!Array.isArray(value)) for (const key of Object.keys(value)) size += key.length;
    extent = { size, depth: depth + 1 };
    known.set(value, extent);
  }
  if (extent === undefined || extent.size > SIZE_MAX || at + extent.depth > DEPTH_MAX) {
    throw new Error('document contains excessive aliasing');
  }
  return extent;
}

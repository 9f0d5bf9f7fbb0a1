import { dump, load } from 'js-yaml';
import type { YamlFormat } from '../apiserver/state.ts';

/** YAML as the Kubernetes API reads and writes it: the data of JSON, with keys in order. */
export const YAML_FORMAT: YamlFormat = {
  parse: (text) => load(text),
  format: (value) =>
    dump(value, { sortKeys: true, seqNoIndent: true, quoteStyle: 'double', lineWidth: -1, noRefs: true }),
};

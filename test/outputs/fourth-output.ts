/** A fourth output as a change of the sources: the EndpointSlices once more, under another managed-by value. */

export interface Edit {
  readonly file: string;
  /** Stands there once or more; the first place is changed. */
  readonly from: string;
  readonly to: string;
}

const FACTS = `  copy: {
    toTuple: slicesFactsToTuple,
    fromTuple: (value) => ({ ...slicesFactsFromTuple(value), kind: 'copy' }),
    estimateBytes: estimateSlicesFactsBytes,
  },
  mirror: {`;

/** What changes in files that exist. */
export const EDITS: readonly Edit[] = [
  {
    file: 'src/shard/protocol.ts',
    from: '  readonly slices:',
    to: '  readonly copy: SlicesFacts;\n  readonly slices:',
  },
  { file: 'src/shard/protocol.ts', from: '{ slices: true,', to: '{ slices: true, copy: true,' },
  { file: 'src/shard/codec.ts', from: 'slices: 2,', to: 'slices: 2, copy: 8,' },
  { file: 'src/shard/facts-codec.ts', from: '  mirror: {', to: FACTS },
  { file: 'src/shard/outputs.ts', from: 'import', to: "import { copyOutput } from './copy-output.ts';\nimport" },
  { file: 'src/shard/outputs.ts', from: '  readonly slices:', to: '  readonly copy: SlicesState;\n  readonly slices:' },
  { file: 'src/shard/outputs.ts', from: '  slices: slicesOutput,', to: '  slices: slicesOutput,\n  copy: copyOutput,' },
  { file: 'src/shard/outputs.ts', from: '{ slices: null,', to: '{ slices: null, copy: null,' },
  {
    file: 'src/controller/definitions/definitions.ts',
    from: 'import',
    to: "import { copyDefinition } from './endpointslice-copy.ts';\nimport",
  },
  { file: 'src/controller/definitions/definitions.ts', from: '  slices:', to: '  copy: copyDefinition,\n  slices:' },
  { file: 'src/controller/options.ts', from: "'endpointslice' |", to: "'endpointslice' | 'endpointslice-copy' |" },
  {
    file: 'src/controller/syncs/planner-view.ts',
    from: "    slices: 'told',",
    to: "    slices: 'told',\n    copy: 'told',",
  },
  {
    file: 'src/verify/verification.ts',
    from: "  endpointslice: 'EndpointSlice',",
    to: "  endpointslice: 'EndpointSlice',\n  'endpointslice-copy': 'EndpointSlice',",
  },
  {
    file: 'src/kube/names.ts',
    from: 'export const SLICE_MANAGED_BY_VALUE',
    to: "export const COPY_MANAGED_BY_VALUE = 'copy-controller.k8s.io';\nexport const SLICE_MANAGED_BY_VALUE",
  },
];

/** The files that are new, by where they are put. */
export const NEW_FILES: Readonly<Record<string, string>> = {
  'src/shard/copy-output.ts': 'copy-output.ts.txt',
  'src/controller/definitions/endpointslice-copy.ts': 'endpointslice-copy.ts.txt',
};

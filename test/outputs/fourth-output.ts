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
  { file: 'src/controller/options.ts', from: "'slices' |", to: "'slices' | 'copies' |" },
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

const PLANNER_OUTPUT = `
import type { SlicesFacts } from '../core/slices/facts.ts';
import { decodeBare, decodeObject, encodeBare, encodeObject } from '../kube/codec.ts';
import { COPY_MANAGED_BY_VALUE, SLICE_MANAGED_BY_LABEL, SLICE_MANAGED_BY_VALUE } from '../kube/names.ts';
import type { KubeObject } from '../kube/types.ts';
import type { PlannerOutput } from './planner-output.ts';
import type { Observed, PlannedWrite } from './protocol.ts';
import { slicesOutput, type SlicesState } from './slices-output.ts';

export const copyOutput: PlannerOutput<SlicesState, SlicesFacts> = {
  ...slicesOutput,
  slices: {
    forget: (state) => slicesOutput.slices!.forget(state),
    observe: (state, key, observed, problems) => slicesOutput.slices!.observe(state, key, asSlices(observed), problems),
  },
  plan(state, input) {
    const plan = slicesOutput.plan(state, input);
    return { ...plan, writes: plan.writes.map(asCopy) };
  },
};

function asCopy(write: PlannedWrite): PlannedWrite {
  if (write.verb === 'delete') return write;
  return { ...write, body: encodeObject(mark(decodeObject(write.body), COPY_MANAGED_BY_VALUE)) };
}

function asSlices(observed: Observed): Observed {
  if (observed.content === null) return observed;
  const object = decodeBare('discovery.k8s.io/v1', 'EndpointSlice', observed.content.bytes);
  return { ...observed, content: { encoding: 'protobuf', bytes: encodeBare(mark(object, SLICE_MANAGED_BY_VALUE)) } };
}

function mark(object: KubeObject, value: string): KubeObject {
  const { labels } = object.metadata;
  return { ...object, metadata: { ...object.metadata, labels: { ...labels, [SLICE_MANAGED_BY_LABEL]: value } } };
}
`;

const DEFINITION = `
import { COPY_MANAGED_BY_VALUE } from '../../kube/names.ts';
import type { Definition } from './definition.ts';
import { endpointsliceDefinition } from './endpointslice.ts';

export const copyDefinition: Definition<'copy'> = {
  ...endpointsliceDefinition,
  kind: 'copy',
  name: 'endpointslice-copy',
  queueName: 'endpoint_slice_copy',
  tokenUse: null,
  option: 'copies',
  flagNames: ['endpointslice-copy-controller', 'endpointslicecopy'],
  managedBy: COPY_MANAGED_BY_VALUE,
  reads: ['copy'],
  createReport: () => ({
    sum: () => undefined,
    planned: () => [],
    applied: () => undefined,
    synced: () => undefined,
    fields: () => ({}),
  }),
};
`;

/** The files that are new. */
export const NEW_FILES: Readonly<Record<string, string>> = {
  'src/shard/copy-output.ts': PLANNER_OUTPUT,
  'src/controller/definitions/endpointslice-copy.ts': DEFINITION,
};

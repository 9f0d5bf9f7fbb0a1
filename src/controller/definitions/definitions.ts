import type { OutputKind } from '../../shard/protocol.ts';
import type { Definition } from './definition.ts';
import { endpointsDefinition } from './endpoints.ts';
import { mirroringDefinition } from './endpointslice-mirroring.ts';
import { endpointsliceDefinition } from './endpointslice.ts';

/** The controllers that there are: one for each output. */
export const DEFINITIONS: { readonly [K in OutputKind]: Definition<K> } = {
  endpoints: endpointsDefinition,
  slices: endpointsliceDefinition,
  mirror: mirroringDefinition,
};

/**
 * Endpoints and their hints as short text, for tests of hints:
 *
 *     a        ready, in zone a, without hints
 *     a>b      hinted for zone b; a>b+c for two zones; a> with empty hints
 *     a/n>a@n  on node n, hinted for zone a and node n
 *     !a       not ready; ?a without the condition
 *     >a       in no zone
 */
import {
  storeSlice,
  type DraftEndpoints,
  type HintSlices,
  type StoredSlice,
} from '../../../src/core/slices/slice-state.ts';
import type { Endpoint } from '../../../src/kube/types.ts';
import { deepFreeze } from '../../support/deep-freeze.ts';

export function endpointOf(text: string): Endpoint {
  const [, state, place, hints] = /^([!?]?)([^>]*)(?:>(.*))?$/.exec(text)!;
  const [zone, nodeName] = place!.split('/');
  return {
    addresses: ['10.0.0.1'],
    conditions: state === '?' ? {} : { ready: state === '' },
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(zone === '' ? {} : { zone }),
    ...(hints === undefined ? {} : { hints: hintsOf(hints) }),
  };
}

function hintsOf(text: string): Endpoint['hints'] {
  const [zones, nodes] = text.split('@');
  return {
    ...(zones === '' ? {} : { forZones: zones!.split('+').map((name) => ({ name })) }),
    ...(nodes === undefined ? {} : { forNodes: [{ name: nodes }] }),
  };
}

function textOfEndpoint({ conditions, zone, nodeName, hints }: Endpoint): string {
  const state = conditions?.ready === undefined ? '?' : conditions.ready ? '' : '!';
  const node = nodeName === undefined ? '' : `/${nodeName}`;
  if (hints === undefined) return `${state}${zone ?? ''}${node}`;
  const zones = (hints.forZones ?? []).map(({ name }) => name).join('+');
  const nodes = (hints.forNodes ?? []).map(({ name }) => `@${name}`).join('');
  return `${state}${zone ?? ''}${node}>${zones}${nodes}`;
}

/** As text: the endpoints of one slice, separated by blanks. */
export function endpointsOf(text: string): Endpoint[] {
  return text === '' ? [] : text.split(' ').map(endpointOf);
}

export function textOfEndpoints(endpoints: readonly Endpoint[]): string {
  return endpoints.map(textOfEndpoint).join(' ');
}

export interface HintTexts {
  readonly created?: readonly string[];
  readonly updated?: readonly string[];
  readonly unchanged?: readonly string[];
}

/** What must not be changed is frozen. */
export function hintSlices({ created = [], updated = [], unchanged = [] }: HintTexts): HintSlices {
  return { created: created.map(draftOf), updated: updated.map(draftOf), unchanged: unchanged.map(storedOf) };
}

function draftOf(text: string): DraftEndpoints {
  return { endpoints: endpointsOf(text).map(deepFreeze) };
}

function storedOf(text: string, number: number): StoredSlice {
  return deepFreeze(
    storeSlice({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: `web-${number}` },
      addressType: 'IPv4',
      endpoints: endpointsOf(text),
    }),
  );
}

/** What is to be written, as text: created and updated slices, then those that were unchanged. */
export function writtenTexts(
  slices: HintSlices,
  { touched }: { readonly touched: readonly { readonly endpoints: readonly Endpoint[] }[] },
): string[] {
  return [...slices.created, ...slices.updated, ...touched].map(({ endpoints }) => textOfEndpoints(endpoints));
}

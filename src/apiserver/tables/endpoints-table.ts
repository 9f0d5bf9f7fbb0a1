import { items, text, type ApiObject } from '../object.ts';
import { age } from './age.ts';
import { column, firstThree, NAME, type TableRules } from './table-rules.ts';

interface Subset {
  readonly addresses?: readonly { readonly ip: string }[];
  readonly ports?: readonly { readonly port: number }[];
}

/** core/v1 Endpoints. */
export const ENDPOINTS_TABLE: TableRules = {
  columns: [NAME, column('Endpoints'), column('Age')],
  cells: (object, nowMs) => [
    object.metadata.name ?? '',
    items(object, 'subsets').length === 0 ? '<none>' : firstThree(readyAddresses(object), ''),
    age(object.metadata.creationTimestamp, nowMs),
  ],
};

/** Every ready address with every port of its subset. Without ports it is the address alone. */
function readyAddresses(object: ApiObject): readonly string[] {
  return items<Subset>(object, 'subsets').flatMap(({ addresses = [], ports = [] }) =>
    ports.length === 0
      ? addresses.map(({ ip }) => ip)
      : ports.flatMap(({ port }) => addresses.map(({ ip }) => `${ip.includes(':') ? `[${ip}]` : ip}:${port}`)),
  );
}

interface SlicePort {
  readonly name?: string;
  readonly port?: number;
}

/** discovery.k8s.io/v1 EndpointSlice. */
export const ENDPOINTSLICE_TABLE: TableRules = {
  columns: [NAME, column('AddressType'), column('Ports'), column('Endpoints'), column('Age')],
  cells: (object, nowMs) => [
    object.metadata.name ?? '',
    text(object, 'addressType'),
    firstThree(items<SlicePort>(object, 'ports').map(portText), '<unset>'),
    firstThree(
      items<{ addresses?: readonly string[] }>(object, 'endpoints').flatMap(({ addresses = [] }) => addresses),
      '<unset>',
    ),
    age(object.metadata.creationTimestamp, nowMs),
  ],
};

function portText({ port, name }: SlicePort): string {
  return port === undefined ? (name ?? '*') : String(port);
}

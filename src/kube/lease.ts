/**
 * coordination.k8s.io/v1 Lease as JSON: what a leader election reads of it and writes into it (docs/spec/wire.md
 * "Leases"). Everything else of the object stays as it was read.
 */
import { parseJsonObject } from './codec.ts';
import { DecodeError } from './protobuf.ts';
import { formatMicroTime } from './time.ts';

/** Who holds a Lease, as client-go's LeaderElectionRecord. */
export interface LeaseRecord {
  /** '' = nobody. */
  readonly holder: string;
  readonly durationSeconds: number;
  /** Times as text, by the holder's clock: shown, never compared with another clock. '' = none. */
  readonly acquireTime: string;
  readonly renewTime: string;
  /** How often the holder has changed. */
  readonly transitions: number;
}

export interface Lease {
  readonly resourceVersion: string;
  readonly record: LeaseRecord;
  /** The whole object, as the server sent it. */
  readonly object: Readonly<Record<string, unknown>>;
}

export interface LeaseKey {
  readonly namespace: string;
  readonly name: string;
}

/** @throws DecodeError if `body` is not the JSON of the Lease with that key. */
export function readLease(body: Uint8Array, key: LeaseKey): Lease {
  return leaseOf(parseJsonObject(body), key);
}

/** @throws DecodeError if `object` is not the Lease with that key. */
export function leaseOf(object: Record<string, unknown>, { namespace, name }: LeaseKey): Lease {
  const metadata = asFields(object['metadata']);
  const spec = asFields(object['spec']);
  const resourceVersion = textOf(metadata['resourceVersion']);
  if (object['kind'] !== 'Lease' || metadata['namespace'] !== namespace || metadata['name'] !== name) {
    throw new DecodeError(`not the Lease ${namespace}/${name}`);
  }
  if (resourceVersion === '') throw new DecodeError(`the Lease ${namespace}/${name} has no resourceVersion`);
  const record = {
    holder: textOf(spec['holderIdentity']),
    durationSeconds: countOf(spec['leaseDurationSeconds']),
    acquireTime: textOf(spec['acquireTime']),
    renewTime: textOf(spec['renewTime']),
    transitions: countOf(spec['leaseTransitions']),
  };
  return { resourceVersion, record, object };
}

/**
 * The JSON of a new Lease, or of `previous` with another record, and with these annotations. Everything else in
 * `previous` stays.
 */
export function leaseBody(
  previous: Lease | null,
  { namespace, name }: LeaseKey,
  record: LeaseRecord,
  annotations: Readonly<Record<string, string>>,
): Uint8Array {
  const before = previous?.object ?? {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { namespace, name },
  };
  const spec = {
    ...asFields(before['spec']),
    holderIdentity: record.holder,
    leaseDurationSeconds: record.durationSeconds,
    acquireTime: record.acquireTime,
    renewTime: record.renewTime,
    leaseTransitions: record.transitions,
  };
  const metadata = asFields(before['metadata']);
  const said = { ...asFields(metadata['annotations']), ...annotations };
  const told = Object.keys(said).length === 0 ? metadata : { ...metadata, annotations: said };
  return Buffer.from(JSON.stringify({ ...before, metadata: told, spec }), 'utf8');
}

/** '' = the Lease has no such annotation. */
export function leaseAnnotation({ object }: Lease, name: string): string {
  return textOf(asFields(asFields(object['metadata'])['annotations'])[name]);
}

/** A wall-clock time as a Lease holds it: six digits of fraction, as the server demands. */
export function leaseTime(wallMs: number): string {
  const seconds = Math.floor(wallMs / 1000);
  return formatMicroTime(seconds, Math.floor((wallMs - seconds * 1000) * 1000) * 1000);
}

export function isSameRecord(a: LeaseRecord, b: LeaseRecord): boolean {
  return (
    a.holder === b.holder &&
    a.durationSeconds === b.durationSeconds &&
    a.acquireTime === b.acquireTime &&
    a.renewTime === b.renewTime &&
    a.transitions === b.transitions
  );
}

function asFields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

/**
 * Encodes EndpointAddress by hand. A large Endpoints object is mostly a thousand addresses, and the table-driven
 * encoder of `codec.ts` takes more than twice as long. Both encoders give the same bytes. An unusual address is left to
 * the table-driven one.
 */
import { reserve, type ProtoWriter } from './protobuf.ts';
import { tagOf } from './tags.ts';
import type { EndpointAddress, ObjectReference } from './types.ts';

const ADDRESS_IP = tagOf('EndpointAddress', 'ip');
const ADDRESS_TARGET_REF = tagOf('EndpointAddress', 'targetRef');
const ADDRESS_HOSTNAME = tagOf('EndpointAddress', 'hostname');
const ADDRESS_NODE_NAME = tagOf('EndpointAddress', 'nodeName');
const REFERENCE_KIND = tagOf('ObjectReference', 'kind');
const REFERENCE_NAMESPACE = tagOf('ObjectReference', 'namespace');
const REFERENCE_NAME = tagOf('ObjectReference', 'name');
const REFERENCE_UID = tagOf('ObjectReference', 'uid');
const REFERENCE_API_VERSION = tagOf('ObjectReference', 'apiVersion');
const REFERENCE_RESOURCE_VERSION = tagOf('ObjectReference', 'resourceVersion');
const REFERENCE_FIELD_PATH = tagOf('ObjectReference', 'fieldPath');

/** The greatest length that fits in a varint of two bytes. */
const BYTES_MAX = 0x3fff;
/** The greatest length of a text that fits in a varint of one byte. */
const TEXT_MAX = 0x7f;

const NO_REFERENCE: ObjectReference = {};

/**
 * Prepends the item of a repeated field, with `tag` and length.
 * @returns false, and nothing is written, if the address has a value that is no short ASCII string
 */
export function prependPlainAddress(writer: ProtoWriter, tag: number, value: object): boolean {
  const address = value as EndpointAddress;
  const { ip, hostname, nodeName } = address;
  const { kind, namespace, name, uid, apiVersion, resourceVersion, fieldPath } = address.targetRef ?? NO_REFERENCE;
  const hasRef = address.targetRef !== undefined && address.targetRef !== null;
  if (hasRef && typeof address.targetRef !== 'object') return false;
  // NaN if a value is no string or too long. Such an address is refused below.
  const refLength =
    lengthOf(kind) +
    lengthOf(namespace) +
    lengthOf(name) +
    lengthOf(uid) +
    lengthOf(apiVersion) +
    lengthOf(resourceVersion) +
    lengthOf(fieldPath);
  const length =
    lengthOf(ip) +
    (hasRef ? refLength + (refLength > 0x7f ? 3 : 2) : 0) +
    lengthOf(hostname) +
    (nodeName === undefined ? 0 : lengthOf(nodeName));
  if (!(length <= BYTES_MAX)) return false;
  const before = writer.bytes.length - writer.position;
  let at = reserve(writer, length + (length > 0x7f ? 3 : 2));
  const bytes = writer.bytes;
  bytes[at++] = tag;
  at = putLength(bytes, at, length);
  at = put(bytes, at, ADDRESS_IP, ip);
  if (hasRef && at >= 0) {
    bytes[at++] = ADDRESS_TARGET_REF;
    at = putLength(bytes, at, refLength);
    at = put(bytes, at, REFERENCE_KIND, kind);
    at = put(bytes, at, REFERENCE_NAMESPACE, namespace);
    at = put(bytes, at, REFERENCE_NAME, name);
    at = put(bytes, at, REFERENCE_UID, uid);
    at = put(bytes, at, REFERENCE_API_VERSION, apiVersion);
    at = put(bytes, at, REFERENCE_RESOURCE_VERSION, resourceVersion);
    at = put(bytes, at, REFERENCE_FIELD_PATH, fieldPath);
  }
  at = put(bytes, at, ADDRESS_HOSTNAME, hostname);
  if (nodeName !== undefined) at = put(bytes, at, ADDRESS_NODE_NAME, nodeName);
  if (at >= 0) return true;
  writer.position = bytes.length - before;
  return false;
}

/** The length of an ASCII string field in bytes. The field is written even when it is empty. */
function lengthOf(text: string | undefined): number {
  if (text === undefined) return 2;
  if (typeof text !== 'string' || text.length > TEXT_MAX) return Number.NaN;
  return text.length + 2;
}

function putLength(bytes: Uint8Array, at: number, length: number): number {
  if (length > 0x7f) {
    bytes[at++] = (length & 0x7f) | 0x80;
    bytes[at++] = length >>> 7;
  } else bytes[at++] = length;
  return at;
}

/** Returns the next position; negative = this text, or one before it, is not ASCII. */
function put(bytes: Uint8Array, at: number, tag: number, text = ''): number {
  if (at < 0) return at;
  const length = text.length;
  bytes[at++] = tag;
  bytes[at++] = length;
  let seen = 0;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    seen |= code;
    bytes[at++] = code;
  }
  return seen > 0x7f ? -1 : at;
}

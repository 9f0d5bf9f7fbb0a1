import { DecodeError } from './protobuf.ts';

/**
 * Orders versions of one resource, oldest first. They are decimal without leading zeros and have up to 128 bits, so
 * they are compared by length, then by text (KEP-5504). The empty string (no version) is older than all.
 */
export function compareResourceVersions(a: string, b: string): -1 | 0 | 1 {
  if (a.length !== b.length) return a.length < b.length ? -1 : 1;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** The later of two versions of one resource. */
export function laterVersion(a: string, b: string): string {
  return compareResourceVersions(a, b) < 0 ? b : a;
}

/** Whether the text is a version that a server can have given: decimal, above zero, without leading zeros (KEP-5504). */
export function isResourceVersion(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - ZERO;
    if (digit < 0 || digit > 9) return false;
  }
  return text !== '' && text.charCodeAt(0) !== ZERO;
}

const ZERO = 0x30;

/**
 * Versions are compared, so one that is no version could be newer than all others for ever.
 * @param version of an object; '' = it has none
 * @throws DecodeError
 */
export function checkedVersion(version: string): string {
  if (version === '' || isResourceVersion(version)) return version;
  throw new DecodeError('metadata.resourceVersion: not decimal');
}

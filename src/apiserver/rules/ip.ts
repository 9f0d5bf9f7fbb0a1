import type { IpFamily } from '../../kube/types.ts';

/** An address as the server reads it: 4 or 16 bytes. Two spellings are noted that new objects may no longer use. */
export interface Ip {
  readonly family: IpFamily;
  readonly bytes: readonly number[];
  readonly leadingZeros: boolean;
  /** Whether it is IPv4 written as `::ffff:a.b.c.d`. It counts as IPv4. */
  readonly mapped: boolean;
}

/** null = the text is no address. Numbers with leading zeros are read as decimal. */
export function parseIp(text: string): Ip | null {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text);
}

function parseIpv4(text: string): Ip | null {
  const bytes: number[] = [];
  let leadingZeros = false;
  let value = 0;
  let digits = 0;
  for (let at = 0; at <= text.length; at++) {
    const code = at < text.length ? text.charCodeAt(at) : DOT;
    if (code !== DOT) {
      if (code < ZERO || code > ZERO + 9 || ++digits > DIGITS_MAX) return null;
      leadingZeros ||= digits === 2 && value === 0;
      value = value * 10 + code - ZERO;
      continue;
    }
    if (digits === 0 || value > 255) return null;
    bytes.push(value);
    value = 0;
    digits = 0;
  }
  return bytes.length === 4 ? { family: 'IPv4', bytes, leadingZeros, mapped: false } : null;
}

const DOT = 0x2e;
const ZERO = 0x30;
const DIGITS_MAX = 9;

function parseIpv6(text: string): Ip | null {
  let head = text;
  let leadingZeros = false;
  const tail4: number[] = [];
  const lastColon = text.lastIndexOf(':');
  if (text.includes('.')) {
    const embedded = parseIpv4(text.slice(lastColon + 1));
    if (embedded === null) return null;
    leadingZeros = embedded.leadingZeros;
    tail4.push((embedded.bytes[0]! << 8) | embedded.bytes[1]!, (embedded.bytes[2]! << 8) | embedded.bytes[3]!);
    head = text.slice(0, lastColon);
    if (head.endsWith(':')) head += ':';
    if (head === '') return null;
  }
  const halves = head.split('::');
  if (halves.length > 2) return null;
  const left = groups(halves[0]!);
  const right = halves.length === 2 ? groups(halves[1]!) : [];
  if (left === null || right === null) return null;
  const known = left.length + right.length + tail4.length;
  if (halves.length === 2 ? known > 7 : known !== 8) return null;
  const words = [...left, ...Array.from({ length: 8 - known }, () => 0), ...right, ...tail4];
  const mapped = words.slice(0, 5).every((word) => word === 0) && words[5] === 0xffff;
  const bytes = words.flatMap((word) => [word >> 8, word & 255]);
  if (mapped) return { family: 'IPv4', bytes: bytes.slice(12), leadingZeros, mapped };
  return { family: 'IPv6', bytes, leadingZeros, mapped };
}

function groups(text: string): number[] | null {
  if (text === '') return [];
  const words: number[] = [];
  for (const group of text.split(':')) {
    if (!/^[0-9a-fA-F]{1,4}$/.test(group)) return null;
    words.push(Number.parseInt(group, 16));
  }
  return words;
}

/** Canonical text: dotted decimal, or RFC 5952. */
export function formatIp(bytes: readonly number[]): string {
  if (bytes.length === 4) return bytes.join('.');
  const words = Array.from({ length: 8 }, (_, at) => (bytes[at * 2]! << 8) | bytes[at * 2 + 1]!);
  let bestStart = -1;
  let bestLength = 1;
  for (let start = 0; start < 8; start++) {
    let end = start;
    while (end < 8 && words[end] === 0) end++;
    if (end - start > bestLength) [bestStart, bestLength] = [start, end - start];
    start = Math.max(start, end);
  }
  const hex = (part: readonly number[]): string => part.map((word) => word.toString(16)).join(':');
  if (bestStart < 0) return hex(words);
  return `${hex(words.slice(0, bestStart))}::${hex(words.slice(bestStart + bestLength))}`;
}

const NOT_AN_IP = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';

/** The problems that the server's strict check finds (gate StrictIPCIDRValidation, on since 1.36). */
export function ipProblems(text: string): readonly string[] {
  const ip = parseIp(text);
  if (ip === null) return [NOT_AN_IP];
  const problems: string[] = [];
  if (ip.leadingZeros) problems.push('must not have leading 0s');
  if (ip.mapped) problems.push('must not be an IPv4-mapped IPv6 address');
  return problems;
}

/** The problems of an address in newer fields, which allow only the canonical spelling. */
export function canonicalIpProblems(text: string): readonly string[] {
  const problems = ipProblems(text);
  if (problems.length > 0) return problems;
  const canonical = formatIp(parseIp(text)!.bytes);
  return canonical === text ? [] : [`must be in canonical form (${JSON.stringify(canonical)})`];
}

/** The problems of an address that no endpoint may have. */
export function specialIpProblems(text: string): readonly string[] {
  const ip = parseIp(text);
  if (ip === null) return ['must be a valid IP address'];
  const [a, b, c] = ip.bytes as [number, number, number];
  const v4 = ip.family === 'IPv4';
  const problems: string[] = [];
  if (ip.bytes.every((byte) => byte === 0)) problems.push(`may not be unspecified (${text})`);
  const loopback = v4 ? a === 127 : ip.bytes.every((byte, at) => byte === (at === 15 ? 1 : 0));
  if (loopback) problems.push('may not be in the loopback range (127.0.0.0/8, ::1/128)');
  const linkLocal = v4 ? a === 169 && b === 254 : a === 0xfe && (b & 0xc0) === 0x80;
  if (linkLocal) problems.push('may not be in the link-local range (169.254.0.0/16, fe80::/10)');
  const multicast = v4 ? a === 224 && b === 0 && c === 0 : a === 0xff && (b & 0x0f) === 2;
  if (multicast) problems.push('may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)');
  return problems;
}

/** The problems of a text that should be `address/bits`. */
export function cidrProblems(text: string): readonly string[] {
  const [address = '', bits = '', ...rest] = text.split('/');
  const ip = parseIp(address);
  const known = ip !== null && rest.length === 0 && /^(0|[1-9][0-9]{0,2})$/.test(bits);
  if (!known || Number(bits) > ip.bytes.length * 8) {
    return ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'];
  }
  const problems = ipProblems(address);
  if (problems.length > 0) return problems;
  return ip.bytes.some((byte, at) => (byte & (0xff >> Math.min(8, Math.max(0, Number(bits) - at * 8)))) !== 0)
    ? ['must not have bits set beyond the prefix length']
    : [];
}

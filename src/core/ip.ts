import type { IpFamily } from '../kube/types.ts';

export interface Ip {
  readonly family: IpFamily;
  /** Dotted decimal, or RFC 5952. */
  readonly canonical: string;
}

/**
 * Why the API server rejects an address in an Endpoints object (docs/spec/endpoints.md "What the API server
 * validates").
 */
export type ForbiddenAddress = 'unspecified' | 'loopback' | 'link-local' | 'link-local multicast';

const DOT = 0x2e;
const COLON = 0x3a;
const ZERO = 0x30;
const NINE = 0x39;

/**
 * Reads an IP address; null = `text` is none. As lenient as Kubernetes (docs/spec/endpoints.md "Address and family"):
 * leading zeros mean nothing, and IPv4 inside IPv6 (`::ffff:1.2.3.4`) is IPv4. IPv6 zones are not accepted.
 */
export function parseIp(text: string): Ip | null {
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === DOT) {
      const bits = parseIpv4(text, 0);
      return bits < 0 ? null : { family: 'IPv4', canonical: canonicalIpv4(bits, text) };
    }
    if (char === COLON) return parseIpv6(text);
  }
  return null;
}

/**
 * A text without leading zeros is returned as it is. It is kept anyway, and new ones for 100,000 pods would take 6 MB.
 * Leading zeros show by the length.
 */
function canonicalIpv4(bits: number, text: string): string {
  let length = 3;
  for (let shift = 0; shift < 32; shift += 8) {
    const octet = (bits >>> shift) & 255;
    length += octet < 10 ? 1 : octet < 100 ? 2 : 3;
  }
  return text.length === length ? text : formatIpv4(bits);
}

/** null = the API server accepts the address. */
export function forbiddenAddress(ip: Ip): ForbiddenAddress | null {
  const text = ip.canonical;
  if (ip.family === 'IPv4') {
    if (text === '0.0.0.0') return 'unspecified';
    if (text.startsWith('127.')) return 'loopback';
    if (text.startsWith('169.254.')) return 'link-local';
    return text.startsWith('224.0.0.') ? 'link-local multicast' : null;
  }
  if (text === '::') return 'unspecified';
  if (text === '::1') return 'loopback';
  if (/^fe[89ab][0-9a-f]:/.test(text)) return 'link-local';
  return /^ff[0-9a-f]2:/.test(text) ? 'link-local multicast' : null;
}

/** The 32 bits of the dotted address that `text` holds from `start` to its end; -1 = it holds none. */
function parseIpv4(text: string, start: number): number {
  let bits = 0;
  let octets = 0;
  let octet = -1;
  for (let i = start; i <= text.length; i++) {
    const char = i < text.length ? text.charCodeAt(i) : DOT;
    if (char === DOT) {
      if (octet < 0 || octets === 4) return -1;
      bits = bits * 256 + octet;
      octets++;
      octet = -1;
    } else {
      if (char < ZERO || char > NINE) return -1;
      octet = (octet < 0 ? 0 : octet * 10) + char - ZERO;
      if (octet > 255) return -1;
    }
  }
  return octets === 4 ? bits : -1;
}

function formatIpv4(bits: number): string {
  return `${bits >>> 24}.${(bits >>> 16) & 255}.${(bits >>> 8) & 255}.${bits & 255}`;
}

function parseIpv6(text: string): Ip | null {
  const groups: number[] = [];
  /** How many groups stand before `::`; -1 = there is none. */
  let ellipsis = -1;
  let at = 0;
  if (text.startsWith('::')) {
    ellipsis = 0;
    at = 2;
  }
  while (at < text.length) {
    if (groups.length === 8) return null;
    const start = at;
    let group = 0;
    for (; at < text.length; at++) {
      const digit = hexDigit(text.charCodeAt(at));
      if (digit < 0) break;
      group = group * 16 + digit;
      if (group > 0xffff) return null;
    }
    if (at === start) return null;
    if (at < text.length && text.charCodeAt(at) === DOT) {
      const bits = parseIpv4(text, start);
      if (bits < 0 || groups.length > 6) return null;
      groups.push(bits >>> 16, bits & 0xffff);
      at = text.length;
      break;
    }
    groups.push(group);
    if (at === text.length) break;
    if (text.charCodeAt(at) !== COLON) return null;
    at++;
    if (at === text.length) return null;
    if (text.charCodeAt(at) === COLON) {
      if (ellipsis >= 0) return null;
      ellipsis = groups.length;
      at++;
    }
  }
  if (ellipsis < 0 ? groups.length !== 8 : groups.length === 8) return null;
  if (ellipsis >= 0) groups.splice(ellipsis, 0, ...new Array<number>(8 - groups.length).fill(0));
  if (groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0)) {
    return { family: 'IPv4', canonical: formatIpv4(groups[6]! * 0x10000 + groups[7]!) };
  }
  return { family: 'IPv6', canonical: formatIpv6(groups) };
}

/** Negative = no hexadecimal digit. */
function hexDigit(char: number): number {
  if (char <= NINE) return char - ZERO;
  const letter = (char | 0x20) - 0x61;
  return letter >= 0 && letter < 6 ? letter + 10 : -1;
}

/** RFC 5952: `::` stands for the longest run of at least two zero groups, the first of equally long ones. */
function formatIpv6(groups: readonly number[]): string {
  let runStart = -1;
  let runLength = 1;
  for (let i = 0; i < 8; i++) {
    let end = i;
    while (end < 8 && groups[end] === 0) end++;
    if (end - i > runLength) {
      runStart = i;
      runLength = end - i;
    }
    if (end > i) i = end;
  }
  const texts = groups.map((group) => group.toString(16));
  if (runStart < 0) return texts.join(':');
  return `${texts.slice(0, runStart).join(':')}::${texts.slice(runStart + runLength).join(':')}`;
}

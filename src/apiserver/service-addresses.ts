import type { IpFamily } from '../kube/types.ts';
import { formatIp, parseIp } from './rules/ip.ts';

const NODE_PORT_MIN = 30_000;
const NODE_PORT_MAX = 32_767;

/**
 * The cluster IPs and node ports that are taken. Each family has one range; the family of the first range is the
 * default.
 */
export interface ServiceAddresses {
  readonly ranges: readonly Range[];
  readonly ips: Set<string>;
  readonly nodePorts: Set<number>;
  readonly random: () => number;
}

interface Range {
  readonly family: IpFamily;
  readonly base: readonly number[];
  /** How many addresses the range has, at most 2^24. */
  readonly size: number;
}

const SIZE_MAX = 2 ** 24;

/** @throws Error if a range is no `address/bits` */
export function createServiceAddresses(ranges: readonly string[], random: () => number): ServiceAddresses {
  return { ranges: ranges.map(parseRange), ips: new Set(), nodePorts: new Set(), random };
}

function parseRange(text: string): Range {
  const [address = '', bits = ''] = text.split('/');
  const ip = parseIp(address);
  if (ip === null || !/^[0-9]{1,3}$/.test(bits) || Number(bits) > ip.bytes.length * 8) {
    throw new Error(`service IP range ${JSON.stringify(text)}: expected address/bits`);
  }
  const size = Math.min(SIZE_MAX, 2 ** (ip.bytes.length * 8 - Number(bits)));
  return { family: ip.family, base: ip.bytes, size };
}

/** A free address of the family; null = there is none, or the family has no range. */
export function freeIp(addresses: ServiceAddresses, family: string): string | null {
  const range = addresses.ranges.find((range) => range.family === family);
  if (range === undefined) return null;
  const start = Math.floor(addresses.random() * range.size);
  for (let step = 0; step < range.size; step++) {
    const offset = (start + step) % range.size;
    // The network's own address and the broadcast address are never given.
    if (offset === 0 || isBroadcast(range, offset)) continue;
    const ip = formatIp(plus(range.base, offset));
    if (!addresses.ips.has(ip)) return ip;
  }
  return null;
}

const OUT_OF_RANGE = 'the provided network does not match the current range';

/** The problem with the address that a client wants; '' = none. */
export function ipProblem(addresses: ServiceAddresses, text: string): string {
  const ip = parseIp(text);
  const range = addresses.ranges.find((range) => range.family === ip?.family);
  if (ip === null || range === undefined) return OUT_OF_RANGE;
  const offset = minus(ip.bytes, range.base);
  if (offset <= 0 || offset >= range.size || isBroadcast(range, offset)) return OUT_OF_RANGE;
  return addresses.ips.has(formatIp(ip.bytes)) ? 'provided IP is already allocated' : '';
}

function isBroadcast({ family, size }: Range, offset: number): boolean {
  return family === 'IPv4' && offset === size - 1;
}

/** The lowest ports are kept for clients that ask for a port, as long as others are free. */
const ASKED_FOR = 86;

export function freeNodePort(addresses: ServiceAddresses, taken: ReadonlySet<number>): number | null {
  const size = NODE_PORT_MAX - NODE_PORT_MIN + 1;
  const upper = size - ASKED_FOR;
  const start = Math.floor(addresses.random() * upper);
  for (let step = 0; step < size; step++) {
    const port = NODE_PORT_MIN + (step < upper ? ASKED_FOR + ((start + step) % upper) : step - upper);
    if (!addresses.nodePorts.has(port) && !taken.has(port)) return port;
  }
  return null;
}

export function nodePortProblem(addresses: ServiceAddresses, port: number): string {
  if (port < NODE_PORT_MIN || port > NODE_PORT_MAX) {
    return `provided port is not in the valid range. The range of valid ports is ${NODE_PORT_MIN}-${NODE_PORT_MAX}`;
  }
  return addresses.nodePorts.has(port) ? 'provided port is already allocated' : '';
}

function plus(base: readonly number[], offset: number): number[] {
  const bytes = [...base];
  let carry = offset;
  for (let at = bytes.length - 1; at >= 0 && carry > 0; at--) {
    carry += bytes[at]!;
    bytes[at] = carry % 256;
    carry = Math.floor(carry / 256);
  }
  return bytes;
}

/** The offset of `bytes` from `base`. It is negative or huge if they differ before their last four bytes. */
function minus(bytes: readonly number[], base: readonly number[]): number {
  let offset = 0;
  for (let at = 0; at < bytes.length; at++) offset = offset * 256 + (bytes[at]! - base[at]!);
  return offset;
}

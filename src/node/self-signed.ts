/**
 * Makes self-signed certificates, because node:crypto reads certificates but makes none. It takes a little of DER
 * (X.690) and of X.509 (RFC 5280).
 */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';

/** PEM. */
export interface TlsIdentity {
  readonly cert: string;
  readonly key: string;
}

export interface SelfSignedOptions {
  /** Common name of the certificate; default `endpointd`. */
  readonly name?: string;
  /** DNS names and addresses that the certificate is good for. */
  readonly hosts: readonly string[];
  readonly nowMs: number;
  readonly days: number;
}

const DAY_MS = 86_400_000;
/** Clocks of clients may be behind. */
const BACKDATED_MS = 3_600_000;

/**
 * A P-256 key, and a certificate for it that is its own authority.
 * @throws Error when a host is neither an address nor ASCII
 */
export function selfSigned({ name: commonName = 'endpointd', hosts, nowMs, days }: SelfSignedOptions): TlsIdentity {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(set(sequence(oid('2.5.4.3'), der(0x0c, Buffer.from(commonName)))));
  const certificate = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    // The serial number: positive, and never the same twice.
    der(0x02, Buffer.concat([Buffer.from([0x01]), randomBytes(15)])),
    ECDSA_WITH_SHA256,
    name,
    sequence(time(nowMs - BACKDATED_MS), time(nowMs + days * DAY_MS)),
    name,
    publicKey.export({ format: 'der', type: 'spki' }),
    der(0xa3, sequence(...extensions(hosts))),
  );
  const signature = sign('sha256', certificate, privateKey);
  const whole = sequence(certificate, ECDSA_WITH_SHA256, bitString(signature));
  return { cert: pem(whole), key: privateKey.export({ format: 'pem', type: 'pkcs8' }) };
}

const ECDSA_WITH_SHA256 = sequence(oid('1.2.840.10045.4.3.2'));

function extensions(hosts: readonly string[]): Buffer[] {
  return [
    // basicConstraints: an authority; keyUsage: digitalSignature, keyCertSign; extKeyUsage: serverAuth; subjectAltName.
    extension('2.5.29.19', true, sequence(TRUE)),
    extension('2.5.29.15', true, der(0x03, Buffer.from([2, 0b1000_0100]))),
    extension('2.5.29.37', false, sequence(oid('1.3.6.1.5.5.7.3.1'))),
    extension('2.5.29.17', false, sequence(...hosts.map(generalName))),
  ];
}

const TRUE = der(0x01, Buffer.from([0xff]));

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  return sequence(oid(id), ...(critical ? [TRUE] : []), der(0x04, value));
}

function generalName(host: string): Buffer {
  if (isAddress(host)) return der(0x87, addressBytes(host));
  if (!isCertificateName(host)) throw new Error(`certificate: ${JSON.stringify(host)} is no host name`);
  return der(0x82, Buffer.from(host));
}

/** By the URL parser, because Node's own test for IPv6 is a regular expression that takes 7 ms of a start to compile. */
function isAddress(host: string): boolean {
  return isIPv4(host) || URL.canParse(inUrl(host));
}

function inUrl(address: string): string {
  return `http://[${address.replace(/%.*$/, '')}]`;
}

/** Whether a certificate can name this host: ASCII without spaces. */
export function isCertificateName(host: string): boolean {
  return /^[\x21-\x7e]+$/.test(host);
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  // The URL parser writes an address in one way: hexadecimal groups, at most one gap.
  const [left = '', right = ''] = new URL(inUrl(address)).hostname.slice(1, -1).split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const gap = Array<string>(8 - groups(left).length - groups(right).length).fill('0');
  return Buffer.from(
    [...groups(left), ...gap, ...groups(right)].map((group) => group.padStart(4, '0')).join(''),
    'hex',
  );
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  const size = Buffer.from(length < 0x100 ? [0x81, length] : [0x82, length >>> 8, length & 0xff]);
  return Buffer.concat([Buffer.from([tag]), size, content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function set(...parts: readonly Buffer[]): Buffer {
  return der(0x31, Buffer.concat(parts));
}

function bitString(content: Buffer): Buffer {
  return der(0x03, Buffer.concat([Buffer.from([0]), content]));
}

function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const digits = [arc & 0x7f];
    for (let left = arc >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80);
    bytes.push(...digits);
  }
  return der(0x06, Buffer.from(bytes));
}

/** UTCTime until 2049, as RFC 5280 wants it, GeneralizedTime after. */
function time(milliseconds: number): Buffer {
  const text = `${new Date(milliseconds).toISOString().slice(0, 19).replaceAll(/[-:T]/g, '')}Z`;
  return Number(text.slice(0, 4)) < 2050 ? der(0x17, Buffer.from(text.slice(2))) : der(0x18, Buffer.from(text));
}

function pem(content: Buffer): string {
  const lines = content.toString('base64').match(/.{1,64}/g)!;
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

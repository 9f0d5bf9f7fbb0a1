import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isLifeEnding } from '../certificate-life.ts';
import { isCertificateName, selfSigned, type TlsIdentity } from '../self-signed.ts';

export interface CertificateSource {
  /** `--tls-cert-file`; '' = none. */
  readonly certFile: string;
  /** `--tls-private-key-file`; '' = none. */
  readonly keyFile: string;
  /** `--cert-dir`: where a certificate that is made here is kept; '' = only in memory. */
  readonly directory: string;
  /** Address that is listened on; '' = all. */
  readonly host: string;
}

export interface CertificateReader {
  /** @throws Error that names the file */
  readonly read: () => Promise<TlsIdentity>;
  /** How often it should be read again. */
  readonly everyMs: number;
}

const FILES_EVERY_MS = 10_000;
const DAY_MS = 86_400_000;
const SELF_SIGNED_DAYS = 365;
const SELF_SIGNED_NAME = 'endpointd';
/** A certificate that is kept only in memory is made anew long before it ends. */
const SELF_SIGNED_RENEWED_AFTER_MS = 180 * DAY_MS;

/** Reads the serving certificate. If it is to be kept in a directory and is not there, or ends soon, a read makes it. */
export function certificateReader({ certFile, keyFile, directory, host }: CertificateSource): CertificateReader {
  if (certFile !== '') return fileReader(certFile, keyFile);
  const make = (): TlsIdentity =>
    selfSigned({ name: SELF_SIGNED_NAME, hosts: hostsOf(host), nowMs: Date.now(), days: SELF_SIGNED_DAYS });
  if (directory === '') return memoryReader(make);
  const files = fileReader(join(directory, 'endpointd.crt'), join(directory, 'endpointd.key'));
  return {
    ...files,
    async read() {
      await keepOne(directory, make);
      return await files.read();
    },
  };
}

function fileReader(certFile: string, keyFile: string): CertificateReader {
  return { read: () => readPair(certFile, keyFile), everyMs: FILES_EVERY_MS };
}

/**
 * Files that cannot be used are read once more, at once. The volume of a Secret replaces both by one link, and may do so
 * between the two reads.
 * @throws Error that names the file
 */
export function readPair(certFile: string, keyFile: string): Promise<TlsIdentity> {
  return readOnce(certFile, keyFile).catch(() => readOnce(certFile, keyFile));
}

async function readOnce(certFile: string, keyFile: string): Promise<TlsIdentity> {
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  checkPair(cert, key, certFile, keyFile);
  return { cert, key };
}

function memoryReader(make: () => TlsIdentity): CertificateReader {
  let madeMs = Date.now();
  let made = make();
  return {
    read() {
      if (Date.now() - madeMs > SELF_SIGNED_RENEWED_AFTER_MS) [madeMs, made] = [Date.now(), make()];
      return Promise.resolve(made);
    },
    everyMs: DAY_MS,
  };
}

/** Makes both files if one is missing, or the certificate was made here and ends soon. */
async function keepOne(directory: string, make: () => TlsIdentity): Promise<void> {
  const certFile = join(directory, 'endpointd.crt');
  const keyFile = join(directory, 'endpointd.key');
  const exist = await Promise.all([certFile, keyFile].map((path) => readFile(path).then(() => true, isOther)));
  if (exist.every(Boolean) && !(await isMadeAndEnding(certFile))) return;
  const { cert, key } = make();
  await mkdir(directory, { recursive: true });
  // Without a certificate, a process that ends between the two files leaves no pair that cannot be used.
  await rm(certFile, { force: true });
  await writeFile(keyFile, key, { mode: 0o600 });
  await writeFile(certFile, cert);
}

/** False, too, if the file is no certificate: that shows when it is read. */
async function isMadeAndEnding(certFile: string): Promise<boolean> {
  try {
    const cert = await readFile(certFile, 'utf8');
    const { subject, issuer } = new X509Certificate(cert);
    return subject === `CN=${SELF_SIGNED_NAME}` && issuer === subject && isLifeEnding(cert, Date.now());
  } catch {
    return false;
  }
}

/** False = there is no such file. Any other error shows when the file is read. */
function isOther(error: NodeJS.ErrnoException): boolean {
  return error.code !== 'ENOENT';
}

/** Two files are replaced one after the other, so one of them may still be the old one. */
function checkPair(cert: string, key: string, certFile: string, keyFile: string): void {
  const certificate = parsed(certFile, 'a certificate', () => new X509Certificate(cert));
  const privateKey = parsed(keyFile, 'a private key', () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey)) throw new Error(`${keyFile} is not the key of ${certFile}`);
}

/** The content of the file never gets into the message. */
function parsed<T>(path: string, what: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new Error(`${path} does not hold ${what} in PEM`, { cause: error });
  }
}

/** A certificate cannot name a machine whose name is not ASCII. It is good for the rest. */
function hostsOf(host: string): string[] {
  const machine = [hostname()].filter(isCertificateName);
  return [...new Set(['localhost', '127.0.0.1', '::1', ...machine, ...(host === '' ? [] : [host])])];
}

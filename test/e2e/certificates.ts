/** Certificates with groups and with an end in seconds, which node:crypto cannot make. Needs openssl. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { promisify } from 'node:util';

const run = promisify(execFile);
const EC_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

export interface Authority {
  /** PEM. */
  readonly cert: string;
  /** PEM file of `cert`. */
  readonly certFile: string;
  readonly issue: (subject: Subject) => Promise<Issued>;
}

/** PEM. */
export interface Issued {
  readonly cert: string;
  readonly key: string;
}

export interface Subject {
  /** CN: a user, for the API server. */
  readonly name: string;
  /** O: groups, for the API server. */
  readonly groups?: readonly string[];
  /** Addresses of a server; none = a client. */
  readonly addresses?: readonly string[];
  /** Default an hour. */
  readonly seconds?: number;
}

/** @param directory a new one */
export async function createAuthority(directory: string, name: string): Promise<Authority> {
  await mkdir(directory);
  const path = (file: string): string => join(directory, file);
  const ca = ['-x509', ...EC_KEY, '-days', '1', '-subj', `/CN=${name}`];
  await run('openssl', ['req', ...ca, '-keyout', path('ca.key'), '-out', path('ca.crt')]);
  await writeFile(path('index'), '');

  async function issue({ name: user, groups = [], addresses = [], seconds = 3600 }: Subject): Promise<Issued> {
    const file = path(randomBytes(6).toString('hex'));
    const subject = [...groups.map((group) => `/O=${group}`), `/CN=${user}`].join('');
    await run('openssl', ['req', ...EC_KEY, '-subj', subject, '-keyout', `${file}.key`, '-out', `${file}.csr`]);
    await writeFile(`${file}.cnf`, configuration(path, addresses));
    const dates = ['-startdate', dateText(-60), '-enddate', dateText(seconds)];
    const files = ['-config', `${file}.cnf`, '-in', `${file}.csr`, '-out', `${file}.crt`];
    await run('openssl', ['ca', '-batch', '-notext', ...dates, ...files]);
    return { cert: await readFile(`${file}.crt`, 'utf8'), key: await readFile(`${file}.key`, 'utf8') };
  }

  return { cert: await readFile(path('ca.crt'), 'utf8'), certFile: path('ca.crt'), issue };
}

/** CN of who has signed what the server at that URL shows. */
export function issuerOf(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().issuer.CN));
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

function configuration(path: (file: string) => string, addresses: readonly string[]): string {
  const isServer = addresses.length > 0;
  return [
    '[ca]',
    'default_ca = own',
    '[own]',
    `database = ${path('index')}`,
    `new_certs_dir = ${path('.')}`,
    `certificate = ${path('ca.crt')}`,
    `private_key = ${path('ca.key')}`,
    'rand_serial = yes',
    'unique_subject = no',
    'default_md = sha256',
    'policy = any',
    'x509_extensions = extensions',
    '[any]',
    'organizationName = optional',
    'commonName = supplied',
    '[extensions]',
    `extendedKeyUsage = ${isServer ? 'serverAuth' : 'clientAuth'}`,
    ...(isServer ? [`subjectAltName = ${addresses.map((address) => `IP:${address}`).join(',')}`] : []),
    '',
  ].join('\n');
}

/** So many seconds from now. */
function dateText(seconds: number): string {
  const text = new Date(Date.now() + seconds * 1000).toISOString().slice(0, 19);
  return `${text.replaceAll(/[-:T]/g, '')}Z`;
}

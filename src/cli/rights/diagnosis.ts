/** What is wrong between this process and the API server, and how to mend it, in the words of kubeconfig and flags. */
import { X509Certificate } from 'node:crypto';
import { utf8 } from '../../lib/bytes-text.ts';
import { isApiAnswer, readStatus } from '../../kube/status.ts';
import type { Access } from '../../node/access.ts';
import { isAboutCertificates } from '../../node/failure.ts';
import type { Probe, ProbeAnswer, ProbeFailure } from '../../node/server-probe.ts';

export interface Finding {
  /** One line for the log: what is wrong, and how to mend it. */
  readonly text: string;
  /** What kind of thing is wrong, for everybody: without addresses, files, names and what a server or a command has said. */
  readonly kind: string;
  /** Whether nothing works until this is mended. */
  readonly isFatal: boolean;
}

export interface Look {
  readonly access: Access;
  readonly words: Words;
  readonly nowMs: number;
  readonly version: Probe;
  /** The answer for discovery.k8s.io/v1; null = it is not needed, or was not asked for. */
  readonly discovery: Probe | null;
  /** What the look before has found. */
  readonly before: Finding | null;
}

/** The names of the places that tell how to reach the server. */
export interface Words {
  readonly server: string;
  readonly authority: string;
  readonly user: string;
  readonly proxy: string;
  /** What to do where a place lacks the part. */
  readonly giveName: string;
  readonly giveAuthority: string;
  readonly giveUser: string;
}

export function wordsOf({ kubeconfig, master }: { readonly kubeconfig: string; readonly master: string }): Words {
  const file = `kubeconfig ${kubeconfig}`;
  const server = master !== '' ? '--master' : kubeconfig !== '' ? `"server" in ${file}` : 'KUBERNETES_SERVICE_HOST';
  if (kubeconfig === '' && master !== '') return { server, ...MASTER_ALONE };
  if (kubeconfig === '') {
    const account = 'the service account of this pod';
    return { server, authority: `ca.crt of ${account}`, user: account, proxy: 'HTTPS_PROXY', ...GIVE };
  }
  return {
    ...GIVE,
    server,
    authority: `"certificate-authority" in ${file}`,
    user: `the user in ${file}`,
    proxy: `"proxy-url" in ${file}, or HTTPS_PROXY`,
  };
}

const GIVE = {
  giveName: 'set "tls-server-name" beside it',
  giveAuthority: 'put the authority of this API server there',
  giveUser: 'give it a token, a client-certificate or an exec command',
};

/** --master names the server. It gives no user and no authority. */
const MASTER_ALONE = {
  authority: 'the list of authorities of Node',
  user: '--master without --kubeconfig',
  proxy: 'HTTPS_PROXY',
  giveName: 'give --kubeconfig with a "tls-server-name"',
  giveAuthority: 'give --kubeconfig with a "certificate-authority"',
  giveUser: 'give --kubeconfig with a user',
};

/** null = nothing is wrong. */
export function diagnose(look: Look): Finding | null {
  const { version, discovery } = look;
  const fatal = (kind: string, text: string): Finding => ({ text, kind, isFatal: true });
  const certificate = ownCertificate(look);
  if (certificate !== null) return fatal('the client certificate is not valid today', certificate);
  if (version.kind === 'failure') return fatal(kindOfFailure(version), connection(look, version));
  const refusal = refused(look, version);
  if (refusal !== null) return fatal('the API server refuses the credentials', refusal);
  const busy = notReady(look, version);
  if (busy !== null) return fatal('the API server is not ready', busy);
  if (!isOfApiServer(version)) return fatal('what answers is no kube-apiserver', foreign(look, version));
  const missing = discovery === null ? null : noSlices(look, discovery);
  if (missing !== null) return fatal('the API server has no discovery.k8s.io/v1', missing);
  const text = clockSkew(look, version);
  return text === null ? null : { text, kind: SKEWED, isFatal: false };
}

/** What is wrong with the client certificate. A server that refuses one does not say why. */
function ownCertificate({ access, words, nowMs }: Look): string | null {
  if (access.tls.cert === null) return null;
  const { validFromDate, validToDate } = new X509Certificate(access.tls.cert);
  const now = `it is ${timeText(nowMs)} here`;
  if (nowMs > validToDate.getTime()) {
    return `The client certificate of ${words.user} has expired at ${timeText(validToDate.getTime())} (${now}): renew it (kubeadm certs renew; one that was made by kubeadm kubeconfig user is made anew), or set the clock of this machine.`;
  }
  if (nowMs < validFromDate.getTime()) {
    return `The client certificate of ${words.user} is not valid before ${timeText(validFromDate.getTime())} (${now}): set the clock of this machine.`;
  }
  return null;
}

function kindOfFailure({ code }: ProbeFailure): string {
  if (isAboutCertificates(code)) return 'a certificate is refused, of the API server or of this process';
  return 'there is no connection to the API server';
}

function connection(look: Look, failure: ProbeFailure): string {
  const { access, words } = look;
  const { origin } = access;
  const reason = failure.code === '' ? failure.message : `${failure.message} (${failure.code})`;
  if (access.proxyUrl !== null && !isAboutCertificates(failure.code)) {
    return `No way to ${origin} through the proxy ${new URL(access.proxyUrl).host}: ${reason}. Mend ${words.proxy}, the proxy's rules, or NO_PROXY.`;
  }
  switch (failure.code) {
    case 'ECONNREFUSED':
      return `Nothing listens at ${origin}: start the API server, or mend ${words.server}.`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The name ${new URL(origin).hostname} has no address (${failure.code}): mend ${words.server}, or the DNS of this machine.`;
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'ERR_SSL_PACKET_LENGTH_TOO_LONG':
      return `${origin} does not speak TLS: mend ${words.server}.`;
  }
  if (isAboutCertificates(failure.code)) return ofCertificates(look, failure);
  return `${origin} does not answer: ${reason}. Mend ${words.server}, or the network between them (firewall, NetworkPolicy, load balancer).`;
}

function ofCertificates({ access, words, nowMs }: Look, { code, message, certificate }: ProbeFailure): string {
  const now = `it is ${timeText(nowMs)} here`;
  const { origin } = access;
  switch (code) {
    case 'CERT_HAS_EXPIRED': {
      const when = certificate === null ? '' : ` at ${timeText(certificate.validToMs)}`;
      return `The certificate of ${origin} has expired${when} (${now}): renew it on the server, or set the clock of this machine.`;
    }
    case 'CERT_NOT_YET_VALID': {
      const when = certificate === null ? 'yet' : `before ${timeText(certificate.validFromMs)}`;
      return `The certificate of ${origin} is not valid ${when} (${now}): set the clocks of this machine and of the server.`;
    }
    case 'ERR_TLS_CERT_ALTNAME_INVALID': {
      const name = access.tls.serverName ?? new URL(origin).hostname;
      const names = certificate === null ? '' : `, but for ${certificate.names || 'no name'}`;
      return `The certificate of ${origin} is not for ${name}${names}: mend ${words.server}, or ${words.giveName}.`;
    }
  }
  if (code.includes('_ALERT_')) return handshakeEnded({ access, words }, code, message);
  const signer = certificate === null || certificate.issuer === '' ? 'an authority' : `"${certificate.issuer}"`;
  return `The certificate of ${origin} is signed by ${signer}, which ${words.authority} does not hold (${code}): ${words.giveAuthority}.`;
}

/** The server has ended the handshake. Its reason is at most the name of a TLS alert. */
function handshakeEnded({ access, words }: Pick<Look, 'access' | 'words'>, code: string, message: string): string {
  const { origin, tls } = access;
  const isOfClient = /CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED/.test(code);
  if (isOfClient && tls.cert !== null) {
    return `${origin} refuses the client certificate: ${message} (${code}). Mend ${words.user}.`;
  }
  if (code.includes('CERTIFICATE_REQUIRED')) {
    return `${origin} wants a client certificate, and ${words.user} has none (${code}): ${words.giveUser}.`;
  }
  return `${origin} ends the TLS handshake: ${message} (${code}). Mend ${words.server}, or the TLS versions and ciphers of the server.`;
}

function refused({ access, words }: Look, { status }: ProbeAnswer): string | null {
  if (status !== 401) return null;
  const nobody = access.tls.cert === null && !('Authorization' in access.headers);
  const why = nobody
    ? `${words.user} has no credentials: ${words.giveUser}.`
    : `it does not know, or no longer knows, the token or certificate of ${words.user}: renew them.`;
  return `${access.origin} refuses the credentials (401): ${why}`;
}

function notReady({ access: { origin } }: Look, answer: ProbeAnswer): string | null {
  const { status, contentType, body } = answer;
  if (status < 500 || !isOfApiServer(answer)) return null;
  return `${origin} is not ready: ${status} ${readStatus(contentType, status, body).message ?? ''}`.trim();
}

function isOfApiServer({ contentType, body }: ProbeAnswer): boolean {
  return isVersion(body) || isApiAnswer(contentType, body);
}

function foreign({ access, words }: Look, { status, body }: ProbeAnswer): string {
  const { origin } = access;
  const text = utf8(body, 0, Math.min(body.length, 80)).replaceAll(/\s+/g, ' ').trim();
  const plain = text.includes('HTTP request to an HTTPS server') ? ' It speaks TLS: write https.' : '';
  const said = `${status} ${JSON.stringify(text)}`;
  return `${origin} is no kube-apiserver: it answers ${said} to ${access.basePath}/version.${plain} Mend ${words.server}.`;
}

function isVersion(body: Uint8Array): boolean {
  try {
    return typeof (JSON.parse(utf8(body, 0, body.length)) as { gitVersion?: unknown } | null)?.gitVersion === 'string';
  } catch {
    return false;
  }
}

function noSlices({ access: { origin } }: Look, discovery: Probe): string | null {
  if (discovery.kind === 'failure' || discovery.status !== 404) return null;
  return `${origin} has no discovery.k8s.io/v1, which exists from Kubernetes 1.21 on: run --controllers=endpoints-controller, or another cluster's "server".`;
}

const SKEWED = 'this clock is not that of the API server';
const SKEW_MS_MAX = 60_000;
/** The finding ends so far below the most: the server's date has whole seconds, and an answer takes a while. */
const SKEW_MS_BACK = 10_000;

/** Clocks are compared only here, because the validity of tokens and certificates is checked by both clocks. */
function clockSkew({ nowMs, before }: Look, { dateMs }: ProbeAnswer): string | null {
  const msMax = before?.kind === SKEWED ? SKEW_MS_MAX - SKEW_MS_BACK : SKEW_MS_MAX;
  if (dateMs === null || Math.abs(nowMs - dateMs) <= msMax) return null;
  const seconds = Math.round(Math.abs(nowMs - dateMs) / 1000);
  const side = nowMs < dateMs ? 'behind' : 'ahead of';
  return `The clock of this machine is ${seconds} s ${side} that of the API server: set the clocks (chrony, ntpd), because the validity of certificates and tokens depends on them.`;
}

function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+/, '');
}

import { getCACertificates, setDefaultCACertificates } from 'node:tls';

let areTrusted = false;

/**
 * Servers are trusted from now on that an authority of this machine has signed (those of `SSL_CERT_FILE` and
 * `SSL_CERT_DIR`, else the system's, and those of `NODE_EXTRA_CA_CERTS`), as client-go does where no authority is named.
 * Node by itself takes a list of its own, which an authority of a company is not in. That list stays where the machine has
 * none. Only for whom it concerns: it takes some 130 ms of CPU.
 */
export function trustMachineAuthorities(): void {
  if (areTrusted) return;
  areTrusted = true;
  const own = getCACertificates('system');
  if (own.length > 0) setDefaultCACertificates([...own, ...getCACertificates('extra')]);
}

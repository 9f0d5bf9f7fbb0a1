/** How long the client certificate is valid with which the API server is asked. */
import type { Access } from './access.ts';
import { watchLife, type LifeNames, type LifeWatchConfig } from './certificate-life.ts';

const NAMES: LifeNames = {
  expiration: 'endpointd_client_certificate_expiration_timestamp_seconds',
  lifetime: 'endpointd_client_certificate_lifetime_seconds',
  warningOf({ name, isLong }) {
    if (!isLong) return null;
    if (name === 'soon') return 'The client certificate for the API server ends soon: renew it in the kubeconfig';
    return name === 'over' ? 'The client certificate for the API server has ended: renew it in the kubeconfig' : null;
  },
};

/** Returns what is to be called with the access in effect, again and again. */
export function watchCertificate(config: LifeWatchConfig): (access: Access) => void {
  const look = watchLife(config, NAMES);
  return ({ tls: { cert } }) => look(cert);
}

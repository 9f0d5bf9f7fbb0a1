/** A kubeconfig, a file it names or an environment that cannot be used; the message names file and field. */
export class CredentialsError extends Error {
  override readonly name = 'CredentialsError';
}

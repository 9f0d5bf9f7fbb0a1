/** The credentials that an exec command or an auth-provider gave. */
export interface PluginCredentials {
  /** Value of the Authorization header; null = none. */
  readonly authorization: string | null;
  /** PEM. */
  readonly cert: string | null;
  readonly key: string | null;
}

/**
 * Gives the credentials. Asks once while they are valid, and again with `fresh`.
 * @throws CredentialsError
 */
export type AuthPlugin = (fresh: boolean) => Promise<PluginCredentials>;

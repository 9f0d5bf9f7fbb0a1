/** What an exec command or an auth-provider gave. */
export interface PluginCredentials {
  /** Value of the Authorization header; null = none. */
  readonly authorization: string | null;
  /** PEM. */
  readonly cert: string | null;
  readonly key: string | null;
}

/**
 * Asks for them: once while they are valid, again with `fresh`.
 * @throws CredentialsError
 */
export type AuthPlugin = (fresh: boolean) => Promise<PluginCredentials>;

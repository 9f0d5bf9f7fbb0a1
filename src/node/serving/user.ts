/** Who asks, as the API server knows users. */
export interface User {
  readonly username: string;
  /** '' = none. */
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export const ANONYMOUS: User = {
  username: 'system:anonymous',
  uid: '',
  groups: ['system:unauthenticated'],
  extra: {},
};

const AUTHENTICATED = 'system:authenticated';
const UNAUTHENTICATED = 'system:unauthenticated';

/** Adds the group of all users who have shown who they are. */
export function authenticated(user: User): User {
  const { username, groups } = user;
  if (username === ANONYMOUS.username || groups.includes(AUTHENTICATED) || groups.includes(UNAUTHENTICATED))
    return user;
  return { ...user, groups: [...groups, AUTHENTICATED] };
}

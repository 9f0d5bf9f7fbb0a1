/** Something that an operator should know; the service is planned without the offending part. */
export interface Problem {
  readonly kind:
    | 'bad-address'
    | 'no-address-of-family'
    | 'truncated'
    | 'bad-annotation'
    | 'undecodable-object'
    | 'unknown-field'
    | 'unknown-node'
    | 'mirror-bad-address'
    | 'mirror-truncated';
  /** The object at fault, such as `pod ns/name`. */
  readonly object: string;
  /** The field at fault, such as `status.podIPs[0].ip`. */
  readonly field: string;
  readonly message: string;
}

export function problemsEqual(a: Problem, b: Problem): boolean {
  return a.kind === b.kind && a.object === b.object && a.field === b.field && a.message === b.message;
}

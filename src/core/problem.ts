/** Something that an operator should know; the service is planned without the offending part. */
export interface Problem {
  readonly kind:
    | 'bad-address'
    | 'no-address-of-family'
    | 'truncated'
    | 'bad-annotation'
    | 'reserved-label'
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

/** The most problems of a kind that wait to be taken. Further ones are dropped. */
const PROBLEMS_OF_KIND_MAX = 100;

/** Adds the problem that something has after a change, unless it had the same problem before. */
export function noteProblem(problems: Problem[], before: Problem | null, after: Problem | null): void {
  if (after === null || (before !== null && problemsEqual(before, after))) return;
  const alike = problems.filter(({ kind }) => kind === after.kind);
  if (alike.length < PROBLEMS_OF_KIND_MAX) problems.push(after);
}

/** The text in quotes, for a message. It is cut after 64 characters. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}...` : text);
}

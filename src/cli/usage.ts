/** A flag, an argument or a command that cannot be taken; `message` is one line that says what is allowed. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** `--help` was asked for and printed. */
export class HelpShown extends Error {
  override readonly name = 'HelpShown';
}

/** Files of this machine change nothing of what is measured. */
const FILES = /^--(?:json|page|data)=/;

/** The command that a report names, such as `npm run bench -- growth pods`. */
export function commandText(bench: string, args: readonly string[]): string {
  return `npm run bench -- ${bench} ${args.filter((arg) => !FILES.test(arg)).join(' ')}`.trim();
}

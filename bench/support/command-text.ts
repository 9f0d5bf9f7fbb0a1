/** Files of this machine change nothing of what is measured. */
const FILE = /^--(?:json|page|data)(?:=|$)/;
const NAMED_NEXT = /^--(?:json|page|data)$/;

/** The command that a report names, such as `npm run bench -- growth pods`. */
export function commandText(bench: string, args: readonly string[]): string {
  const said = args.filter((arg, i) => !FILE.test(arg) && !NAMED_NEXT.test(args[i - 1] ?? ''));
  return `npm run bench -- ${bench} ${said.join(' ')}`.trim();
}

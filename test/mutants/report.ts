/** Results as text and as data. */
import { isSurvivor, percentKilled, type Result } from './test-mutants.ts';

export function progressLine(result: Result, index: number, count: number): string {
  const { mutant, status, seconds } = result;
  const place = `${String(index + 1).padStart(String(count).length)}/${count}`;
  return `${place} ${status} ${seconds.toFixed(1)} s  ${mutant.id} ${mutant.file}:${mutant.line} ${mutant.operator}`;
}

/** The mutant's place, what it is, and the lines that it changes. */
export function survivorText({ mutant, status }: Result, original: string): string {
  const firstLine = original.lastIndexOf('\n', mutant.start - 1) + 1;
  const after = (offset: number): number => original.length - offset;
  const lastLine = original.indexOf('\n', mutant.end) === -1 ? original.length : original.indexOf('\n', mutant.end);
  const before = original.slice(firstLine, lastLine);
  const now = mutant.source.slice(firstLine, mutant.source.length - after(lastLine));
  return [
    `${mutant.id} ${mutant.file}:${mutant.line} in ${mutant.within || 'the module'}: ${mutant.operator}, ${status}`,
    ...before.split('\n').map((line) => `- ${line}`),
    ...now.split('\n').map((line) => `+ ${line}`),
  ].join('\n');
}

export function summary(results: readonly Result[]): string {
  const count = (status: Result['status']): number => results.filter((result) => result.status === status).length;
  const survivors = results.filter(isSurvivor).length;
  return (
    `${results.length} mutants: ${count('killed')} killed by a test, ${count('endless')} without an end, ` +
    `${survivors} survived (${count('not run by any test')} of them run by no test), ` +
    `${count('equivalent')} equivalent: ${percentKilled(results).toFixed(1)} % killed`
  );
}

/** What is kept of a run: everything but the sources. */
export function asData(
  results: readonly Result[],
  facts: { readonly commit: string; readonly date: string; readonly seed: number },
): object {
  return {
    ...facts,
    percentKilled: percentKilled(results),
    results: results.map(({ mutant, ...verdict }) => ({
      id: mutant.id,
      file: mutant.file,
      line: mutant.line,
      within: mutant.within,
      operator: mutant.operator,
      original: mutant.original,
      replacement: mutant.replacement,
      ...verdict,
    })),
  };
}

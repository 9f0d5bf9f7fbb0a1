import { withoutComments } from './sources.ts';

/** The source of a test file without what runs no test: comments, and tests that are skipped or still to be written. */
export function runningTests(source: string): string {
  return withoutComments(source).replaceAll(/\b(?:it|test|describe)\.(?:skip|todo)\(\s*(['"`]).*?\1/g, '');
}

/** Whether a test, a call that makes one (`checkUpdate(`), or a row in a table of tests begins with exactly this title. */
export function hasTest(source: string, title: string): boolean {
  const text = title.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(String.raw`^\s*(?:(?:it|test|check[A-Z]\w*)\(|\[)\s*(['"])${text}\1`, 'm').test(
    runningTests(source),
  );
}

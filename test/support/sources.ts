/** The repository's own files as text, for the tests that hold them to the rules of ARCHITECTURE.md and CONTRIBUTING.md. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

export interface Source {
  /** From the root, with slashes. */
  readonly path: string;
  readonly text: string;
}

/** The files that fit one of the patterns, by path. */
export function readSources(...patterns: readonly string[]): Source[] {
  const paths = globSync(patterns, { cwd: ROOT, exclude: ['node_modules', 'dist'] }).sort();
  return paths.map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
}

/** What a file imports, or exports of another, as it is written there. */
export function importsOf(text: string): string[] {
  const found = [...text.matchAll(/^(?:import|export)\b[^;]*?from '([^']+)';/gms)].map((match) => match[1]!);
  const dynamic = [...text.matchAll(/\bimport\('([^']+)'\)/g)].map((match) => match[1]!);
  const bare = [...text.matchAll(/^import '([^']+)';/gm)].map((match) => match[1]!);
  return [...found, ...dynamic, ...bare];
}

/** The files of this repository among them, from the root. */
export function importedFiles({ path, text }: Source): string[] {
  const relative = importsOf(text).filter((target) => target.startsWith('.'));
  return relative.map((target) => normalize(join(dirname(path), target)));
}

/** Strings, templates and regular expressions stand here so that what looks like a comment in them is none. */
const COMMENT_OR_LITERAL =
  /(\/\*[\s\S]*?\*\/|\/\/.*)|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|(?<=[=(,:!&|?;[]\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\//g;

/** Its comments, one after the other; a line's start is a blank. */
export function commentsOf(text: string): string {
  const comments = [...text.matchAll(COMMENT_OR_LITERAL)].map((match) => match[1]).filter(Boolean);
  return comments.join('\n').replaceAll(/\n\s*(?:\*(?!\/)|\/\/) ?/g, ' ');
}

/** All but its comments; `''` for each string in single quotes, for a comment or a string may name anything. */
export function codeOf(text: string): string {
  return text.replaceAll(COMMENT_OR_LITERAL, (literal, comment) => {
    if (comment !== undefined) return '';
    return literal.startsWith("'") ? "''" : literal;
  });
}

/** All but its comments. */
export function withoutComments(text: string): string {
  return text.replaceAll(COMMENT_OR_LITERAL, (literal, comment) => (comment === undefined ? literal : ''));
}

/** @param advice what is wrong with each that is found, and what to do about it: a sentence */
export function assertNone(found: readonly string[], advice: string): void {
  if (found.length > 0) assert.fail(`${advice}\n  ${found.join('\n  ')}`);
}

/** Lists what the operators make of one source file. */
import {
  isClassDeclaration,
  isFunctionDeclaration,
  isImportDeclaration,
  isMethodDeclaration,
  isPropertyAssignment,
  isTypeNode,
  isVariableDeclaration,
  type Node,
  type SourceFile,
} from 'typescript/unstable/ast';

import { fnv1a32 } from '../../src/lib/hash.ts';
import { isExempt, OPERATORS } from './operators.ts';

export interface Mutant {
  /** Eight hex digits: the same as long as its function and its text stay as they are, wherever they move. */
  readonly id: string;
  /** Path from the root, with slashes. */
  readonly file: string;
  /** The function, or the constant of the top level, in which it is; outer names first, with dots; '' for none. */
  readonly within: string;
  readonly operator: string;
  /** The text that goes and the text that comes, with each run of white space as one blank. */
  readonly original: string;
  readonly replacement: string;
  /** The line of the change, from 1. */
  readonly line: number;
  /** The whole file, changed; offsets in UTF-16 units of what goes. */
  readonly source: string;
  readonly start: number;
  readonly end: number;
}

export function findMutants(file: string, tree: SourceFile): Mutant[] {
  const source = tree.text;
  const text = (node: Node): string => source.slice(node.getStart(tree), node.end);
  const found = new Map<string, Mutant>();
  const seen = new Map<string, number>();

  const add = (operator: string, within: string, node: Node, replacement: string): void => {
    const start = node.getStart(tree);
    const key = `${start} ${node.end} ${replacement}`;
    if (found.has(key)) return;
    const original = oneLine(text(node));
    const name = [file, within, original, oneLine(replacement)].join('\n');
    const nth = seen.get(name) ?? 0;
    seen.set(name, nth + 1);
    found.set(key, {
      id: fnv1a32(nth === 0 ? name : `${name}\n${nth}`)
        .toString(16)
        .padStart(8, '0'),
      file,
      within,
      operator,
      original,
      replacement: oneLine(replacement),
      line: source.slice(0, start).split('\n').length,
      source: source.slice(0, start) + replacement + source.slice(node.end),
      start,
      end: node.end,
    });
  };

  const visit = (node: Node, within: string): void => {
    if (isTypeNode(node) || isImportDeclaration(node) || isExempt(node, text)) return;
    const name = nameOf(node, text);
    const inside = name === undefined ? within : within === '' ? name : `${within}.${name}`;
    for (const operator of OPERATORS) {
      for (const edit of operator.mutate(node, text)) add(operator.name, inside, edit.node, edit.replacement);
    }
    node.forEachChild((child) => {
      // The key of a property is a name, whether or not it is quoted.
      if (!isPropertyAssignment(node) || child !== node.name) visit(child, inside);
    });
  };
  visit(tree, '');
  return [...found.values()].sort((a, b) => a.start - b.start || a.end - b.end);
}

function nameOf(node: Node, text: (node: Node) => string): string | undefined {
  if (isFunctionDeclaration(node) || isMethodDeclaration(node) || isClassDeclaration(node)) {
    return node.name === undefined ? undefined : text(node.name);
  }
  // Of variables only those of the top level: a function stays the same whatever its locals are called.
  if (isVariableDeclaration(node) && node.parent.parent.parent.parent === undefined) return text(node.name);
  return undefined;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

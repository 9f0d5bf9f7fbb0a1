/**
 * The mutation operators, as data: what each makes of a node of the syntax tree. A replacement that does not type-check is
 * dropped later (`compiler.ts`), so an operator may offer what only sometimes fits.
 */
import {
  isArrayLiteralExpression,
  isArrowFunction,
  isBinaryExpression,
  isBlock,
  isBreakOrContinueStatement,
  isCallExpression,
  isConditionalExpression,
  isExpressionStatement,
  isForStatement,
  isIfStatement,
  isNoSubstitutionTemplateLiteral,
  isNumericLiteral,
  isObjectLiteralExpression,
  isPostfixUnaryExpression,
  isPrefixUnaryExpression,
  isPropertyAccessExpression,
  isReturnStatement,
  isStringLiteral,
  isTemplateExpression,
  isThrowStatement,
  isWhileStatement,
  type Node,
  SyntaxKind,
} from 'typescript/unstable/ast';

/** `replacement` takes the place of `node`. */
export interface Edit {
  readonly node: Node;
  readonly replacement: string;
}

export interface Operator {
  readonly name: string;
  /** `text` gives the source text of a node. */
  readonly mutate: (node: Node, text: (node: Node) => string) => readonly Edit[];
}

/** What stands in the place of a binary operator. */
const BINARY: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    '===': ['!=='],
    '!==': ['==='],
    '<': ['<=', '>='],
    '<=': ['<', '>'],
    '>': ['>=', '<='],
    '>=': ['>', '<'],
    '+': ['-'],
    '-': ['+'],
    '*': ['/'],
    '/': ['*'],
    '%': ['*'],
    '&': ['|'],
    '|': ['&'],
    '^': ['&'],
    '<<': ['>>'],
    '>>': ['<<'],
    '>>>': ['<<'],
    '&&': ['||'],
    '||': ['&&'],
    '??': ['&&'],
    '+=': ['-='],
    '-=': ['+='],
    '*=': ['/='],
    '|=': ['&='],
    '&=': ['|='],
    '^=': ['|='],
  }),
);

/** Operators of which one side alone is a mutant. */
const EITHER_SIDE: readonly string[] = ['&&', '||', '??'];

/** What stands in the place of a method's name. */
const METHODS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    every: ['some'],
    some: ['every'],
    find: ['findLast'],
    findLast: ['find'],
    indexOf: ['lastIndexOf'],
    lastIndexOf: ['indexOf'],
    push: ['unshift'],
    unshift: ['push'],
    shift: ['pop'],
    pop: ['shift'],
    startsWith: ['endsWith'],
    endsWith: ['startsWith'],
    min: ['max'],
    max: ['min'],
    floor: ['ceil'],
    ceil: ['floor'],
    keys: ['values'],
    values: ['keys'],
  }),
);

/** Methods whose call may be left out: what they are called on stands there alone. */
const LEFT_OUT: readonly string[] = [
  'filter',
  'slice',
  'subarray',
  'sort',
  'toSorted',
  'reverse',
  'toReversed',
  'concat',
  'trim',
  'toLowerCase',
  'toUpperCase',
];

function replaced(node: Node, part: Node, by: string, text: (node: Node) => string): Edit {
  const whole = text(node);
  const offset = part.getStart() - node.getStart();
  return { node, replacement: whole.slice(0, offset) + by + whole.slice(offset + text(part).length) };
}

function conditionOf(node: Node): Node | undefined {
  if (isIfStatement(node) || isWhileStatement(node)) return node.expression;
  if (isConditionalExpression(node) || isForStatement(node)) return node.condition;
  return undefined;
}

/** An item of a list between brackets goes with its comma. */
function without(list: Node, item: Node, items: readonly Node[], text: (node: Node) => string): Edit {
  const rest = items.filter((other) => other !== item).map(text);
  const whole = text(list);
  return { node: list, replacement: `${whole[0]}${rest.join(', ')}${whole.at(-1)}` };
}

export const OPERATORS: readonly Operator[] = [
  {
    name: 'condition',
    mutate: (node) => {
      const condition = conditionOf(node);
      if (condition === undefined) return [];
      // A loop without an end says nothing: it is always killed.
      const values = isIfStatement(node) || isConditionalExpression(node) ? ['true', 'false'] : ['false'];
      return values.map((replacement) => ({ node: condition, replacement }));
    },
  },
  {
    name: 'binary operator',
    mutate: (node, text) => {
      if (!isBinaryExpression(node)) return [];
      const others = BINARY.get(text(node.operatorToken)) ?? [];
      return others.map((other) => replaced(node, node.operatorToken, other, text));
    },
  },
  {
    name: 'one side alone',
    mutate: (node, text) =>
      isBinaryExpression(node) && EITHER_SIDE.includes(text(node.operatorToken))
        ? [node.left, node.right].map((side) => ({ node, replacement: `(${text(side)})` }))
        : [],
  },
  {
    name: 'unary operator',
    mutate: (node, text) => {
      if (isPrefixUnaryExpression(node)) {
        const operand = text(node.operand);
        if (node.operator === SyntaxKind.PlusPlusToken) return [{ node, replacement: `--${operand}` }];
        if (node.operator === SyntaxKind.MinusMinusToken) return [{ node, replacement: `++${operand}` }];
        return [{ node, replacement: operand }];
      }
      if (!isPostfixUnaryExpression(node)) return [];
      const other = node.operator === SyntaxKind.PlusPlusToken ? '--' : '++';
      return [{ node, replacement: `${text(node.operand)}${other}` }];
    },
  },
  {
    name: 'boolean',
    mutate: (node) => {
      if (node.kind === SyntaxKind.TrueKeyword) return [{ node, replacement: 'false' }];
      if (node.kind === SyntaxKind.FalseKeyword) return [{ node, replacement: 'true' }];
      return [];
    },
  },
  {
    name: 'number',
    mutate: (node, text) => {
      if (!isNumericLiteral(node)) return [];
      // Of a 1 that only says "greater", as in comparisons, 2 is the same.
      return [{ node, replacement: text(node) === '1' ? '0' : `(${text(node)} + 1)` }];
    },
  },
  {
    name: 'string',
    mutate: (node, text) => {
      if (!isStringLiteral(node) && !isNoSubstitutionTemplateLiteral(node) && !isTemplateExpression(node)) return [];
      return [{ node, replacement: text(node).length === 2 ? "'mutated'" : "''" }];
    },
  },
  {
    name: 'statement left out',
    mutate: (node) =>
      isExpressionStatement(node) || isBreakOrContinueStatement(node) || isReturnStatement(node)
        ? [{ node, replacement: ';' }]
        : [],
  },
  {
    name: 'returned value',
    mutate: (node) => {
      const value = isReturnStatement(node)
        ? node.expression
        : isArrowFunction(node) && !isBlock(node.body)
          ? node.body
          : undefined;
      if (value === undefined) return [];
      return ['undefined', 'null', '[]'].map((replacement) => ({ node: value, replacement }));
    },
  },
  {
    name: 'method',
    mutate: (node, text) => {
      if (!isCallExpression(node) || !isPropertyAccessExpression(node.expression)) return [];
      const { name, expression } = node.expression;
      const others = (METHODS.get(text(name)) ?? []).map((other) => replaced(node, name, other, text));
      if (!LEFT_OUT.includes(text(name))) return others;
      return [...others, { node, replacement: text(expression) }];
    },
  },
  {
    name: 'item left out',
    mutate: (node, text) => {
      if (isArrayLiteralExpression(node)) return node.elements.map((item) => without(node, item, node.elements, text));
      if (!isObjectLiteralExpression(node)) return [];
      return node.properties.map((item) => without(node, item, node.properties, text));
    },
  },
];

/** Messages of errors and the program's own assertions are not mutated: no test has to repeat them. */
export function isExempt(node: Node, text: (node: Node) => string): boolean {
  if (isThrowStatement(node)) return true;
  if (isExpressionStatement(node)) return isExempt(node.expression, text);
  return isCallExpression(node) && /^assert\w*$/.test(text(node.expression));
}

/** The parts of the program in a CPU profile of V8: shares of the samples that were not idle. */
import { sourceLine } from '../../src/node/source-lines.ts';

interface ProfileNode {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    /** From 0. */
    readonly lineNumber: number;
    readonly columnNumber: number;
  };
}

export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** The share of each part, 0 to 1. All shares together are 1. */
export function sharesOf({ nodes, samples, timeDeltas }: CpuProfile): ReadonlyMap<string, number> {
  const parts = new Map(nodes.map((node) => [node.id, partOf(node)]));
  const micros = new Map<string, number>();
  let total = 0;
  for (const [i, sample] of samples.entries()) {
    const part = parts.get(sample) ?? null;
    if (part === null) continue;
    total += timeDeltas[i]!;
    micros.set(part, (micros.get(part) ?? 0) + timeDeltas[i]!);
  }
  return new Map([...micros].map(([part, sum]) => [part, sum / total]));
}

const OWN = /(?:^|\/)src\/(\w+)\//;
const LIBRARY = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//;

/**
 * The part that a node of the profile belongs to; null = the thread waits. The innermost function decides, so the
 * garbage collector is a part of its own.
 */
function partOf({ callFrame }: ProfileNode): string | null {
  const { functionName, url } = callFrame;
  if (functionName === '(idle)') return null;
  if (functionName === '(garbage collector)') return 'collector';
  if (functionName === '(program)') return 'V8 itself, with its compilers';
  if (/\/(?:esm|cjs)\/|:internal\/(?:modules|bootstrap)/.test(url)) return 'Node: modules';
  if (url.startsWith('node:')) return 'Node: its JavaScript';
  const source = sourceOf(callFrame);
  const library = LIBRARY.exec(source)?.[1];
  if (library !== undefined) return library;
  const own = OWN.exec(source)?.[1];
  if (own !== undefined) return `src/${own}`;
  // Reads, writes, hashes and copies have no file.
  return url === '' ? 'native functions' : 'others';
}

/** The file of the sources, where a chunk of `dist` runs. */
function sourceOf({ url, lineNumber, columnNumber }: ProfileNode['callFrame']): string {
  return sourceLine(url, lineNumber + 1, columnNumber + 1)?.source ?? url;
}

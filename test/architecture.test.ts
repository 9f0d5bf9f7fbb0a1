/** Holds the code to the rules that ARCHITECTURE.md states. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { assertNone, codeOf, importedFiles, importsOf, readSources } from './support/sources.ts';

const architecture = readFileSync(join(import.meta.dirname, '../ARCHITECTURE.md'), 'utf8');

/** Rows of the code map: folder -> folders that it may import. */
function readRules(): Map<string, readonly string[]> {
  const rules = new Map<string, readonly string[]>();
  for (const line of architecture.split('\n')) {
    const cells = /^\| `((?:src|workers)[^`]*)` \|[^|]*\|([^|]*)\|$/.exec(line);
    if (cells === null) continue;
    rules.set(
      cells[1]!,
      [...cells[2]!.matchAll(/`([^`]+)`/g)].map((match) => match[1]!),
    );
  }
  return rules;
}

const rules = readRules();
const sources = readSources('{src,workers}/**/*.ts');

function layerOf(path: string): string | undefined {
  return [...rules.keys()].find((layer) => path === layer || path.startsWith(`${layer}/`));
}

/** Where I/O, time and randomness are at home. */
const OUTSIDE = /^(src\/node\/|src\/testbed\/|src\/cli\/|src\/main\.ts|workers\/)/;
const pure = sources.filter(({ path }) => !OUTSIDE.test(path));

describe('layers', () => {
  it('the code map names every folder, and every folder that it names exists', () => {
    assertNone(
      sources.map(({ path }) => path).filter((path) => layerOf(path) === undefined),
      'No row of the code map in ARCHITECTURE.md has these files. Move them to a folder that is there, or add a row:',
    );
    assertNone(
      [...rules.keys()].filter((layer) => !sources.some(({ path }) => layerOf(path) === layer)),
      'There is nothing in these folders. Take their rows out of the code map in ARCHITECTURE.md:',
    );
  });

  it('imports point where the code map allows', () => {
    const wrong = sources.flatMap((source) => {
      const layer = layerOf(source.path)!;
      const allowed = [layer, ...rules.get(layer)!];
      return importedFiles(source)
        .filter((target) => !allowed.includes(layerOf(target) ?? target))
        .map((target) => `${source.path} imports ${target}`);
    });
    assertNone(
      wrong,
      'The code map in ARCHITECTURE.md does not allow these imports. Move what both need down, or hand it over as an argument:',
    );
  });

  it('each import that the code map allows is made', () => {
    const made = new Set(
      sources.flatMap((source) => importedFiles(source).map((target) => `${layerOf(source.path)} ${layerOf(target)}`)),
    );
    const idle = [...rules].flatMap(([layer, allowed]) =>
      allowed.filter((target) => !made.has(`${layer} ${target}`)).map((target) => `${layer} may import ${target}`),
    );
    assertNone(idle, 'Nobody makes these imports. Take them out of the code map in ARCHITECTURE.md:');
  });

  it('no imports go in a circle, not even those of types', () => {
    const targets = new Map(sources.map((source) => [source.path, importedFiles(source)]));
    /** Whose imports have all been followed, and led back to none of them. */
    const done = new Set<string>();
    const circles: string[] = [];
    const follow = (path: string, way: readonly string[]): void => {
      if (way.includes(path)) circles.push([...way.slice(way.indexOf(path)), path].join(' -> '));
      else if (!done.has(path)) for (const target of targets.get(path) ?? []) follow(target, [...way, path]);
      done.add(path);
    };
    for (const { path } of sources) follow(path, []);
    assertNone(circles, 'These files import each other. Move what they share to a file that imports none of them:');
  });

  it('only the outer folders import packages and node:', () => {
    const wrong = pure.flatMap(({ path, text }) =>
      importsOf(text)
        .filter((target) => !target.startsWith('.'))
        // The one place that knows MessagePack (docs/protocols.md "What travels between threads").
        .filter((target) => path !== 'src/shard/codec.ts' || !target.startsWith('msgpackr'))
        .map((target) => `${path} imports ${target}`),
    );
    assertNone(
      wrong,
      'The inner folders are pure. Put what needs a package behind a port, and the package into src/node:',
    );
  });

  it('the inner folders have no ambient time, randomness, process, timers or async', () => {
    const forbidden =
      /\b(Date\.now|new Date\(\)|performance\.|Math\.random|crypto\.|process\.|setTimeout|setInterval|setImmediate|queueMicrotask|async |await |console\.)/;
    const wrong = pure.flatMap(({ path, text }) => {
      const match = forbidden.exec(codeOf(text));
      return match === null ? [] : [`${path}: ${match[0]}`];
    });
    assertNone(
      wrong,
      'The inner folders are pure. Let the caller give the time or the random number, or ask for an effect:',
    );
  });

  it('what tune answers rests on arithmetic that is the same on every machine', () => {
    /** All of `Math` but what is exact, or a constant, and powers but squares and those of two, which are exact too. */
    const forbidden =
      /\bMath\.(?!(?:abs|ceil|floor|imul|max|min|round|sign|sqrt|trunc|[A-Z]\w*)\b)\w+|(?<!\b2 )\*\*(?! 2\b)/g;
    const wrong = sources
      .filter(({ path }) => /^src\/(?:page|recording|tune|twin)\//.test(path))
      .flatMap(({ path, text }) => (codeOf(text).match(forbidden) ?? []).map((found) => `${path}: ${found}`));
    assertNone(
      wrong,
      'The last bits of these differ between processors. Take those of src/lib/exp-log.ts, or add one:',
    );
  });

  it('reflectors, writes and queues know their own state and their hands only', () => {
    const wrong = sources
      .filter(({ path }) => /^src\/controller\/(?:reflectors|writes|queues\/\w+queue)\b/.test(path))
      .filter((source) => importedFiles(source).includes('src/controller/state.ts'));
    assertNone(
      wrong.map(({ path }) => path),
      'These files know the whole state of the controller. Say what they need of it in their hands (`hands.ts`):',
    );
  });

  it('only one module changes what a planner has been told', () => {
    const wrong = sources
      .filter(({ path }) => path.startsWith('src/controller/') && path !== 'src/controller/syncs/planner-view.ts')
      .filter(({ text }) => /-readonly\b|\bas (?:Set|Map)</.test(codeOf(text)));
    assertNone(
      wrong.map(({ path }) => path),
      'These files make something writable that is not theirs. Let the module whose it is change it:',
    );
  });

  it('there are no default exports, no barrels, and no inheritance but of errors', () => {
    const wrong: string[] = [];
    for (const { path, text } of sources) {
      const code = codeOf(text);
      if (/^export default /m.test(code) && !path.startsWith('workers/')) wrong.push(`${path}: default export`);
      for (const [found] of code.matchAll(/\bclass \w+ extends (?!\w*Error\b)\w+/g)) wrong.push(`${path}: ${found}`);
      if (/^export \* from/m.test(code)) wrong.push(`${path}: barrel`);
    }
    assertNone(wrong, 'Export by name, from the file that has it, and compose instead of inheriting:');
  });
});

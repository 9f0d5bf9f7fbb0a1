/** Holds the code to the rules that ARCHITECTURE.md states. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, it } from 'node:test';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const architecture = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');

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
const files = globSync('{src,workers}/**/*.ts', { cwd: ROOT }).sort();

function layerOf(file: string): string | undefined {
  return [...rules.keys()].find((layer) => file === layer || file.startsWith(`${layer}/`));
}

function importsOf(text: string): string[] {
  const found = [...text.matchAll(/^(?:import|export)\b[^;]*?from '([^']+)';/gms)].map((match) => match[1]!);
  const dynamic = [...text.matchAll(/\bimport\('([^']+)'\)/g)].map((match) => match[1]!);
  const bare = [...text.matchAll(/^import '([^']+)';/gm)].map((match) => match[1]!);
  return [...found, ...dynamic, ...bare];
}

/** Comments and strings may mention what code may not do. */
function codeOf(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\/\/.*$/gm, '')
    .replace(/'(?:[^'\\\n]|\\.)*'/g, "''");
}

const OUTSIDE = /^(src\/node\/|src\/testbed\/|src\/cli\/|src\/main\.ts|workers\/)/;
const pure = files.filter((file) => !OUTSIDE.test(file));

describe('layers', () => {
  it('the map names every folder, and every folder that it names exists', () => {
    assert.deepEqual(
      files.filter((file) => layerOf(file) === undefined),
      [],
    );
    assert.deepEqual(
      [...rules.keys()].filter((layer) => !files.some((file) => layerOf(file) === layer)),
      [],
    );
  });

  it('imports point where the map allows', () => {
    const wrong: string[] = [];
    for (const file of files) {
      const layer = layerOf(file)!;
      const allowed = [layer, ...rules.get(layer)!];
      for (const target of importsOf(readFileSync(join(ROOT, file), 'utf8'))) {
        if (!target.startsWith('.')) continue;
        const imported = normalize(join(dirname(file), target));
        const importedLayer = layerOf(imported) ?? imported;
        if (!allowed.includes(importedLayer)) wrong.push(`${file} imports ${imported}`);
      }
    }
    assert.deepEqual(wrong, []);
  });

  it('no imports go in a circle, those of types neither', () => {
    const targets = new Map(
      files.map((file) => {
        const text = readFileSync(join(ROOT, file), 'utf8');
        const paths = importsOf(text).filter((target) => target.startsWith('.'));
        return [file, paths.map((target) => normalize(join(dirname(file), target)))];
      }),
    );
    /** Whose imports have all been followed, and led back to none of them. */
    const done = new Set<string>();
    const circles: string[] = [];
    const follow = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
      else if (!done.has(file)) for (const target of targets.get(file) ?? []) follow(target, [...path, file]);
      done.add(file);
    };
    for (const file of files) follow(file, []);
    assert.deepEqual(circles, []);
  });

  it('only the outer folders import packages and node:', () => {
    const wrong: string[] = [];
    for (const file of pure) {
      const text = readFileSync(join(ROOT, file), 'utf8');
      for (const target of importsOf(text)) {
        if (target.startsWith('.')) continue;
        // The one place that knows MessagePack (docs/spec/protocols.md "What travels between threads").
        if (file === 'src/shard/codec.ts' && target.startsWith('msgpackr')) continue;
        wrong.push(`${file} imports ${target}`);
      }
    }
    assert.deepEqual(wrong, []);
  });

  it('the inner folders have no ambient time, randomness, process, timers or async', () => {
    const forbidden =
      /\b(Date\.now|new Date\(\)|performance\.|Math\.random|crypto\.|process\.|setTimeout|setInterval|setImmediate|queueMicrotask|async |await |console\.)/;
    const wrong = pure.flatMap((file) => {
      const match = forbidden.exec(codeOf(readFileSync(join(ROOT, file), 'utf8')));
      return match === null ? [] : [`${file}: ${match[0]}`];
    });
    assert.deepEqual(wrong, []);
  });

  it('there are no default exports, no inheritance but of errors, and no barrels', () => {
    const wrong: string[] = [];
    for (const file of files) {
      const code = codeOf(readFileSync(join(ROOT, file), 'utf8'));
      if (/^export default /m.test(code) && !file.startsWith('workers/')) wrong.push(`${file}: default export`);
      for (const match of code.matchAll(/\bclass \w+ extends (\w+)/g)) {
        if (!match[1]!.endsWith('Error')) wrong.push(`${file}: extends ${match[1]}`);
      }
      if (/^export \* from/m.test(code)) wrong.push(`${file}: barrel`);
    }
    assert.deepEqual(wrong, []);
  });
});

/**
 * Loaded before everything else in the process of the tests, in its threads and its children: puts a changed text in the
 * place of one source file. MUTANT is `{ "url", "path" }` as JSON: the module, and the file with its new text.
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

if (process.env['MUTANT'] !== undefined) {
  const { url, path } = JSON.parse(process.env['MUTANT']) as { url: string; path: string };
  registerHooks({
    load: (asked, context, next) =>
      asked === url
        ? { format: 'module-typescript', source: readFileSync(path, 'utf8'), shortCircuit: true }
        : next(asked, context),
  });
}

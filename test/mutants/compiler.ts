/** The compiler as a service: syntax trees, and whether a changed file still type-checks. */
import { join } from 'node:path';
import type { SourceFile } from 'typescript/unstable/ast';
import { API } from 'typescript/unstable/sync';

export interface Compiler {
  /** `file` is a path from the root. */
  readonly parse: (file: string) => SourceFile;
  /** Whether the file with this text has no error of syntax or type. What other files make of it is not asked. */
  readonly accepts: (file: string, text: string) => boolean;
  readonly close: () => void;
}

/** Unused imports, locals and parameters, and code that is never reached: untidy, but it runs. */
const UNTIDY: ReadonlySet<number> = new Set([6133, 6192, 6196, 6198, 6199, 6205, 7027]);

export function openCompiler(root: string): Compiler {
  const config = join(root, 'tsconfig.json');
  const changed = new Map<string, string>();
  const api = new API({ cwd: root, fs: { readFile: (name) => changed.get(name) } });
  let snapshot = api.updateSnapshot({ openProjects: [config] });

  const program = () => snapshot.getProject(config)!.program;
  const refresh = (path: string): void => {
    snapshot.dispose();
    snapshot = api.updateSnapshot({ fileChanges: { changed: [path] } });
  };

  return {
    parse: (file) => {
      const tree = program().getSourceFile(join(root, file));
      if (tree === undefined) throw new Error(`${file}: not a file of ${config}`);
      return tree;
    },
    accepts: (file, text) => {
      const path = join(root, file);
      changed.set(path, text);
      refresh(path);
      const ok =
        program().getSyntacticDiagnostics(path).length === 0 &&
        program()
          .getSemanticDiagnostics(path)
          .every((each) => UNTIDY.has(each.code));
      changed.delete(path);
      refresh(path);
      return ok;
    },
    close: () => {
      api.close();
    },
  };
}

import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';

/** One file of a Go module of Kubernetes, in which a name gives way to what stands in for it. */
interface Adaption {
  readonly module: string;
  readonly file: string;
  /** The declaration that gets another name; it must be there exactly once. */
  readonly declaration: string;
  readonly renamed: string;
  /** The Go files of the stand-in, below `inserted/`; they go beside `file`. */
  readonly inserted: readonly string[];
}

/** The tests themselves stay as they are: what they make or call is endpointd instead of the controller. */
const ADAPTIONS: readonly Adaption[] = [
  {
    module: 'k8s.io/kubernetes',
    file: 'pkg/controller/endpoint/endpoints_controller.go',
    declaration: 'func NewEndpointController(',
    renamed: 'func newUpstreamController(',
    inserted: ['endpoint/endpointd.go'],
  },
  {
    module: 'k8s.io/kubernetes',
    file: 'pkg/controller/endpointslice/endpointslice_controller.go',
    declaration: 'func NewController(',
    renamed: 'func newUpstreamController(',
    inserted: ['endpointslice/endpointd.go'],
  },
  {
    module: 'k8s.io/kubernetes',
    file: 'pkg/controller/endpointslicemirroring/endpointslicemirroring_controller.go',
    declaration: 'func NewController(',
    renamed: 'func newUpstreamController(',
    inserted: ['endpointslicemirroring/endpointd.go'],
  },
  {
    module: 'k8s.io/endpointslice',
    file: 'reconciler.go',
    declaration: 'func (r *Reconciler) Reconcile(',
    renamed: 'func (r *Reconciler) reconcileInProcess(',
    inserted: ['reconciler/endpointd.go', 'reconciler/translation.go'],
  },
  {
    module: 'k8s.io/endpointslice',
    file: 'reconciler_test.go',
    declaration: 'func expectTrackedGeneration(',
    renamed: 'func expectTrackedGenerationInProcess(',
    inserted: ['reconciler/endpointd_test.go'],
  },
];

const run = promisify(execFile);
const HERE = import.meta.dirname;

/**
 * Copies the modules that are adapted into `directory`, adapts them there, and gives the path of a go.mod that builds
 * with the copies.
 * @throws Error when a module is not as the adaptions expect it
 */
export async function adaptModules(directory: string): Promise<string> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  let goMod = await readFile(join(HERE, 'go.mod'), 'utf8');
  for (const module of new Set(ADAPTIONS.map((each) => each.module))) {
    const copy = join(directory, module);
    await cp(await moduleDirectory(module), copy, { recursive: true });
    await run('chmod', ['-R', 'u+w', copy]);
    goMod = replaced(goMod, module, copy);
  }
  for (const adaption of ADAPTIONS) await adapt(directory, adaption);
  const path = join(directory, 'go.mod');
  await writeFile(path, goMod);
  await cp(join(HERE, 'go.sum'), join(directory, 'go.sum'));
  return path;
}

/** Where the module of go.mod lies, checked against go.sum as Go downloads it. */
async function moduleDirectory(module: string): Promise<string> {
  const { stdout } = await run('go', ['mod', 'download', '-json', module], { cwd: HERE });
  const { Dir } = JSON.parse(stdout) as { Dir?: string };
  if (Dir === undefined) throw new Error(`go mod download ${module} names no directory: ${stdout}`);
  return Dir;
}

/** Where Go keeps modules. */
export async function moduleCache(): Promise<string> {
  const { stdout } = await run('go', ['env', 'GOMODCACHE']);
  return stdout.trim();
}

/** A go.mod has one replacement for a module at most. */
function replaced(goMod: string, module: string, path: string): string {
  const others = goMod.split('\n').filter((line) => !line.startsWith(`\t${module} => `));
  return `${others.join('\n')}\nreplace ${module} => ${path}\n`;
}

async function adapt(directory: string, { module, file, inserted, ...names }: Adaption): Promise<void> {
  const path = join(directory, module, file);
  await writeFile(path, renamedIn(await readFile(path, 'utf8'), names, `${module}/${file}`));
  for (const name of inserted) await cp(join(HERE, 'inserted', name), join(path, '..', basename(name)));
}

/**
 * The text with another name in the declaration.
 * @param where it is, for the error
 * @throws Error when the declaration is not there exactly once
 */
export function renamedIn(
  text: string,
  { declaration, renamed }: Pick<Adaption, 'declaration' | 'renamed'>,
  where: string,
): string {
  const parts = text.split(`\n${declaration}`);
  if (parts.length !== 2) {
    throw new Error(`${where} has "${declaration}" ${parts.length - 1} times, expected once: adapt it anew`);
  }
  return parts.join(`\n${renamed}`);
}

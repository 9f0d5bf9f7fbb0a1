import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';

export interface TestResult {
  /** The package, below its module. */
  readonly suite: string;
  readonly name: string;
  /** otherwise: by a listed difference. */
  readonly outcome: 'pass' | 'fail' | 'skip' | 'otherwise';
}

export interface GoTests {
  /** The directory of the go.mod that belongs to `endpointd.go`. */
  readonly directory: string;
  /** The go.mod that builds with adapted modules. */
  readonly goMod: string;
  readonly package: string;
  /** Regular expression of the top-level tests. */
  readonly run: string;
  /** Tests and subtests that are not run, by their whole names. */
  readonly skip?: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Gets all that the tests print. */
  readonly logPath: string;
}

/** A line of `go test -json`. */
interface GoTestEvent {
  readonly Action: string;
  readonly Test?: string;
  readonly Output?: string;
}

const TIMEOUT = '20m';

/**
 * Builds and runs the tests of a package, and gives those without subtests in the order in which they ended.
 * @throws Error when the package does not build, or ends otherwise than by its tests
 */
export async function runGoTests({ directory, goMod, env, logPath, ...tests }: GoTests): Promise<TestResult[]> {
  const args = ['-trimpath', '-vet=off', '-count=1', '-json', `-timeout=${TIMEOUT}`, `-run=${tests.run}`];
  if (tests.skip !== undefined) args.push(`-skip=${tests.skip.map(patternOf).join('|')}`);
  const child = spawn('go', ['test', '-modfile', goMod, ...args, tests.package], {
    cwd: directory,
    env: { ...process.env, CGO_ENABLED: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log = createWriteStream(logPath);
  child.stderr.pipe(log, { end: false });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const outcomes = new Map<string, TestResult['outcome']>();
  let ofPackage = '';
  for await (const line of createInterface({ input: child.stdout })) {
    const { Action, Test, Output } = JSON.parse(line) as GoTestEvent;
    if (Output !== undefined) log.write(Output);
    if (Action !== 'pass' && Action !== 'fail' && Action !== 'skip') continue;
    if (Test === undefined) ofPackage = Action;
    else outcomes.set(Test, Action);
  }
  const status = await ended;
  log.end();
  const results = leavesOf(outcomes, tests.package);
  const failed = results.some(({ outcome }) => outcome === 'fail');
  if (results.length === 0 || (ofPackage !== 'pass' && !failed)) {
    throw new Error(`${tests.package}: go test ended with status ${status} beside its tests, see ${logPath}`);
  }
  return results;
}

/** A test fails with its subtests; one that fails by itself counts beside them. */
export function leavesOf(outcomes: ReadonlyMap<string, TestResult['outcome']>, suite: string): TestResult[] {
  const names = [...outcomes.keys()];
  return names
    .filter((name) => {
      const below = names.filter((other) => other.startsWith(`${name}/`));
      if (below.length === 0) return true;
      return outcomes.get(name) === 'fail' && below.every((other) => outcomes.get(other) !== 'fail');
    })
    .map((name) => ({ suite, name, outcome: outcomes.get(name)! }));
}

/** Go matches the names of subtests level by level. */
export function patternOf(name: string): string {
  return name
    .split('/')
    .map((level) => `^${level.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}$`)
    .join('/');
}

/** The commands of a page of docs/, typed into a shell as they stand there, with the real kubectl. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BIN } from '../support/installed.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..', '..');
const OUTPUT_BYTES_MAX = 2 ** 26;

interface Command {
  /** The last heading above it. */
  readonly section: string;
  readonly text: string;
}

interface Place {
  /** An operator's directory: commands run in it, and `bin` of it has the programs that they name. */
  readonly directory: string;
  readonly kubectl: string;
  readonly env: Readonly<Record<string, string>>;
}

interface FollowOptions {
  /** What is typed for what stands for something else; each has to be in the command. */
  readonly fill?: Readonly<Record<string, string>>;
  /** Takes what the command says on its stderr, as it comes. */
  readonly onStderr?: (text: string) => void;
  /** Whether another status than 0 is an answer too. */
  readonly mayFail?: boolean;
}

export interface CommandPage {
  readonly text: string;
  /**
   * Runs the command of a section that begins with `start`. Returns what it prints.
   * @throws Error if there is none, it ends with another status than 0, or a word of `fill` is not in it
   */
  follow(section: string, start: string, options?: FollowOptions): Promise<string>;
  /** The commands that were not followed. */
  rest(): readonly Command[];
}

/** @param path in the repository */
export async function commandPage(path: string, { directory, kubectl, env }: Place): Promise<CommandPage> {
  const text = await readFile(join(ROOT, path), 'utf8');
  const commands = commandsOf(text);
  const done = new Set<Command>();
  const bin = join(directory, 'bin');
  await mkdir(bin);
  await symlink(kubectl, join(bin, 'kubectl'));
  const npx = `#!/bin/sh\nshift\nexec '${process.execPath}' '${BIN}' "$@"\n`;
  await writeFile(join(bin, 'npx'), npx, { mode: 0o755 });
  const options = {
    cwd: directory,
    env: { ...process.env, PATH: `${bin}:${process.env['PATH']}`, ...env },
    maxBuffer: OUTPUT_BYTES_MAX,
  };
  return {
    text,
    async follow(section, start, { fill = {}, onStderr, mayFail = false } = {}) {
      const command = commands.find((one) => one.section === section && one.text.trim().startsWith(start));
      assert.ok(command !== undefined, `${section}: no command begins with ${start}`);
      done.add(command);
      let typed = command.text;
      for (const [word, instead] of Object.entries(fill)) {
        assert.ok(typed.includes(word), `${word} in ${typed}`);
        typed = typed.replaceAll(word, instead);
      }
      const running = run('bash', ['-e', '-o', 'pipefail', '-c', typed], options);
      if (onStderr !== undefined) running.child.stderr!.on('data', (chunk) => onStderr(String(chunk)));
      const { stdout } = await running.catch((error: Error & { readonly stdout?: string }) => {
        if (!mayFail || error.stdout === undefined) throw error;
        return { stdout: error.stdout };
      });
      return stdout;
    },
    rest: () => commands.filter((command) => !done.has(command)),
  };
}

/** Inline, and whole blocks of shell. */
function commandsOf(text: string): Command[] {
  const commands: Command[] = [];
  let section = '';
  for (const [, heading, block, inline] of text.matchAll(
    /^#+ (.+)$|^ *```sh\n([^]+?)^ *```$|`((?:kubectl|npx endpointd) [^`]+)`/gm,
  )) {
    if (heading !== undefined) section = heading;
    else commands.push({ section, text: block ?? inline! });
  }
  return commands;
}

/** `endpointd run` as a process that serves, with its log as JSON. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { execPath } from 'node:process';
import { NODE_FLAGS } from '../../src/testbed/controller-process.ts';
import { freePorts } from '../../src/testbed/free-ports.ts';
import { BIN } from './installed.ts';
import { until } from './until.ts';

/** Of its first line. */
export const BIN_FLAGS = NODE_FLAGS.filter((flag) => flag !== '--disable-sigusr1');

export interface ServingProcess {
  readonly child: ChildProcess;
  /** How it has ended. */
  readonly exited: Promise<readonly [status: number | null, signal: NodeJS.Signals | null]>;
  /** `host:port` of `--secure-port`. */
  readonly secure: string;
  /** `host:port` of `--metrics-bind-address`. */
  readonly plain: string;
  /** Everything that the log holds so far. */
  log(): string;
  /** kill -9, unless it has ended. */
  end(): Promise<void>;
}

/** Starts it with both ports on loopback. Resolves when it serves. */
export async function startServingProcess(flags: readonly string[]): Promise<ServingProcess> {
  const own = [
    `--secure-port=${(await freePorts(1))[0]}`,
    '--bind-address=127.0.0.1',
    '--metrics-bind-address=127.0.0.1:0',
    '--shards=0',
    '--logging-format=json',
  ];
  const child = spawn(execPath, [...BIN_FLAGS, BIN, 'run', ...own, ...flags], { stdio: ['ignore', 'ignore', 'pipe'] });
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  try {
    await until(() => {
      assert.equal(child.exitCode ?? child.signalCode, null, said);
      return said.includes('"Starting endpointd"');
    });
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  return {
    child,
    exited,
    secure: /"https":"([^"]+)"/.exec(said)![1]!,
    plain: /"http":"([^"]+)"/.exec(said)![1]!,
    log: () => said,
    async end() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** The text of a kubeconfig, without a user's credentials where none are given. */
export function kubeconfigText(url: string, user: object = {}): string {
  return JSON.stringify({
    'current-context': 'c',
    clusters: [{ name: 'c', cluster: { server: url } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  });
}

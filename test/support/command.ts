import { execFile } from 'node:child_process';
import { execPath } from 'node:process';
import { BIN } from './installed.ts';

export interface Outcome {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command of endpointd as a process, to its end. */
export function endpointd(...args: string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(execPath, [BIN, ...args], (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

/** What has to be done when this process is gone, also by SIGKILL, of which it hears nothing itself. */
import { spawn, type ChildProcess } from 'node:child_process';

/**
 * A shell does it, which reads a pipe that only closes when this process is gone. Where there is no shell, as in the image,
 * nobody does.
 * @returns calls it off
 */
function whenGone(line: string, word: string): () => void {
  // A signal to the whole process group must not end the guard.
  const script = `trap '' TERM INT HUP\nread -r _\n${line}`;
  const shell = spawn('/bin/sh', ['-c', script, 'sh', word], { stdio: ['pipe', 'ignore', 'ignore'] });
  shell.once('error', () => undefined);
  shell.unref();
  return () => void shell.kill('SIGKILL');
}

/** Ends with this process, however that happens. */
export function endWithUs(child: ChildProcess): void {
  if (child.pid === undefined) return;
  child.once('exit', whenGone('kill -9 "$1"', String(child.pid)));
}

/** @returns calls it off */
export function removeWithUs(directory: string): () => void {
  // Programs that write there end at the same time, and may take a moment over it.
  return whenGone('sleep 1\nrm -rf "$1"', directory);
}

import process from 'node:process';

/**
 * Ends the process with `status`, whatever its threads are stuck in. `process.exit` would wait for Node's thread pool,
 * and so for a name server that does not answer, a disk that is gone or a terminal that is stopped. A signal to oneself
 * does nothing as process 1 of a container. So the program is replaced by one that only exits.
 */
export function endNow(status: number): never {
  process.emit('exit', status);
  const env = { ...process.env, NODE_OPTIONS: '' };
  try {
    process.execve?.(process.execPath, [process.execPath, '-e', `process.exit(${status})`], env);
  } catch {
    // This platform cannot replace a program.
  }
  process.exit(status);
}

/**
 * Whether a name is being looked up. A look-up runs on Node's thread pool and waits for as long as the resolver's
 * settings say.
 */
export function looksUpNames(): boolean {
  return process.getActiveResourcesInfo().includes('GetAddrInfoReqWrap');
}

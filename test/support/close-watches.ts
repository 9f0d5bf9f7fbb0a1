import type { ApiServer } from '../../src/apiserver/server.ts';

/** Ends every open watch, as a restart of the real server's cache does. */
export function closeWatches(server: ApiServer): void {
  for (const watchers of server.watchers.values()) for (const watcher of watchers) watcher.finish();
}

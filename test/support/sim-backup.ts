/** Backups of the embedded server's data, as of etcd, and what a restore of one makes of a server that runs. */
import { RULES } from '../../src/apiserver/rules/all.ts';
import type { ApiServer } from '../../src/apiserver/server.ts';
import type { StoredRecord } from '../../src/apiserver/record.ts';
import { dropHistory, type Store } from '../../src/apiserver/store.ts';
import type { ResourceName } from '../../src/kube/types.ts';

export interface Backup {
  readonly revision: number;
  readonly records: ReadonlyMap<ResourceName, readonly StoredRecord[]>;
}

export function takeBackup(server: ApiServer): Backup {
  const records = new Map([...server.stores].map(([name, store]) => [name, [...store.records.values()]]));
  return { revision: server.revision, records };
}

/**
 * Puts the server's data back; open watches are the caller's to end. The next revision follows on that of the backup and
 * `bump`, which is what `etcdutl snapshot restore --bump-revision --mark-compacted` adds: objects keep their versions, and
 * a watch from before the restored revision gets 410.
 */
export function restoreBackup(server: ApiServer, backup: Backup, bump = 0): void {
  server.revision = backup.revision + bump;
  for (const store of server.stores.values()) {
    const { changed } = RULES[store.resource.name];
    const context = { addresses: server.addresses, status: false };
    for (const { object } of store.records.values()) changed?.(null, object, context);
    putBack(store, backup.records.get(store.resource.name) ?? []);
    for (const { object } of store.records.values()) changed?.(object, null, context);
    dropHistory(store, server.revision);
  }
}

function putBack(store: Store, records: readonly StoredRecord[]): void {
  store.records.clear();
  for (const record of records) store.records.set(record.key, record);
  store.keys = [...store.records.keys()].sort();
  store.added = [];
  store.gone.clear();
}

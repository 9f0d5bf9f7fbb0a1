/** Backups of the data of a real etcd, as operators take and restore them. */
import { execFile } from 'node:child_process';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { etcdutlBinary } from './binaries.ts';
import type { Cluster } from '../../src/testbed/kube-cluster.ts';

const run = promisify(execFile);

/** More than any story writes. */
const BUMP = 1_000_000;

/**
 * copy: the data directory is put back; bump: `etcdutl snapshot restore --bump-revision --mark-compacted`, by which
 * versions go on above all that were ever given.
 */
export type RestoreWay = 'copy' | 'bump';

/** Stops the servers for it. */
export async function takeBackup(cluster: Cluster): Promise<void> {
  await whileDown(cluster, () => cp(cluster.etcdData, backupOf(cluster), { recursive: true }));
}

/** The servers go on from the backup. */
export async function restoreBackup(cluster: Cluster, way: RestoreWay): Promise<void> {
  const etcdutl = way === 'bump' ? await etcdutlBinary() : '';
  await whileDown(cluster, async () => {
    await rm(cluster.etcdData, { recursive: true });
    if (way === 'copy') {
      await cp(backupOf(cluster), cluster.etcdData, { recursive: true });
      return;
    }
    await run(etcdutl, [
      'snapshot',
      'restore',
      join(backupOf(cluster), 'member', 'snap', 'db'),
      // Only what `etcdctl snapshot save` has written ends with a hash.
      '--skip-hash-check',
      `--bump-revision=${BUMP}`,
      '--mark-compacted',
      `--data-dir=${cluster.etcdData}`,
      `--initial-cluster=default=${cluster.etcdPeerUrl}`,
      `--initial-advertise-peer-urls=${cluster.etcdPeerUrl}`,
    ]);
  });
}

function backupOf({ directory }: Cluster): string {
  return join(directory, 'etcd-backup');
}

async function whileDown(cluster: Cluster, act: () => Promise<void>): Promise<void> {
  await cluster.killApiserver();
  await cluster.killEtcd();
  await act();
  await cluster.startEtcd();
  await cluster.startApiserver();
}

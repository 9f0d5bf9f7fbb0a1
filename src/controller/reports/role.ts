/** What this process is to its Lease, for a person. */
import { holderOf, isLeader } from '../leader/elector.ts';
import { otherControllers, OWN_LEASE, type Leadership } from '../leader/leadership.ts';
import { awaitsTakeOver } from '../leader/take-over.ts';

/**
 * `catches up`: it holds the Lease, and writes when its new watches have told what was missed. `waits`: it holds the Lease
 * and waits to take over. `nobody`: it stands by, and nobody holds the Lease.
 */
export type Role = 'leads' | 'catches up' | 'waits' | 'stands by' | 'nobody';

/** What this process is. Without a Lease it leads. */
export function roleOf(leadership: Leadership | null): Role {
  if (leadership === null) return 'leads';
  if (isLeader(leadership.elector)) {
    if (awaitsTakeOver(leadership)) return 'waits';
    return leadership.catchUp === null ? 'leads' : 'catches up';
  }
  return holderOf(leadership.elector) === null ? 'nobody' : 'stands by';
}

/** Who leads, for a person. */
export function leaderText(leadership: Leadership | null): string {
  if (leadership === null) return 'this process, without a Lease';
  const { elector, takeOver, controllers } = leadership;
  const self = `this process, ${elector.options.identity}`;
  switch (roleOf(leadership)) {
    case 'leads':
      return self;
    case 'catches up':
      return `${self}, which writes nothing yet: it brings its caches up to date`;
    case 'waits':
      return `${self}, which writes nothing: it waits to take over from ${takeOver!.from}`;
    case 'nobody':
      return 'nobody, this process stands by';
    case 'stands by': {
      const theirs = otherControllers(leadership);
      const standsBy = `${holderOf(elector)!}, this process stands by`;
      if (theirs === '') return standsBy;
      return `${standsBy}, but not for the same controllers: the holder runs ${theirs}, this process ${controllers}. They need two Leases: ${OWN_LEASE}`;
    }
  }
}

/** A write whose answer was lost is looked up before its object is written again. */
import type { Run } from './run.ts';
import type { SimObserver } from '../support/sim-network.ts';
import type { ObjectState } from '../../src/controller/caches/service-state.ts';
import type { Purpose } from '../../src/controller/state.ts';

/** @param breach is told each breach, in one line */
export function watchLostAnswers(
  { sim }: Run,
  breach: (text: string) => void,
): Pick<SimObserver, 'before' | 'after' | 'lost'> {
  /** Objects of which nobody knows what the server holds, and the write that made it so: that one may arrive late. */
  const doubtful = new Map<ObjectState, number>();
  const purposeOf = (id: number): Purpose | undefined => sim.loop?.state.outbox.requests.get(id);
  return {
    lost(id) {
      const purpose = purposeOf(id);
      if (purpose?.for === 'write') doubtful.set(purpose.queued.object, id);
    },
    before({ id, method, path }) {
      const purpose = purposeOf(id);
      if (purpose?.for !== 'write' || purpose.queued.write.verb === 'delete') return;
      const { object } = purpose.queued;
      if ((doubtful.get(object) ?? id) !== id)
        breach(`${method} ${path} of ${object.name} without a look after a lost answer`);
    },
    after({ id }, status) {
      const purpose = purposeOf(id);
      if (purpose?.for === 'read-endpoints' && (status < 300 || status === 404)) {
        doubtful.delete(purpose.unit.service.endpoints);
      } else if (purpose?.for === 'read-slices' && status < 300) {
        for (const object of doubtful.keys()) if (object.unit === purpose.unit) doubtful.delete(object);
      }
    },
  };
}

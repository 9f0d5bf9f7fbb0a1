/** One line about how far a verification has come. */
import type { Verification } from './verification.ts';
import { listOf } from '../controller/reflectors/reflector.ts';
import { podCount } from '../core/selector-index.ts';
import { formatCount, plural } from '../lib/figures.ts';
import { printable } from '../lib/printable.ts';

export function progressText(v: Verification): string {
  const { state, standings } = v;
  const seen = `${plural(state.serviceCount, 'service')}, ${plural(podCount(state.index), 'pod')}`;
  if (v.plannedAtMs === Infinity) {
    const waiting = state.reflectors.filter(({ synced }) => !synced);
    const failing = waiting.find(({ failure }) => failure !== '');
    if (failing !== undefined) return printable(`listing: ${seen}; ${failing.resource}: ${failing.failure}`);
    const lists = waiting.map((one) => `${one.resource} ${formatCount(listOf(one)?.progress.objects ?? 0)}`);
    return lists.length > 0
      ? `listing: ${lists.join(', ')}; ${seen}`
      : `planning: ${plural(v.plans, 'plan')} of ${seen}`;
  }
  const different = [...standings.values()].filter(({ state: is }) => is === 'different').length;
  const rest = standings.size - different;
  const left = Math.ceil((v.plannedAtMs + v.watchMs - v.nowMs()) / 1000);
  const watching = v.closedAtMs === Infinity && left > 0 ? `watching for ${formatCount(left)} s` : 'looking twice';
  return `${watching}: ${seen}; ${formatCount(different)} different, ${formatCount(rest)} to be looked at again`;
}

/** Whether a recording has begun, may still begin, or cannot, and whether it can go on. */
import { neededOf } from '../../recording/begun.ts';
import type { RecorderStatus } from '../../recording/recorder.ts';

export interface Beginning {
  /** The second in which everything was listed without which there is nothing to learn; null = it has not begun. */
  readonly begunAt: number | null;
  /** Why it cannot begin, or go on; '' = it can. */
  readonly hopeless: string;
}

/** An API server that has just started refuses at first what it will grant. */
const REFUSED_SECONDS_MAX = 10;
/** If nothing more is listed for so long, the command ends with an error. */
const IDLE_SECONDS_MAX = 120;
/** What was granted and is refused for so long is not granted again soon: a token has expired, or a role was changed. */
const TURNED_AWAY_SECONDS_MAX = 120;

/** Takes the recorder's status again and again. What has begun stays so. */
export function createBeginning(): (now: RecorderStatus) => Beginning {
  let begunAt: number | null = null;
  let refusedAt = Infinity;
  let turnedAwayAt = Infinity;
  let listed = { objects: 0, seconds: 0 };
  return (now) => {
    const { seconds, waitsFor } = now;
    if (begunAt !== null) {
      const turnedAway = neededOf(now.turnedAway);
      turnedAwayAt = turnedAway.length === 0 ? Infinity : Math.min(turnedAwayAt, seconds);
      const isOver = seconds - turnedAwayAt >= TURNED_AWAY_SECONDS_MAX;
      return { begunAt, hopeless: isOver ? turnedAwayText(turnedAway) : '' };
    }
    const objects = objectsIn(now);
    // A list that breaks off and begins again brings nothing more until it is further than before.
    if (objects > listed.objects) listed = { objects, seconds };
    const refused = neededOf(now.refused);
    refusedAt = refused.length === 0 ? Infinity : Math.min(refusedAt, seconds);
    if (seconds - refusedAt >= REFUSED_SECONDS_MAX) return { begunAt, hopeless: refusedText(refused) };
    if (waitsFor === '' && refused.length === 0) begunAt = seconds;
    const isIdle = waitsFor !== '' && seconds - listed.seconds >= IDLE_SECONDS_MAX;
    return { begunAt, hopeless: isIdle ? idleText(waitsFor) : '' };
  };
}

function refusedText(refused: readonly string[]): string {
  return `the server refuses ${refused.join(' and ')}: the rights list and watch are needed, see docs/recording.md`;
}

function turnedAwayText(resources: readonly string[]): string {
  const since = `for ${TURNED_AWAY_SECONDS_MAX} s (401 or 403)`;
  return `the server has refused ${resources.join(' and ')} ${since}: a token has to last as long as the recording`;
}

function idleText(waitsFor: string): string {
  return `nothing more of ${waitsFor} could be listed for ${IDLE_SECONDS_MAX} s; the log above has the reason`;
}

export function objectsIn({ objects }: Pick<RecorderStatus, 'objects'>): number {
  return Object.values(objects).reduce((sum, count) => sum + count, 0);
}

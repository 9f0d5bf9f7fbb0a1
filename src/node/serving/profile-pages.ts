/** Sampling profiles of the running process, in V8's formats, which Chrome's developer tools and VS Code open. */
import { text, type Answer, type Asked, type FindPage, type Page } from './page.ts';

export interface Profiler {
  /** Samples until `ended`, and gives the profile as JSON. */
  readonly sample: (kind: ProfileKind, ended: Promise<void>) => Promise<string>;
}

export type ProfileKind = 'cpu' | 'heap';

const SECONDS_MAX = 60;
/** As in Go. */
const SECONDS_DEFAULT = 30;
/** For the answer itself. */
const SPARE_MS = 10_000;

const KINDS: Readonly<Record<string, ProfileKind>> = { '/debug/pprof/profile': 'cpu', '/debug/pprof/heap': 'heap' };
const SUFFIX: Readonly<Record<ProfileKind, string>> = { cpu: 'cpuprofile', heap: 'heapprofile' };

export const PROFILE_PATHS: readonly string[] = Object.keys(KINDS);

/** /debug/pprof/profile and /debug/pprof/heap, `?seconds=` long: one at a time, and no longer than its client stays. */
export function profilePages(profiler: Profiler): FindPage {
  let isRunning = false;
  async function profile(kind: ProfileKind, asked: Asked): Promise<Answer> {
    if (asked.method === 'HEAD') {
      return { ...text(405, 'a profile is taken only for GET\n'), headers: { Allow: 'GET' } };
    }
    const said = asked.query.get('seconds') ?? String(SECONDS_DEFAULT);
    const seconds = /^\d+(\.\d+)?$/.test(said) ? Number(said) : 0;
    if (!(seconds > 0 && seconds <= SECONDS_MAX)) {
      return text(400, `seconds=${JSON.stringify(said)}: allowed are more than 0 and at most ${SECONDS_MAX}\n`);
    }
    if (isRunning) return text(429, 'a profile is being taken: one at a time\n');
    isRunning = true;
    try {
      asked.extend(seconds * 1000 + SPARE_MS);
      const body = await profiler.sample(kind, over(seconds * 1000, asked.left));
      const headers = { 'Content-Disposition': `attachment; filename="endpointd.${SUFFIX[kind]}"` };
      return { status: 200, contentType: 'application/json', body, headers };
    } finally {
      isRunning = false;
    }
  }
  return (path): Page | null => {
    const kind = KINDS[path];
    return kind === undefined ? null : (asked) => profile(kind, asked);
  };
}

function over(milliseconds: number, left: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds).unref();
    left.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Samples the main thread with the inspector inside the process. It opens no port and stops nothing. */
export function createProfiler(): Profiler {
  return {
    async sample(kind, ended) {
      const { Session } = await import('node:inspector/promises');
      const session = new Session();
      session.connect();
      try {
        if (kind === 'cpu') {
          await session.post('Profiler.enable');
          await session.post('Profiler.start');
          await ended;
          return JSON.stringify((await session.post('Profiler.stop')).profile);
        }
        await session.post('HeapProfiler.enable');
        await session.post('HeapProfiler.startSampling');
        await ended;
        return JSON.stringify((await session.post('HeapProfiler.stopSampling')).profile);
      } finally {
        session.disconnect();
      }
    },
  };
}

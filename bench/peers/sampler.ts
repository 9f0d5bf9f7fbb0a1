/** The use of CPU and memory by several processes over time, sampled some times a second. */
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { usageOf } from '../support/process-usage.ts';
import { LOAD_PROCESS } from './window.ts';

export interface Timeline {
  /** Milliseconds since the start. */
  readonly ms: number[];
  /** Busy cores since the sample before, by process. */
  readonly cores: Record<string, number[]>;
  /** Bytes of all processes of the controller. */
  readonly residentBytes: number[];
  readonly steps: { readonly ms: number; readonly name: string }[];
}

export interface Sampler {
  readonly timeline: Timeline;
  /** When the sampling began, by the clock of the performance API. */
  readonly fromMs: number;
  readonly step: (name: string) => void;
  /** The processes to sample from now on: the server's and the controller's. */
  readonly watch: (server: Readonly<Record<string, number>>, controller: Readonly<Record<string, number>>) => void;
  /** The most bytes of the controller's processes, and the step at that time. */
  readonly peak: () => { readonly bytes: number; readonly step: string };
  readonly stop: () => void;
}

const PERIOD_MS = 100;

/** @param loaders further processes of the load */
export function startSampler(loaders: readonly number[]): Sampler {
  const fromMs = performance.now();
  const timeline: Timeline = { ms: [], cores: {}, residentBytes: [], steps: [] };
  let pids: Readonly<Record<string, number>> = {};
  let controllers: readonly number[] = [];
  let lastMs = fromMs;
  const last = new Map<string, number>();
  let peak = { bytes: 0, step: '' };

  const sample = (): void => {
    const now = performance.now();
    const seconds = (now - lastMs) / 1000;
    lastMs = now;
    let resident = 0;
    const busy = new Map<string, number>();
    const note = (name: string, key: string, cpuSeconds: number): void => {
      const before = last.get(key) ?? cpuSeconds;
      last.set(key, cpuSeconds);
      busy.set(name, (busy.get(name) ?? 0) + (cpuSeconds - before) / seconds);
    };
    const all = [...Object.entries(pids), ...loaders.map((pid) => [LOAD_PROCESS, pid] as const)];
    for (const [name, pid] of all) {
      try {
        const usage = usageOf(pid);
        note(name, `${name} ${pid}`, usage.cpuSeconds);
        if (controllers.includes(pid)) resident += usage.residentBytes;
      } catch {
        // The process has ended, so it uses nothing.
      }
    }
    const { user, system } = process.cpuUsage();
    note(LOAD_PROCESS, LOAD_PROCESS, (user + system) / 1e6);
    for (const name of new Set([...busy.keys(), ...Object.keys(timeline.cores)])) {
      const series = (timeline.cores[name] ??= timeline.ms.map(() => 0));
      series.push(Math.max(0, busy.get(name) ?? 0));
    }
    timeline.ms.push(now - fromMs);
    timeline.residentBytes.push(resident);
    if (resident > peak.bytes) peak = { bytes: resident, step: timeline.steps.at(-1)?.name ?? '' };
  };
  const timer = setInterval(sample, PERIOD_MS);
  return {
    timeline,
    fromMs,
    step: (name) => void timeline.steps.push({ ms: performance.now() - fromMs, name }),
    watch: (server, controller) => {
      pids = { ...server, ...controller };
      controllers = Object.values(controller);
    },
    peak: () => peak,
    stop: () => clearInterval(timer),
  };
}

/** At most a few hundred points. Each is the mean of the points that it replaces. */
export function thinned({ ms, cores, residentBytes, steps }: Timeline, pointsMax: number): Timeline {
  const group = Math.max(1, Math.ceil(ms.length / pointsMax));
  const mean = (values: readonly number[]): number[] => {
    const thin: number[] = [];
    for (let from = 0; from < values.length; from += group) {
      const part = values.slice(from, from + group);
      thin.push(Math.round((part.reduce((sum, value) => sum + value, 0) / part.length) * 1000) / 1000);
    }
    return thin;
  };
  return {
    ms: mean(ms),
    cores: Object.fromEntries(Object.entries(cores).map(([name, values]) => [name, mean(values)])),
    residentBytes: mean(residentBytes).map(Math.round),
    steps,
  };
}

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Sync, Unit } from '../../src/controller/caches/service-state.ts';
import { createControllerInstruments, type ControllerInstruments } from '../../src/controller/reports/instruments.ts';
import { createJournal, journalEntries, type Journal, noteSync } from '../../src/controller/reports/journal.ts';
import { STAGE_NAMES } from '../../src/controller/reports/stages.ts';
import { createMetricStore } from '../../src/metrics/store.ts';
import type { BenchCase, MicroBench, Size } from '../support/micro-bench.ts';

export const journalBench: MicroBench = { name: 'controller/journal', prepare };

const SIZE = 4096;
const NOW = { nowMs: 5000.25, wallMs: 1_800_000_000_000.5 };

function prepare(size: Size): readonly BenchCase[] {
  const changes = size === 'full' ? 10_000 : 50;
  const journal = createJournal(SIZE);
  const units = Array.from({ length: 100 }, (_, i) => unitOf(i));
  const instruments = createControllerInstruments(createMetricStore(), 'endpoints');
  const keptChanges = size === 'full' ? 1_000_000 : 1000;
  return [
    {
      name: `note a change in a journal of ${SIZE}`,
      operations: changes,
      run() {
        noteAll(journal, units, changes);
        return journalEntries(journal, 1).map(({ name, totalMs }) => `${name} ${totalMs}`);
      },
      note: keptNote(keptChanges, (count) => noteAll(journal, units, count)),
    },
    {
      name: `observe the ${STAGE_NAMES.length} stages of a change`,
      operations: changes,
      run: () => observeStages(instruments, changes),
      note: keptNote(keptChanges, (count) => observeStages(instruments, count)),
    },
  ];
}

function unitOf(i: number): Unit {
  const service = { namespace: 'ns', name: `svc-${i}` };
  return { controller: { name: 'endpoints' }, service, item: { coveredMs: 990 } } as Unit;
}

const SYNC = {
  shadow: null,
  failure: null,
  applied: 1,
  startedAtMs: 1000.5,
  changedAtMs: 990.5,
  postedAtMs: 1001.5,
  plannedAtMs: 1002.5,
  throttledMs: 3.5,
  answeredMs: 4.5,
  watchInSeconds: 1,
} as Sync;

function noteAll(journal: Journal, units: readonly Unit[], changes: number): void {
  for (let i = 0; i < changes; i++) noteSync(journal, units[i % units.length]!, SYNC, NOW);
}

/** Observes each stage by its name, in seconds, as the controllers do. Returns how many stages were observed. */
function observeStages(instruments: ControllerInstruments, changes: number): number {
  for (let i = 0; i < changes; i++) {
    for (const name of STAGE_NAMES) instruments.stage(name).observe((i % 100) / 1000);
  }
  return STAGE_NAMES.length * changes;
}

/** The bytes for each change that a full collection leaves, after everything that stays has been allocated. */
function keptNote(changes: number, note: (changes: number) => unknown): string {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  note(SIZE);
  collect();
  const before = process.memoryUsage().heapUsed;
  note(changes);
  collect();
  const bytes = Math.max(0, Math.round((process.memoryUsage().heapUsed - before) / changes));
  return `${bytes} bytes kept a change`;
}

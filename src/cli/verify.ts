import process from 'node:process';
import { createLoop, type Loop } from '../controller/loop.ts';
import type { LogEffect } from '../controller/effect.ts';
import { createMetricStore } from '../metrics/store.ts';
import { createClock } from '../node/clock.ts';
import { endNow } from '../node/end-process.ts';
import { createLog } from '../node/log.ts';
import { writeReport } from '../node/output.ts';
import { createRandom } from '../node/random.ts';
import { renderPage } from '../page/page.ts';
import type { Clock } from '../ports/clock.ts';
import { createListReader } from '../lists/list-reader.ts';
import { progressText } from '../verify/progress.ts';
import { reportPage } from '../verify/report-page.ts';
import { headline, reportJson, reportText } from '../verify/report-text.ts';
import { reportOf, type Report } from '../verify/report.ts';
import { advance, createVerification, takePlan, type Verification } from '../verify/verification.ts';
import { parseVerifyFlags, type VerifyOptions } from './flags/flags.ts';
import { createProgress, type Progress } from './progress.ts';
import { connect } from './api-connection.ts';
import { shardsFactory } from './shards.ts';
import { starting } from './usage.ts';

const LOOK_EVERY_MS = 200;
const STATUS = { same: 0, different: 1, unknown: 2 } as const;

/** `endpointd verify`: finds what a controller with these flags would write into a cluster. Returns the exit status. */
export async function verify(args: readonly string[]): Promise<number> {
  const options = parseVerifyFlags(args, (text) => process.stdout.write(text));
  // The reader of the progress may go away. The report is still written.
  process.stderr.on('error', () => undefined);
  // Node's own status for an uncaught error is the status of a difference.
  process.on('uncaughtException', (error) => {
    process.stderr.write(`${error.stack}\n`, () => endNow(STATUS.unknown));
  });
  const report = await look(options);
  await starting('write the report', writeReport(process.stdout, outputOf(report, options.output)));
  return STATUS[report.verdict];
}

function outputOf(report: Report, format: VerifyOptions['output']): string | Iterable<string> {
  if (format === 'json') return reportJson(report);
  return format === 'html' ? renderPage(reportPage(report)) : reportText(report);
}

async function look(options: VerifyOptions): Promise<Report> {
  const log = createLog({ verbosity: options.v, format: options.loggingFormat, destination: 2 });
  const server = await connect(options, log.write);
  const createShards = await shardsFactory(options);
  const clock = createClock();
  const startedMs = clock.nowMs();
  const startedAt = new Date(clock.wallMs()).toISOString();
  const progress = createProgress(process.stderr, () => clock.nowMs());
  const closers: (() => void | Promise<void>)[] = [server.close];
  const loop: Loop = createLoop({
    options: options.controller,
    // A clock has one wake-up, so the loop and the looks have one each.
    clock: createClock(),
    random: createRandom(),
    transport: server.transport,
    shards(deliver) {
      const shards = createShards(deliver, createMetricStore());
      closers.push(() => shards.close());
      return shards;
    },
    host: new URL(server.origin).host,
    log: (line: LogEffect) => {
      if (options.v > 0) log.write(line);
    },
    metrics: createMetricStore(),
    onStopped: () => undefined,
    onShadowPlan: (plan) => takePlan(verification, plan),
  });
  const { kubeApiQps, kubeApiBurst } = options.controller;
  const controllers = loop.state.controllers.length;
  const reader = createListReader(server.transport, clock, kubeApiQps * controllers, kubeApiBurst * controllers);
  const { watchMs, timeoutMs } = options;
  const verification = createVerification({
    state: loop.state,
    reader,
    nowMs: () => clock.nowMs(),
    watchMs,
    timeoutMs,
  });
  loop.start();
  await untilOver(verification, clock, progress);
  const report = reportOf(verification, { server: server.origin, startedAt, startedMs });
  progress.done(headline(report));
  loop.stop();
  for (const close of closers) await close();
  await log.flush(1000);
  return report;
}

function untilOver(verification: Verification, clock: Clock, progress: Progress): Promise<void> {
  return new Promise((resolve) => {
    const again = (): void => {
      verification.reader.wake();
      if (advance(verification)) {
        resolve();
        return;
      }
      progress.show(progressText(verification));
      clock.wakeAt(clock.nowMs() + LOOK_EVERY_MS, again);
    };
    again();
  });
}

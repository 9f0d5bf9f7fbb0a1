/**
 * docs/tuning.md as an operator follows it: each of its commands, as it stands there, from a running
 * kube-controller-manager to a changed flag. Where the prediction of today's flags was too far off on this machine, tune
 * has to refuse, with a reason that the recording bears out. Then it is recorded again, as the answer says.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPrng, nextInt } from '../../src/lib/prng.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import type { RecordingFigures } from '../../src/recording/figures.ts';
import { type Cluster, type ControllerManager, startControllerManager } from '../../src/testbed/kube-cluster.ts';
import { CHANGES_MIN, ERROR_MAX, type Answer } from '../../src/tune/answer.ts';
import { flagLines } from '../../src/tune/flag-lines.ts';
import { clientOf } from './client.ts';
import { startCluster } from './cluster.ts';
import { commandPage, type CommandPage } from './page-commands.ts';
import { createPod, createService, createWorld, setReady, until, type World } from './world.ts';
import { BIN } from '../support/installed.ts';

const CONTROLLERS = ['endpoints-controller', 'endpointslice-controller'];
const SERVICES = 10;
const PODS = 5;
const FLIPS_PER_SECOND = 25;
const SECONDS = 48;
/** The changes are over by then, also on a busy machine. */
const RECORDED_SECONDS = 60;
/** As large clusters set it: no write waits for a token at this load. */
const QPS = 100;
/**
 * So most of a latency is a wait for the batch, and a machine that is busy changes no figure by as much as tune refuses.
 * Without it a latency is a few milliseconds of the machine's.
 */
const TODAYS_FLAGS = ['endpoint', 'endpointslice'].map((of) => `--${of}-updates-batch-period=500ms`);
const RECORDINGS_MAX = 6;
/** The largest error of the predicted ratio of writes. */
const RATIO_ERROR_MAX = 0.3;
/** The address of kube-controller-manager's port on the page. */
const ADDRESS = '127.0.0.1:10257';
const LOOK = '1. Look at the metrics: advise';
/** Only a kubelet forwards a port. No endpointd runs here, and kube-controller-manager is alone. */
const NOT_FOLLOWED = ['kubectl port-forward', 'kubectl -n kube-system get lease'];

function hasLost({ gaps, resources }: RecordingFigures['contents']): boolean {
  return gaps.length > 0 || Object.values(resources).some(({ rewatched }) => rewatched > 0);
}

/** Returns what it prints, whatever its status. */
function endpointd(...args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [BIN, ...args], { maxBuffer: 2 ** 26 }, (_error, stdout) => resolve(stdout));
  });
}

interface Refused {
  readonly answer: Answer;
  readonly figures: RecordingFigures;
  /** Both scrapes of the recording's end; '' = none was given. */
  readonly metrics: string;
}

describe('the way of an operator of a kube-controller-manager to a changed flag', () => {
  let cluster: Cluster;
  let client: ApiClient;
  let world: World;
  let manager: ControllerManager;
  let today: RecordingFigures;
  let advice: string;
  let home: string;
  let page: CommandPage;
  let answer: Answer;
  const refused: Refused[] = [];

  before(async () => {
    cluster = await startCluster({ rbac: true });
    client = clientOf(cluster);
    world = await createWorld(client, 'shop');
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' } };
    await client.send({ method: 'POST', path: '/api/v1/nodes', body: node });
    for (let s = 0; s < SERVICES; s++) {
      await createService(world, `app-${s}`);
      for (let p = 0; p < PODS; p++)
        await createPod(world, podName(s * PODS + p), { ip: `10.7.${s}.${p + 1}`, labels: { app: `app-${s}` } });
    }
    home = await mkdtemp(join(tmpdir(), 'endpointd-tuning-'));
    await mkdir(join(home, '.kube'));
    await symlink(cluster.kubeconfigPath, join(home, '.kube/config'));
    page = await commandPage('docs/tuning.md', {
      directory: home,
      kubectl: cluster.binaries.kubectl,
      env: { HOME: home, KUBECONFIG: '' },
    });
    const rates = { qps: QPS, burst: 2 * QPS };
    manager = await startControllerManager(cluster, CONTROLLERS, { ...rates, flags: TODAYS_FLAGS, isGuarded: true });
    await until(() => manager.idle());
    const forward = 'kubectl -n kube-system port-forward pod/kube-controller-manager-NODE 10257 &';
    await page.follow(LOOK, forward, { fill: { [forward]: '' } });
    const fill = {
      [ADDRESS]: address(),
      '--insecure-skip-tls-verify': '--insecure-skip-tls-verify --interval=20s -o json',
    };
    const advised = page.follow(LOOK, 'npx endpointd advise', { fill });
    await recordAndTune();
    advice = await advised;
    while (answer.recommendation?.best == null && refused.length < RECORDINGS_MAX - 1) {
      refused.push({ answer, figures: today, metrics: await scraped() });
      await recordAndTune();
    }
  });

  after(async () => {
    await manager?.stop();
    await client?.close();
    await cluster?.stop();
    if (home !== undefined) await rm(home, { recursive: true, force: true });
  });

  const address = (): string => new URL(manager.metricsUrl).host;

  async function recordAndTune(): Promise<void> {
    today = await record();
    answer = await tuned();
  }

  function podName(i: number): string {
    return `pod-${i}`;
  }

  /** Pods that turn unready and back, the same ones each time. */
  async function churn(): Promise<void> {
    const prng = createPrng(7);
    const ready = Array.from({ length: SERVICES * PODS }, () => true);
    const fromMs = performance.now();
    for (let i = 0; i < SECONDS * FLIPS_PER_SECOND; i++) {
      await sleep(Math.max(0, fromMs + (i * 1000) / FLIPS_PER_SECOND - performance.now()));
      const pod = nextInt(prng, ready.length);
      ready[pod] = !ready[pod];
      await setReady(world, podName(pod), ready[pod]);
    }
    for (const [pod, isReady] of ready.entries()) if (!isReady) await setReady(world, podName(pod), true);
  }

  /** Records the same changes each time. */
  async function record(): Promise<RecordingFigures> {
    const recording = join(home, 'cluster.rec');
    await rm(recording, { force: true });
    const fill = {
      [ADDRESS]: address(),
      'https://NODE:6443': cluster.url,
      '--for=30m': `--for=${RECORDED_SECONDS}s`,
      'record --info': 'record -o json --info',
    };
    let said = '';
    const onStderr = (text: string): void => void (said += text);
    const recorded = page.follow('2. Record and measure', 'curl', { fill, onStderr });
    await Promise.race([until(() => Promise.resolve(said.includes('recording for'))), recorded]);
    const [figures] = await Promise.all([recorded, churn()]);
    return JSON.parse(figures) as RecordingFigures;
  }

  async function tuned(): Promise<Answer> {
    const fill = {
      [ADDRESS]: address(),
      // One API server tells both.
      '--nodes=3000 --endpoints-watchers=5 ': '',
      "'p99(add)<=1s, min bytes'": "'p99(add)<=3s, min writes' -o json",
    };
    const said = await page.follow('3. Predict', 'npx endpointd tune', { fill, mayFail: true });
    return JSON.parse(said) as Answer;
  }

  it('advise has a verdict on both controllers from metrics over HTTPS with a token', () => {
    const { advice: verdicts, syncsFrom } = JSON.parse(advice) as {
      advice: { queue: string; because: string }[];
      syncsFrom: Readonly<Record<string, string>>;
    };
    assert.deepEqual([syncsFrom['endpoint'], syncsFrom['endpoint_slice']], ['/configz', '/configz']);
    assert.deepEqual(
      verdicts.slice(0, 2).map(({ queue }) => queue),
      ['endpoint', 'endpoint_slice'],
    );
    for (const { because } of verdicts.slice(0, 2)) assert.match(because, /\d/);
  });

  it('the recording tells how late changes were', () => {
    for (const output of [today.controller.endpoints!, today.controller.endpointslices!]) {
      assert.ok(output.addedMs.count > 100 && output.writes > 100, JSON.stringify(output));
      assert.ok(output.addedMs.p50! > 0 && output.addedMs.p99! >= output.addedMs.p50!);
    }
  });

  it('the recording tells who has written, and is not tuned as that of endpointd', async () => {
    const only = ['kube-controller-manager'];
    assert.deepEqual(today.contents.writers, { endpoints: only, endpointslices: only });
    const recording = join(home, 'cluster.rec');
    const said = await endpointd('tune', `--from=${recording}`, '--controller=endpointd', '-o', 'json');
    const { refusals, recommendation } = JSON.parse(said) as Answer;
    assert.equal(recommendation, null);
    const why = 'kube-controller-manager has written what was recorded, and not endpointd: name it with --controller';
    assert.ok(refusals.includes(why), refusals.join());
  });

  it('tune says where each number comes from: configz, metrics, or neither', () => {
    const from = (name: string): string => answer.numbers.find((number) => number.name === name)?.from ?? 'nowhere';
    assert.match(from('--kube-api-qps'), /\/configz$/);
    assert.equal(answer.today.qps, QPS);
    assert.match(from('cores'), /^go_sched_gomaxprocs_threads in /);
    // Two watch: the controller and the recorder. More may, such as the server itself.
    assert.match(from('watchers of slices'), /^apiserver_longrunning_requests in /);
    assert.ok(answer.nodes >= 2, String(answer.nodes));
    assert.match(
      from('API latency, median of an object without endpoints') + answer.notes.join(),
      /writes in \S+|neither is taken|are not taken|tells no median/,
    );
  });

  it('tune says rightly why it recommends nothing', async (t) => {
    const provoked = [await tunedOfOtherFlags(), await tunedOfHalf()];
    for (const { answer: one } of provoked) {
      assert.ok(one.refusals.length > 0);
      assert.equal(one.recommendation, null);
    }
    for (const one of [...provoked, ...refused]) {
      t.diagnostic(`refused: ${one.answer.refusals.join('; ') || 'nothing meets the objective'}`);
      t.diagnostic(JSON.stringify(one.answer.backTest?.comparisons));
      expectRightReasons(one);
    }
  });

  it('tune finds flags, and the share of the writes that they leave', async (t) => {
    const best = answer.recommendation?.best ?? null;
    assert.ok(best !== null, `nothing is recommended, ${RECORDINGS_MAX} times: ${answer.refusals.join('; ')}`);
    const flags = flagLines(best.settings, answer.today);
    t.diagnostic(`recommended: ${flags.join(' ')}`);
    const predicted = { today: writesOf(answer.recommendation!.today), best: writesOf(best) };
    // Each Service has more than two changes a second, so any longer batch period within the limit saves writes.
    assert.ok(flags.length > 0, 'no flag is changed');
    assert.ok(predicted.best < predicted.today, JSON.stringify(predicted));
    await manager.stop();
    const { qps, burst } = best.settings;
    // Of a flag that is given twice the last one counts.
    const others = [...TODAYS_FLAGS, ...flags.filter((flag) => !flag.startsWith('--kube-api-'))];
    manager = await startControllerManager(cluster, CONTROLLERS, { qps, burst, flags: others, isGuarded: true });
    await until(() => manager.idle());
    const then = await record();
    t.diagnostic(
      `writes a second: ${rateOf(today)} today, ${rateOf(then)} then; predicted ${JSON.stringify(predicted)}`,
    );
    const [ratio, measured] = [predicted.best / predicted.today, rateOf(then) / rateOf(today)];
    assert.ok(Math.abs(ratio - measured) <= RATIO_ERROR_MAX * measured, `${ratio} was predicted, ${measured} measured`);
  });

  it('what the first step has made goes again, and the page has no other command', async () => {
    assert.match(await page.follow('2. Record and measure', 'kubectl get --raw'), /^# HELP /m);
    await page.follow('3. Predict', 'kubectl delete clusterrolebinding', { fill: { 'kill %1': 'true' } });
    assert.deepEqual(
      page.rest().filter(({ text }) => !NOT_FOLLOWED.some((start) => text.startsWith(start))),
      [],
    );
  });

  function writesOf({ writesPerSecond }: { readonly writesPerSecond: Readonly<Record<string, number>> }): number {
    return Object.values(writesPerSecond).reduce((sum, rate) => sum + rate, 0);
  }

  function rateOf({ controller }: RecordingFigures): number {
    return controller.endpoints!.writesPerSecond! + controller.endpointslices!.writesPerSecond!;
  }

  function latestMs({ controller }: RecordingFigures): number {
    const spreads = Object.values(controller).flatMap((figures) => [figures!.addedMs, figures!.removedMs]);
    return Math.max(...spreads.map(({ max }) => max ?? 0));
  }

  const fromFlags = (recording: string): string[] => [`--from=${recording}`, '--controller=kube-controller-manager'];

  /** A controller with one token a second writes other things at other times. */
  async function tunedOfOtherFlags(): Promise<Refused> {
    const flags = ['--kube-api-qps=1', '--kube-api-burst=1', ...TODAYS_FLAGS, '-o', 'json'];
    const said = await endpointd('tune', ...fromFlags(join(home, 'cluster.rec')), ...flags);
    const other = JSON.parse(said) as Answer;
    assert.match(other.refusals.join(), /the prediction for today's flags of kube-controller-manager /);
    return { answer: other, figures: today, metrics: '' };
  }

  /** A recording that breaks off has too few changes. */
  async function tunedOfHalf(): Promise<Refused> {
    const half = join(home, 'half.rec');
    const bytes = await readFile(join(home, 'cluster.rec'));
    await writeFile(half, bytes.subarray(0, bytes.length >> 1));
    const figures = JSON.parse(await endpointd('record', '-o', 'json', '--info', half)) as RecordingFigures;
    const cut = JSON.parse(
      await endpointd('tune', ...fromFlags(half), `--kube-api-qps=${QPS}`, ...TODAYS_FLAGS, '-o', 'json'),
    ) as Answer;
    assert.match(cut.refusals.join(), /the recording has \d+ changes, and fewer than 1000 say too little/);
    return { answer: cut, figures, metrics: '' };
  }

  async function scraped(): Promise<string> {
    const files = ['kcm-after.txt', 'api-after.txt'].map((name) => readFile(join(home, name), 'utf8'));
    return (await Promise.all(files)).join('');
  }

  /** Each refusal is of something that the recording, its metrics or the answer have. */
  function expectRightReasons({
    answer: { refusals, from, backTest, recommendation },
    figures,
    metrics,
  }: Refused): void {
    if (refusals.length === 0) {
      assert.ok(recommendation!.nearest.checks.some(({ bound, most }) => most !== null && bound > most));
      return;
    }
    const worst = backTest?.worst ?? null;
    for (const why of refusals) {
      const [, off] = /is off by (\d+) %/.exec(why) ?? [];
      const [, found, asked] = /has (\d+) changes for .*, and fewer than (\d+) say too little/.exec(why) ?? [];
      if (off !== undefined) {
        assert.ok(typeof worst === 'number' && worst > ERROR_MAX && Math.round(100 * worst) === Number(off), why);
      } else if (why.includes('has nothing of a figure')) assert.equal(worst, 'no-prediction', why);
      else if (why.includes('can be compared')) assert.equal(worst, null, why);
      else if (found !== undefined) {
        const shown = figures.controller.endpointslices!.addedMs.count;
        assert.ok(Number(found) < Number(asked) && Number(found) <= shown, `${why}, and ${shown} were shown`);
      } else if (why.includes('say too little')) assert.ok(from.changes < CHANGES_MIN, why);
      else if (/listed again|lost for a while/.test(why)) assert.ok(hasLost(figures.contents), why);
      else if (why.includes('wrote nothing for')) assert.ok(latestMs(figures) >= 10_000, why);
      else {
        const [, code] = / writes .*the API server refused \d+ \((\d+)\)/.exec(why) ?? [];
        assert.ok(code !== undefined && metrics.includes(`code="${code}"`), why);
      }
    }
  }
});

/** What is told of a recording of 1,100 changes and a roll-out, in a cluster whose every text carries a canary. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { textTable } from '../../src/cli/text-table.ts';
import { parseTuneFlags } from '../../src/cli/tune/tune-flags.ts';
import { tuneInputOf } from '../../src/cli/tune/tune-input.ts';
import { createPrng, nextFloat, nextInt, nextUint32 } from '../../src/lib/prng.ts';
import { printableJson } from '../../src/lib/printable.ts';
import { renderPage } from '../../src/page/page.ts';
import { answerPage } from '../../src/tune/report-page.ts';
import { answerText } from '../../src/tune/report-text.ts';
import { tune } from '../../src/tune/tune.ts';
import { CANARY, CANARY_NAMESPACE } from '../recording/canary.ts';
import { scriptedCluster } from '../recording/scripted-cluster.ts';
import { BIN } from '../support/installed.ts';

const SERVICES = 5;
const PODS = 20;
const CHANGES = 1100;
const EVERY_MS = 100;

interface Pod {
  readonly number: number;
  readonly template: string;
  isReady: boolean;
}

const serviceOf = ({ number }: Pod): number => number % SERVICES;
const nameOf = ({ number }: Pod): string => `canary-${number}`;
const ipOf = ({ number }: Pod): string => `203.0.113.${number}`;

function metadata(name: string): object {
  return { namespace: CANARY_NAMESPACE, name, uid: `${name}-uid`, resourceVersion: '50' };
}

function apiPod(pod: Pod): object {
  const labels = { 'canary.io/app': `canary-${serviceOf(pod)}`, 'pod-template-hash': pod.template };
  const conditions = [{ type: 'Ready', status: pod.isReady ? 'True' : 'False' }];
  return {
    metadata: { ...metadata(nameOf(pod)), labels },
    spec: { nodeName: 'canary-node', containers: [] },
    status: { phase: 'Running', podIP: ipOf(pod), podIPs: [{ ip: ipOf(pod) }], conditions },
  };
}

function apiService(service: number): object {
  const selector = { 'canary.io/app': `canary-${service}` };
  return {
    metadata: metadata(`canary-web-${service}`),
    spec: { type: 'ClusterIP', clusterIP: '203.0.113.200', ipFamilies: ['IPv4'], selector, ports: [{ port: 80 }] },
  };
}

/** Both outputs of a Service as a controller writes them in that second. */
function apiOutputs(
  service: number,
  all: readonly Pod[],
  second: number,
): { endpoints: object; endpointslices: object } {
  const time = new Date(Date.UTC(2023, 10, 14, 22, 0, second)).toISOString().replace('.000', '');
  const name = `canary-web-${service}`;
  const meta = { ...metadata(name), managedFields: [{ manager: 'kube-controller-manager', time }] };
  const labels = {
    'kubernetes.io/service-name': name,
    'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
  };
  const pods = all.filter((pod) => serviceOf(pod) === service);
  const placeOf = (pod: Pod): object => ({
    nodeName: 'canary-node',
    targetRef: { kind: 'Pod', name: nameOf(pod), uid: `${nameOf(pod)}-uid` },
  });
  const addresses = (isReady: boolean): object[] =>
    pods.flatMap((pod) => (pod.isReady === isReady ? [Object.assign({ ip: ipOf(pod) }, placeOf(pod))] : []));
  const endpoints = pods.map((pod) => {
    const conditions = { ready: pod.isReady, serving: pod.isReady, terminating: false };
    return Object.assign({ addresses: [ipOf(pod)], conditions }, placeOf(pod));
  });
  return {
    endpoints: {
      metadata: meta,
      subsets: [{ addresses: addresses(true), notReadyAddresses: addresses(false), ports: [{ port: 80 }] }],
    },
    endpointslices: { metadata: { ...meta, labels }, addressType: 'IPv4', endpoints, ports: [{ port: 80 }] },
  };
}

/** A pod becomes ready or unready all the time, and at the end the pods of one Service get another template. */
function busyRecording(): Buffer {
  const prng = createPrng(5);
  const cluster = scriptedCluster('pseudonyms', () => nextUint32(prng));
  let pods = Array.from({ length: SERVICES * PODS }, (_, number): Pod => ({
    number,
    template: 'canary-1',
    isReady: true,
  }));
  cluster.objects.pods.push(...pods.map(apiPod));
  for (let service = 0; service < SERVICES; service++) {
    const outputs = apiOutputs(service, pods, 0);
    cluster.objects.services.push(apiService(service));
    cluster.objects.endpoints.push(outputs.endpoints);
    cluster.objects.endpointslices.push(outputs.endpointslices);
  }
  cluster.recorder.start();
  cluster.pass(10_000);
  const happenings: { readonly atMs: number; readonly happen: () => void }[] = [];
  for (let i = 0; i < CHANGES; i++) {
    const atMs = (i + nextFloat(prng)) * EVERY_MS;
    // The Services take turns, so no write is about to be told when the next one is due.
    const pod = pods[(i % SERVICES) + SERVICES * nextInt(prng, PODS)]!;
    const happen = (): void => {
      pod.isReady = !pod.isReady;
      cluster.event('pods', 'MODIFIED', apiPod(pod));
    };
    happenings.push({ atMs, happen });
    for (const output of ['endpoints', 'endpointslices'] as const) {
      // So short that no error of a prediction of it is held against `tune`.
      const shownAtMs = atMs + 3 + 3 * nextFloat(prng);
      const show = (): void =>
        cluster.event(output, 'MODIFIED', apiOutputs(serviceOf(pod), pods, 60 + Math.floor(shownAtMs / 1000))[output]);
      happenings.push({ atMs: shownAtMs, happen: show });
    }
  }
  let nowMs = 0;
  for (const { atMs, happen } of happenings.toSorted((a, b) => a.atMs - b.atMs)) {
    cluster.pass(atMs - nowMs);
    nowMs = atMs;
    happen();
  }
  const [old, kept] = [pods.filter((pod) => serviceOf(pod) === 0), pods.filter((pod) => serviceOf(pod) !== 0)];
  const rolled = old.map(({ number }): Pod => ({
    number: number + SERVICES * PODS,
    template: 'canary-2',
    isReady: true,
  }));
  for (const pod of rolled) cluster.event('pods', 'ADDED', apiPod(pod));
  for (const pod of old) cluster.event('pods', 'DELETED', apiPod(pod));
  pods = [...kept, ...rolled];
  const { endpoints, endpointslices } = apiOutputs(0, pods, 1000);
  cluster.event('endpoints', 'MODIFIED', endpoints);
  cluster.event('endpointslices', 'MODIFIED', endpointslices);
  cluster.recorder.stop();
  return cluster.file();
}

describe('a recording of a busy cluster under pseudonyms', () => {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-busy-'));
  const path = join(directory, 'busy.rec');
  before(() => writeFileSync(path, busyRecording()));
  after(() => rmSync(directory, { recursive: true }));

  it('--info names the Service of a roll-out by a pseudonym', async () => {
    const run = promisify(execFile);
    const [text, json] = await Promise.all(
      ['text', 'json'].map((format) => run(execPath, [BIN, 'record', '--info', path, '-o', format])),
    );
    assert.match(text!.stdout, /\nThere were 1 roll-out:\nSERVICE .*\nn1\/s\d+ +20 /);
    for (const { stdout, stderr } of [text!, json!]) assert.doesNotMatch(stdout + stderr, CANARY);
  });

  it('tune recommends flags, and no text of the cluster is in the answer', async () => {
    const flags = [`--from=${path}`, '--controller=kube-controller-manager'];
    const answer = tune(await tuneInputOf(parseTuneFlags(flags, () => undefined)), () => undefined);
    const text = answerText(answer, textTable);
    assert.match(text, /\nRecommended:\n {2}--\S+-batch-period=/);
    for (const shown of [text, printableJson(answer), renderPage(answerPage(answer))])
      assert.doesNotMatch(shown, CANARY);
  });
});

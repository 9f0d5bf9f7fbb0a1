/** `endpointd tune` as a process. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process, { execPath } from 'node:process';
import { after, describe, it } from 'node:test';
import type { Answer } from '../../src/tune/answer.ts';

const BIN = join(import.meta.dirname, '..', '..', 'bin', 'endpointd.js');

interface Outcome {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

function tune(...args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    const env = { ...process.env, KUBEBUILDER_ASSETS: '' };
    const child = execFile(execPath, [BIN, 'tune', ...args], { env }, (error, stdout, stderr) =>
      resolve({ status: error === null ? 0 : (child.exitCode ?? -1), stdout, stderr }),
    );
  });
}

describe('endpointd tune', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tune-'));
  after(() => rmSync(directory, { recursive: true }));

  it('tune refuses what is neither a profile nor a recording, with status 1', async () => {
    const path = join(directory, 'not-a-recording');
    writeFileSync(path, 'hello');
    const { status, stderr, stdout } = await tune(`--from=${path}`);
    assert.deepEqual([status, stdout], [1, '']);
    assert.match(stderr, /^endpointd tune: cannot read \S+not-a-recording: /);
  });

  it('tune names the unknown figure of an objective, with status 2', async () => {
    const { status, stderr } = await tune('--objective=p98<=1s, min bytes');
    assert.equal(status, 2);
    assert.match(stderr, /"p98" is no figure: is p90 meant\?/);
  });

  it('tune names the wrong field of a calibration', async () => {
    const path = join(directory, 'calibration.json');
    writeFileSync(path, '{"version":2,"cores":0}');
    const { status, stderr } = await tune('--from=huge', `--calibration=${path}`);
    assert.equal(status, 1);
    assert.match(stderr, /calibration\.json: cores: 0 is no number above 0\n$/);
  });

  it('tune refuses a configz or scrape of other programs, with one line', async () => {
    const file = (name: string, text: string): string => {
      const path = join(directory, name);
      writeFileSync(path, text);
      return path;
    };
    const other = file('other.txt', 'up 1\n');
    const cases = [
      [[`--configz=${file('kubelet.json', '{}')}`], 1, /kubelet\.json: this is the configuration of another program: /],
      [['--configz=http://127.0.0.1:1/configz'], 1, /--configz: no answer from http:\/\/127\.0\.0\.1:1/],
      [[`--controller-metrics=${other},${other}`], 1, /other\.txt: these are the metrics of another program: /],
      [[`--apiserver-metrics=${other},${other}`], 1, /other\.txt: these are the metrics of another program: /],
      [[`--controller-metrics=${other}`], 2, /Allowed: two files, the earlier one first/],
    ] as const;
    for (const [flags, expected, message] of cases) {
      const { status, stderr, stdout } = await tune(...flags);
      assert.deepEqual([status, stdout, stderr.trimEnd().split('\n').length], [expected, '', 1], stderr);
      assert.match(stderr, message);
    }
  });

  it('tune says of each number where it comes from', async () => {
    const config = {
      Generic: { ClientConnection: { qps: 100, burst: 200 } },
      EndpointController: { ConcurrentEndpointSyncs: 10, EndpointUpdatesBatchPeriod: '0s' },
      EndpointSliceController: {
        ConcurrentServiceEndpointSyncs: 10,
        MaxEndpointsPerSlice: 100,
        EndpointUpdatesBatchPeriod: '0s',
      },
    };
    const path = join(directory, 'configz.json');
    writeFileSync(path, JSON.stringify({ 'kubecontrollermanager.config.k8s.io': config }));
    const flags = [
      '--from=rollout',
      '--controller=kube-controller-manager',
      `--configz=${path}`,
      '--kube-api-burst=77',
    ];
    const { stdout } = await tune(...flags, '-o', 'json');
    const { numbers, today } = JSON.parse(stdout) as Answer;
    assert.deepEqual([today.qps, today.burst], [100, 77]);
    const from = (name: string): string | undefined => numbers.find((number) => number.name === name)?.from;
    assert.deepEqual(['--kube-api-qps', '--kube-api-burst', 'watchers of slices', 'API latency, median'].map(from), [
      path,
      'given',
      'not given: assumed',
      'usual: measured on two cores',
    ]);
  });

  it('tune says before the search why it cannot try settings for real', async () => {
    const { status, stderr } = await tune('--confirm', '--controller=kube-controller-manager', '--from=rollout');
    assert.equal(status, 1);
    assert.match(stderr, /cannot confirm: KUBEBUILDER_ASSETS names no directory with a kube-controller-manager/);
  });
});

/** The command lines that installers give kube-controller-manager start endpointd. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseRunFlags, type RunOptions } from '../../src/cli/flags/flags.ts';
import { UsageError } from '../../src/cli/usage.ts';
import { GARDENER_LINE, KOPS_LINE, KUBEADM_LINE } from '../support/manager-lines.ts';

/** Of the kind that large clusters set by hand: values behind a space, underscores, switches that stand alone. */
const BY_HAND = [
  '--profiling',
  '--cluster_cidr',
  '10.0.0.0/8',
  '--concurrent-service-endpoint-syncs=15',
  '--feature-gates=A=true,B=false',
  '--kube-api-qps',
  '500',
  '--horizontal-pod-autoscaler-sync-period=10s',
  '--v=2',
];

function parse(args: readonly string[]): RunOptions {
  return parseRunFlags(args, () => undefined);
}

function refusal(...args: string[]): string {
  try {
    parse(args);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  return '';
}

describe('a command line of kube-controller-manager', () => {
  it("kubeadm's command line starts all three controllers with kubeconfig and Lease", () => {
    const { controller, kubeconfig, election, serving, ignoredFlags } = parse(KUBEADM_LINE);
    assert.deepEqual([controller.endpoints, controller.slices, controller.mirror], [true, true, true]);
    assert.equal(kubeconfig, '/etc/kubernetes/controller-manager.conf');
    assert.equal(election?.name, 'endpointd');
    assert.deepEqual(
      [serving.bindAddress, serving.clientCaFile, serving.requestheaderClientCaFile],
      ['127.0.0.1', '/etc/kubernetes/pki/ca.crt', '/etc/kubernetes/pki/front-proxy-ca.crt'],
    );
    assert.equal(serving.authenticationKubeconfig, kubeconfig);
    assert.equal(ignoredFlags.length, KUBEADM_LINE.length - 8);
  });

  it("kops' command line starts all three controllers; flags without effect are named", () => {
    const { controller, kubeconfig, election, v, ignoredFlags } = parse(KOPS_LINE);
    assert.deepEqual([controller.endpoints, controller.slices, controller.mirror, v], [true, true, true, 2]);
    assert.equal(kubeconfig, '/var/lib/kube-controller-manager/kubeconfig');
    assert.equal(election?.name, 'endpointd');
    assert.ok(ignoredFlags.includes('--configure-cloud-routes') && !ignoredFlags.includes('--leader-elect'));
  });

  it("Gardener's command line starts all three controllers with its workers", () => {
    const { controller, kubeconfig, election, ignoredFlags } = parse(GARDENER_LINE);
    assert.deepEqual([controller.endpoints, controller.slices, controller.mirror], [true, true, true]);
    assert.deepEqual([controller.concurrentEndpointSyncs, controller.concurrentServiceEndpointSyncs], [15, 15]);
    assert.match(kubeconfig, /gardener\.cloud/);
    assert.equal(election?.name, 'endpointd');
    assert.ok(ignoredFlags.includes('--concurrent-gc-syncs'));
  });

  it('flags with a meaning here are kept, and all others are named once', () => {
    const { controller, v, ignoredFlags } = parse([...BY_HAND, '--cluster-cidr=10.0.0.0/8']);
    assert.deepEqual([controller.concurrentServiceEndpointSyncs, controller.kubeApiQps, v], [15, 500, 2]);
    assert.deepEqual(ignoredFlags, ['--cluster-cidr', '--feature-gates', '--horizontal-pod-autoscaler-sync-period']);
  });

  it('deprecated flags are taken, which --help of the real program does not list', () => {
    const { v, ignoredFlags } = parse(['--allow-untagged-cloud', '--node-sync-period', '10s', '--v=2']);
    assert.deepEqual([ignoredFlags, v], [['--allow-untagged-cloud', '--node-sync-period'], 2]);
  });

  it('flags that neither program has are refused, all at once', () => {
    assert.equal(
      refusal('--kube-api-qqs=5', '--profiling', '--xyzzy', '--concurrent-endpoints-syncs=3'),
      'unknown flags, here and in kube-controller-manager: --kube-api-qqs (nearest: --kube-api-qps), --xyzzy, --concurrent-endpoints-syncs (nearest: --concurrent-endpoint-syncs). Allowed: the flags that --help lists.',
    );
  });

  it('a command line under which no controller could run is refused', () => {
    assert.match(refusal('--controllers=deployment-controller'), /--controllers: no controller is enabled/);
    assert.match(refusal('--concurrent-endpoint-syncs=0'), /from 1 to 10000/);
    assert.match(refusal('--kube-api-burst=-1'), /from 1 to 1000000, 0 for client-go's default of 10\.$/);
    assert.match(refusal('--controllers=no-such-controller'), /"no-such-controller" is not a known controller/);
  });
});

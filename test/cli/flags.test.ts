import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAdviseFlags } from '../../src/cli/advise.ts';
import { parseRunFlags, type RunOptions } from '../../src/cli/flags/flags.ts';
import { parseTopFlags } from '../../src/cli/live/top.ts';
import { parseRecordFlags } from '../../src/cli/record/record-flags.ts';
import { parseRetireEndpointsFlags } from '../../src/cli/retire/retire-endpoints.ts';
import { parseServeFlags } from '../../src/cli/serve.ts';
import { HelpShown, UsageError } from '../../src/cli/usage.ts';

function parse(...args: string[]): RunOptions {
  return parseRunFlags(args, () => undefined);
}

test('a flag that means true alone takes no next word for its value, as in pflag', () => {
  const read = (...args: string[]): unknown[] => {
    const { plain, file } = parseRecordFlags(args, () => undefined);
    return [plain, file];
  };
  assert.deepEqual(read('--plain', 'cluster.rec'), [true, 'cluster.rec']);
  assert.deepEqual(read('--plain=false', 'cluster.rec'), [false, 'cluster.rec']);
  assert.deepEqual(read('cluster.rec', '--plain'), [true, 'cluster.rec']);
});

test('without flags, the defaults are those of kube-controller-manager', () => {
  const { flagTexts, ...rest } = parse();
  assert.equal(flagTexts['kube-api-qps'], '20');
  assert.deepEqual(rest, {
    controller: {
      endpoints: true,
      slices: true,
      mirror: true,
      concurrentEndpointSyncs: 5,
      endpointUpdatesBatchPeriodMs: 0,
      concurrentServiceEndpointSyncs: 5,
      endpointsliceUpdatesBatchPeriodMs: 0,
      maxEndpointsPerSlice: 100,
      compactSlices: false,
      mirroringConcurrentServiceEndpointSyncs: 5,
      mirroringEndpointsliceUpdatesBatchPeriodMs: 0,
      mirroringMaxEndpointsPerSubset: 1000,
      mirroringAllEndpoints: false,
      mirroringZones: false,
      cleanUpUnselected: false,
      optOutLabel: '',
      kubeletShutdownIsTermination: false,
      adaptiveBatchPeriodMaxMs: 0,
      kubeApiQps: 20,
      kubeApiBurst: 30,
      minResyncPeriodMs: 43_200_000,
      tolerateUnreadyEndpointsAnnotation: false,
      maxWritesInFlight: 64,
      maxBatchBytes: 16_777_216,
      shardDeadlineMs: Infinity,
      eventQueueSize: 1000,
      journalSize: 4096,
      watchList: true,
      confirmMassRemoval: true,
    },
    election: {
      namespace: 'kube-system',
      name: 'endpointd',
      leaseDurationMs: 15_000,
      renewDeadlineMs: 10_000,
      retryPeriodMs: 2000,
      standby: 'warm',
      takeOver: null,
    },
    serving: {
      securePort: 10_267,
      bindAddress: '',
      tlsCertFile: '',
      tlsPrivateKeyFile: '',
      tlsSniCertKey: [],
      certDir: '',
      tlsMinVersion: '',
      tlsCipherSuites: [],
      tlsCurvePreferences: [],
      clientCaFile: '',
      authenticationKubeconfig: '',
      authenticationSkipLookup: false,
      authenticationTolerateLookupFailure: false,
      authenticationTokenWebhookCacheTtlMs: 10_000,
      authorizationKubeconfig: '',
      authorizationAlwaysAllowPaths: ['/healthz', '/readyz', '/livez'],
      authorizationWebhookCacheAuthorizedTtlMs: 10_000,
      authorizationWebhookCacheUnauthorizedTtlMs: 10_000,
      requestheaderClientCaFile: '',
      requestheaderAllowedNames: [],
      requestheaderUsernameHeaders: ['x-remote-user'],
      requestheaderUidHeaders: [],
      requestheaderGroupHeaders: ['x-remote-group'],
      requestheaderExtraHeadersPrefix: ['x-remote-extra-'],
      disableHttp2Serving: false,
      http2MaxStreamsPerConnection: 0,
      profiling: true,
      metricsBindAddress: 'off',
    },
    controllers: ['*'],
    ignoredFlags: [],
    kubeconfig: '',
    master: '',
    shards: 0,
    shardHeapLimitMb: 512,
    trace: '',
    traceForMs: 30_000,
    v: 0,
    loggingFormat: 'text',
  });
});

function running({ controller }: RunOptions): string {
  return (['endpoints', 'slices', 'mirror'] as const).filter((name) => controller[name]).join(' ');
}

const good: [string[], (options: RunOptions) => unknown, unknown][] = [
  [['--kubeconfig=/etc/k'], (o) => o.kubeconfig, '/etc/k'],
  [['--kubeconfig', '/etc/k'], (o) => o.kubeconfig, '/etc/k'],
  [['--master=https://10.0.0.1:6443'], (o) => o.master, 'https://10.0.0.1:6443'],
  [['--master=127.0.0.1:8080'], (o) => o.master, '127.0.0.1:8080'],
  [['--concurrent-endpoint-syncs=50'], (o) => o.controller.concurrentEndpointSyncs, 50],
  [['--concurrent_endpoint_syncs=50'], (o) => o.controller.concurrentEndpointSyncs, 50],
  [['--endpoint-updates-batch-period=1m30s'], (o) => o.controller.endpointUpdatesBatchPeriodMs, 90_000],
  [['--endpoint-updates-batch-period=0'], (o) => o.controller.endpointUpdatesBatchPeriodMs, 0],
  [['--kube-api-qps=2.5'], (o) => o.controller.kubeApiQps, 2.5],
  [['--kube-api-qps=-1'], (o) => o.controller.kubeApiQps, -1],
  [['--kube-api-qps=1e3'], (o) => o.controller.kubeApiQps, 1000],
  [['--kube-api-burst=100'], (o) => o.controller.kubeApiBurst, 100],
  [['--min-resync-period=0'], (o) => o.controller.minResyncPeriodMs, 0],
  [['--min-resync-period=30m'], (o) => o.controller.minResyncPeriodMs, 1_800_000],
  [['-v=4'], (o) => o.v, 4],
  [['-v', '4'], (o) => o.v, 4],
  [['--v=4'], (o) => o.v, 4],
  [['--v', '4'], (o) => o.v, 4],
  [['--logging-format=json'], (o) => o.loggingFormat, 'json'],
  [['--watch-list=false'], (o) => o.controller.watchList, false],
  [['--watch-list=F'], (o) => o.controller.watchList, false],
  [['--watch-list'], (o) => o.controller.watchList, true],
  [['--tolerate-unready-endpoints-annotation'], (o) => o.controller.tolerateUnreadyEndpointsAnnotation, true],
  [['--tolerate-unready-endpoints-annotation=true'], (o) => o.controller.tolerateUnreadyEndpointsAnnotation, true],
  [['--shards=0'], (o) => o.shards, 0],
  [['--shard-heap-limit=64'], (o) => o.shardHeapLimitMb, 64],
  [['--shards=1', '--shard-deadline=2s'], (o) => o.controller.shardDeadlineMs, 2000],
  [['--max-batch-bytes=65536'], (o) => o.controller.maxBatchBytes, 65_536],
  [['--max-writes-in-flight=1'], (o) => o.controller.maxWritesInFlight, 1],
  [['--journal-size=0'], (o) => o.controller.journalSize, 0],
  [['--event-queue-size=10'], (o) => o.controller.eventQueueSize, 10],
  [['--secure-port=0'], (o) => o.serving.securePort, 0],
  [['--bind-address=::'], (o) => o.serving.bindAddress, ''],
  [['--bind-address=127.0.0.1'], (o) => o.serving.bindAddress, '127.0.0.1'],
  [
    ['--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_AES_128_GCM_SHA256'],
    (o) => o.serving.tlsCipherSuites,
    ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'TLS_AES_128_GCM_SHA256'],
  ],
  [
    ['--tls-curve-preferences=29,0x17', '--tls-curve-preferences=4588'],
    (o) => o.serving.tlsCurvePreferences,
    [29, 23, 4588],
  ],
  [['--tls-curve-preferences='], (o) => o.serving.tlsCurvePreferences, []],
  [['--tls-min-version=VersionTLS13'], (o) => o.serving.tlsMinVersion, 'VersionTLS13'],
  [['--authorization-always-allow-paths='], (o) => o.serving.authorizationAlwaysAllowPaths, []],
  [
    ['--authorization-always-allow-paths=/a,/b/*', '--authorization-always-allow-paths=/c'],
    (o) => o.serving.authorizationAlwaysAllowPaths,
    ['/a', '/b/*', '/c'],
  ],
  [['--profiling=false'], (o) => o.serving.profiling, false],
  [['--requestheader-allowed-names='], (o) => o.serving.requestheaderAllowedNames, []],
  [['--requestheader-allowed-names=a', '--v=3'], (o) => o.flagTexts['requestheader-allowed-names'], 'a'],
  [
    ['--controllers=endpoint', '--controllers=endpointslice'],
    (o) => o.flagTexts['controllers'],
    'endpoint,endpointslice',
  ],
  [['--metrics-bind-address=:9090'], (o) => o.serving.metricsBindAddress, { host: '', port: 9090 }],
  [['--metrics-bind-address=0.0.0.0:9090'], (o) => o.serving.metricsBindAddress, { host: '', port: 9090 }],
  [['--metrics-bind-address=[::]:9090'], (o) => o.serving.metricsBindAddress, { host: '', port: 9090 }],
  [['--metrics-bind-address=[::1]:0'], (o) => o.serving.metricsBindAddress, { host: '::1', port: 0 }],
  [['--metrics-bind-address=localhost:80'], (o) => o.serving.metricsBindAddress, { host: 'localhost', port: 80 }],
  [['--metrics-bind-address=0'], (o) => o.serving.metricsBindAddress, 'off'],
  [['--shards=1', '--shards=2'], (o) => o.shards, 2],
  [['--controllers=*'], running, 'endpoints slices mirror'],
  [['--controllers=endpoints-controller'], running, 'endpoints'],
  [['--controllers=endpoint'], running, 'endpoints'],
  [['--controllers=endpointslice-controller'], running, 'slices'],
  [['--controllers=endpointslice'], running, 'slices'],
  [['--controllers=endpointslice-mirroring-controller'], running, 'mirror'],
  [['--controllers=endpointslicemirroring'], running, 'mirror'],
  [['--controllers=endpoint,endpointslice'], running, 'endpoints slices'],
  [['--controllers=*,-endpointslice-controller'], running, 'endpoints mirror'],
  [['--controllers=-endpoint,*'], running, 'slices mirror'],
  [['--controllers=-endpointslice', '--controllers=endpoint'], running, 'endpoints'],
  [['--controllers=endpoint,-endpoint'], running, 'endpoints'],
  [['--concurrent-service-endpoint-syncs=50'], (o) => o.controller.concurrentServiceEndpointSyncs, 50],
  [['--endpointslice-updates-batch-period=500ms'], (o) => o.controller.endpointsliceUpdatesBatchPeriodMs, 500],
  [['--max-endpoints-per-slice=1000'], (o) => o.controller.maxEndpointsPerSlice, 1000],
  [['--mirroring-concurrent-service-endpoint-syncs=1'], (o) => o.controller.mirroringConcurrentServiceEndpointSyncs, 1],
  [
    ['--mirroring-endpointslice-updates-batch-period=1m'],
    (o) => o.controller.mirroringEndpointsliceUpdatesBatchPeriodMs,
    60_000,
  ],
  [['--mirroring-max-endpoints-per-subset=1'], (o) => o.controller.mirroringMaxEndpointsPerSubset, 1],
  [['--mirroring-all-endpoints'], (o) => o.controller.mirroringAllEndpoints, true],
  [['--mirroring-zones'], (o) => o.controller.mirroringZones, true],
  [['--clean-up-unselected'], (o) => o.controller.cleanUpUnselected, true],
  [['--opt-out-label=example.com/endpoints-by'], (o) => o.controller.optOutLabel, 'example.com/endpoints-by'],
  [['--opt-out-label=Unmanaged_1'], (o) => o.controller.optOutLabel, 'Unmanaged_1'],
  [['--adaptive-batch-period-max=1s'], (o) => o.controller.adaptiveBatchPeriodMaxMs, 1000],
  [['--kubelet-shutdown-is-termination'], (o) => o.controller.kubeletShutdownIsTermination, true],
  [['--compact-slices'], (o) => o.controller.compactSlices, true],
  [['--kube-api-qps=0'], (o) => o.controller.kubeApiQps, 5],
  [['--kube-api-qps=-0.5'], (o) => o.controller.kubeApiQps, -1],
  [['--kube-api-burst=0'], (o) => o.controller.kubeApiBurst, 10],
  [['--endpoint-updates-batch-period=-1s'], (o) => o.controller.endpointUpdatesBatchPeriodMs, 0],
  [['--min-resync-period=10ms'], (o) => o.controller.minResyncPeriodMs, 1000],
  [['--min-resync-period=-1h'], (o) => o.controller.minResyncPeriodMs, 0],
  [['--v=11'], (o) => o.v, 11],
  [['--controllers=*,bootstrap-signer-controller,-nodelifecycle'], running, 'endpoints slices mirror'],
  [['--leader-elect=false'], (o) => o.election, null],
  [['--kubeconfig='], (o) => o.election?.takeOver, null],
  [
    ['--take-over-from=kube-controller-manager'],
    (o) => o.election?.takeOver,
    { from: 'kube-controller-manager', afterMs: 30_000 },
  ],
  [['--leader-elect-resource-name=endpointd-slices'], (o) => o.election?.name, 'endpointd-slices'],
  [['--leader-elect-lease-duration=60s'], (o) => o.election?.leaseDurationMs, 60_000],
  [['--leader-elect-renew-deadline=12s'], (o) => o.election?.renewDeadlineMs, 12_000],
  [['--leader-elect-retry-period=3s'], (o) => o.election?.retryPeriodMs, 3000],
  [['--leader-elect-resource-namespace=leases'], (o) => o.election?.namespace, 'leases'],
  [
    ['--take-over-from=custom-manager', '--take-over-after=2m'],
    (o) => o.election?.takeOver,
    { from: 'custom-manager', afterMs: 120_000 },
  ],
  [['--standby=cold'], (o) => o.election?.standby, 'cold'],
  [['--opt-out-label='], (o) => o.controller.optOutLabel, ''],
];
for (const [args, pick, expected] of good) {
  test(args.join(' '), () => assert.deepEqual(pick(parse(...args)), expected));
}

/** Each message is one line that holds the flag, the value and what is allowed. */
const bad: [string[], string[]][] = [
  [
    ['--leader-elect-lease-duration=10s'],
    ['--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline'],
  ],
  // The Lease says ten seconds.
  [
    ['--leader-elect-lease-duration=10.9s', '--leader-elect-renew-deadline=10.5s'],
    ['--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline'],
  ],
  [
    ['--leader-elect-lease-duration=1.9s', '--leader-elect-renew-deadline=900ms', '--leader-elect-retry-period=200ms'],
    ['--leader-elect-lease-duration', "'1.9s'", 'at least 2s'],
  ],
  [
    ['--leader-elect-lease-duration=2s', '--leader-elect-renew-deadline=1.9s', '--leader-elect-retry-period=1.5s'],
    ['--leader-elect-lease-duration must be more than 1s longer than 1.2 times --leader-elect-retry-period'],
  ],
  [['--leader-elect=false', '--take-over-from=kube-controller-manager'], ['--take-over-from needs --leader-elect']],
  [['--leader-elect-retry-period=9s'], ['--leader-elect-renew-deadline must be longer than 1.2 times']],
  [
    ['--leader-elect-resource-name=kube-controller-manager'],
    ['--leader-elect-resource-name', 'stops all controllers of kube-controller-manager'],
  ],
  [['--leader-elect-resource-lock=endpoints'], ['--leader-elect-resource-lock', 'leases']],
  [['--concurrent-endpoint-syncs=0'], ['--concurrent-endpoint-syncs', "'0'", 'whole number from 1 to 10000']],
  [['--concurrent-endpoint-syncs=5.5'], ['--concurrent-endpoint-syncs', "'5.5'", 'whole number']],
  [['--concurrent-endpoint-syncs'], ['--concurrent-endpoint-syncs', 'argument missing']],
  [['--endpoint-updates-batch-period=5'], ['--endpoint-updates-batch-period', "'5'", 'duration such as 1h30m']],
  [
    ['--kube-api-qps=NaN'],
    [
      '--kube-api-qps',
      "'NaN'",
      "a number from 0.001 to 1000000, 0 for client-go's default of 5, below 0 for no limit.",
    ],
  ],
  [['--kube-api-burst='], ['--kube-api-burst', "''", 'whole number']],
  [['--watch-list=yes'], ['--watch-list', "'yes'", 'true or false']],
  [['--logging-format=xml'], ['--logging-format', "'xml'", 'text, json']],
  [['-v=high'], ['--v', "'high'", 'whole number from 0 to 10']],
  [['--secure-port=65536'], ['--secure-port', "'65536'", 'from 0 to 65535']],
  [['--bind-address=localhost'], ['--bind-address', "'localhost'", 'an IP address']],
  [['--tls-cert-file=/a'], ['--tls-cert-file and --tls-private-key-file must be given together']],
  [['--tls-sni-cert-key=/a'], ['--tls-sni-cert-key', "'/a'", 'CERT,KEY or CERT,KEY:NAME,NAME']],
  [['--tls-sni-cert-key=/a,/b:'], ['--tls-sni-cert-key', "'/a,/b:'", 'CERT,KEY or CERT,KEY:NAME,NAME']],
  [['--tls-min-version=1.2'], ['--tls-min-version', "'1.2'", 'VersionTLS12']],
  [
    ['--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA265'],
    ['--tls-cipher-suites', 'the nearest is TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256'],
  ],
  [['--tls-cipher-suites=TLS_RSA_WITH_RC4_128_SHA'], ['--tls-cipher-suites', 'too weak']],
  [['--tls-curve-preferences=29,30'], ['--tls-curve-preferences', '"30" is no key exchange', '29 (X25519)']],
  [['--tls-curve-preferences=P-256'], ['--tls-curve-preferences', '"P-256" is no key exchange', '23 (P-256)']],
  [['--authorization-always-allow-paths=/a*b'], ['--authorization-always-allow-paths', '"/a*b"', 'at the end']],
  ...['allowed-names', 'username-headers', 'uid-headers', 'group-headers', 'extra-headers-prefix'].flatMap(
    (list): typeof bad =>
      [',', 'a,', ' ', 'a, ,b'].map((said) => [
        [`--requestheader-${list}=${said}`],
        [`'--requestheader-${list}`, `empty value in "requestheader-${list}"`],
      ]),
  ),
  [['--metrics-bind-address=10267'], ['--metrics-bind-address', "'10267'", 'host:port']],
  [['--metrics-bind-address=a:70000'], ['--metrics-bind-address', "'a:70000'", 'host:port']],
  [['--master=ftp://x'], ['--master', "'ftp://x'", 'http or https URL']],
  [['--shard=1'], ['--shard (nearest: --shards)']],
  [['--controllers=nonsense'], ['--controllers', '"nonsense"', 'endpoints-controller']],
  [['--controllers=-nonsense,*'], ['--controllers', '"nonsense"', 'not a known controller']],
  [['--controllers=-endpoint'], ['--controllers', '"-endpoint"', 'at least one controller']],
  [['--controllers='], ['--controllers', '""', 'not a known controller']],
  [['--controllers=endpoint,endpoints'], ['--controllers', '"endpoints"', 'endpointslice-mirroring-controller']],
  ...(
    [
      ['concurrent-service-endpoint-syncs', 50],
      ['max-endpoints-per-slice', 1000],
      ['mirroring-concurrent-service-endpoint-syncs', 50],
      ['mirroring-max-endpoints-per-subset', 1000],
    ] as const
  ).flatMap(([name, max]): typeof bad => [
    [[`--${name}=0`], [`'--${name}`, `${name} must not be less than 1, but got 0.`, `from 1 to ${max}.`]],
    [[`--${name}=-1`], [`'--${name}`, `${name} must not be less than 1, but got -1.`, `from 1 to ${max}.`]],
    [[`--${name}=${max + 1}`], [`${name} must not be more than ${max}, but got ${max + 1}.`, `from 1 to ${max}.`]],
    [[`--${name}=many`], [`'--${name}`, "'many'", `Allowed: a whole number from 1 to ${max}.`]],
  ]),
  [['--endpointslice-updates-batch-period=soon'], ['--endpointslice-updates-batch-period', "'soon'", 'a duration']],
  [['--mirroring-endpointslice-updates-batch-period=3'], ['--mirroring-endpointslice-updates-batch-period', "'3'"]],
  [['--mirroring-all-endpoints=1000'], ['--mirroring-all-endpoints', "'1000'", 'true or false']],
  [['--opt-out-label=a/b/c'], ['--opt-out-label', "'a/b/c'", 'the key of a label']],
  [['--opt-out-label=team=blue'], ['--opt-out-label', "'team=blue'", 'the key of a label']],
  [[`--opt-out-label=${'a'.repeat(64)}`], ['--opt-out-label', 'the key of a label']],
  [['extra'], ['extra', 'written --flag=value']],
];
for (const [args, parts] of bad) {
  test(`the flags ${args.join(' ')} are refused`, () => {
    assert.throws(
      () => parse(...args),
      (error) => {
        assert.ok(error instanceof UsageError, String(error));
        assert.ok(!error.message.includes('\n'));
        for (const part of parts) assert.ok(error.message.includes(part), `${part} is missing in: ${error.message}`);
        return true;
      },
    );
  });
}

/** Node's timers fire at once for a longer time than 2^31 - 1 ms, which is less than 25 days. */
const waits = [
  ['run --trace-for', parseRunFlags, 576],
  ['top --interval', parseTopFlags, 576],
  ['advise --interval', parseAdviseFlags, 576],
  ['retire-endpoints --quiet-for', parseRetireEndpointsFlags, 576],
  ['serve --pod-step', parseServeFlags, 384],
] as const;
for (const [name, read, hours] of waits) {
  test(`${name} is no longer than timers of Node.js are`, () => {
    const flag = name.replace(/.* /, '');
    read([`${flag}=${hours}h`], () => undefined);
    const allowed = new RegExp(`${flag} .*at most ${hours}h\\.$`);
    assert.throws(() => read([`${flag}=${hours}h1s`], () => undefined), allowed);
  });
}

test('--help shows every flag with its default, in groups', () => {
  let help = '';
  assert.throws(() => parseRunFlags(['--help'], (text) => (help += text)), HelpShown);
  for (const text of [
    'Connection:',
    'Controllers:',
    'Shards and bounds:',
    'Observation:',
    '--concurrent-endpoint-syncs <n>',
    '--max-endpoints-per-slice <n>',
    '--mirroring-max-endpoints-per-subset <n>',
    '(default: 1000)',
    '(default: 5)',
    '(default: 12h)',
    'Serving:',
    '(default: /healthz,/readyz,/livez)',
    '[text, json] (default: text)',
  ]) {
    // Wherever a line ends.
    assert.ok(help.replaceAll(/\s+/g, ' ').includes(text), `${text} is missing in:\n${help}`);
  }
});

test('--tls-sni-cert-key is read as upstream reads it, and may be repeated', () => {
  const flags = ['--tls-sni-cert-key=a.crt,a.key', '--tls-sni-cert-key', 'b.crt, b.key: *.b.test,b.test'];
  assert.deepEqual(parseRunFlags(flags, () => undefined).serving.tlsSniCertKey, [
    { certFile: 'a.crt', keyFile: 'a.key', names: [] },
    { certFile: 'b.crt', keyFile: 'b.key', names: ['*.b.test', 'b.test'] },
  ]);
});

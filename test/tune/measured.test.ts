import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseMetrics } from '../../src/metrics/text.ts';
import type { Spread } from '../../src/tune/back-test.ts';
import { calibrationText, parseCalibration } from '../../src/tune/calibration.ts';
import { type Measured, measuredOf, NOTHING_MEASURED, type Recorded, type Scrapes } from '../../src/tune/measured.ts';
import { calibrationNumbers, GUESSED, type Start, startOf, unsureOf, withFit } from '../../src/tune/numbers.ts';
import { OUTPUTS } from '../../src/twin/ledger.ts';
import { profileStory, STORY_PROFILES } from '../../src/twin/profiles.ts';
import { DEFAULT_CALIBRATION, DEFAULT_SETTINGS } from '../../src/twin/settings.ts';

interface Counted {
  readonly writes: number;
  /** Shares of the writes up to 5, 25 and 100 ms. */
  readonly shares?: readonly number[];
  /** How many of the writes are those of slices. */
  readonly sliceWrites?: number;
  readonly cpuSeconds?: number;
  readonly started?: number;
  readonly more?: string;
}

/** Lognormal with a median of 10 ms and a p99 of 40 ms. */
const TEN_MS: readonly number[] = [0.1223, 0.938, 0.99994];
const NEARLY_TEN_MS: readonly number[] = [0.14, 0.945, 0.99996];
const TWO_MS: readonly number[] = [0.6, 0.9995, 1];

function histogram(name: string, labels: string, { writes, shares = TEN_MS }: Counted): string {
  const bounds = ['0.005', '0.025', '0.1', '+Inf'];
  return bounds.map((le, i) => `${name}_bucket{${labels},le="${le}"} ${writes * (shares[i] ?? 1)}`).join('\n');
}

function controllerText(counted: Counted): string {
  const { writes, sliceWrites = writes / 2, cpuSeconds = writes * 0.001, started = 1, more = '' } = counted;
  const name = 'rest_client_request_duration_seconds';
  return `process_start_time_seconds ${started}
workqueue_work_duration_seconds_count{name="endpoint"} ${writes}
${histogram(name, 'verb="PUT",host="a"', counted)}
${histogram(name, 'verb="GET",host="a"', { writes: writes * 9, shares: [0, 0, 0] })}
endpoint_slice_controller_changes{operation="update"} ${sliceWrites}
process_cpu_seconds_total ${cpuSeconds}
go_sched_gomaxprocs_threads 64
${more}`;
}

function serverText(counted: Counted): string {
  const { writes } = counted;
  const name = 'apiserver_request_duration_seconds';
  const of = (group: string, resource: string, counts: Counted): string =>
    `${name}_count{verb="PUT",group="${group}",resource="${resource}"} ${counts.writes}
${histogram(name, `verb="PUT",group="${group}",resource="${resource}"`, counts)}`;
  const wait = 'apiserver_flowcontrol_request_wait_duration_seconds';
  return `process_start_time_seconds 1
${of('', 'endpoints', { ...counted, writes: writes / 2 })}
${of('discovery.k8s.io', 'endpointslices', { ...counted, writes: writes / 2 })}
${of('', 'configmaps', { writes: writes * 50, shares: [0, 0, 0] })}
apiserver_longrunning_requests{verb="WATCH",resource="endpointslices"} 5000
apiserver_longrunning_requests{verb="WATCH",resource="endpoints"} 3
${wait}_sum{flow_schema="kube-controller-manager"} ${writes * 0.002}
${wait}_count{flow_schema="kube-controller-manager"} ${writes}
apiserver_request_total{code="200",group="",resource="endpoints",verb="PUT"} ${writes / 2}
workqueue_work_duration_seconds_count{name="crd_finalizer"} 1
`;
}

function scrapes(before: string, after: string, from = 'a.txt, b.txt'): Scrapes {
  return { before: parseMetrics(before), after: parseMetrics(after), from };
}

const NONE = { writes: 0 };

function controller(counted: Counted): Scrapes {
  // The same series, of which nothing has grown.
  const more = (counted.more ?? '').replaceAll(/ [\d.]+$/gm, ' 0');
  return scrapes(controllerText({ ...NONE, more }), controllerText(counted));
}

function server(counted: Counted): Scrapes {
  return scrapes(serverText(NONE), serverText(counted), 's1.txt, s2.txt');
}

const BOTH_SURE = { median: 1.15, tail: 1.15 };

/** Of a kube-controller-manager. */
function factsOf(
  controller: Scrapes | null,
  apiserver: Scrapes | null,
  written: Omit<Recorded, 'listsMs'> | null = null,
): Measured {
  const recorded = written === null ? null : { ...written, listsMs: 6000 };
  return measuredOf(controller, apiserver, 'kube-controller-manager', recorded);
}

describe('what scrapes say of the numbers that a recording leaves open', () => {
  it('scrapes give the median latency of the writes', () => {
    const own = factsOf(controller({ writes: 10_000 }), null).apiMs!;
    assert.ok(Math.abs(own.value.median - 10) < 0.3 && Math.abs(own.value.tail - 4) < 0.3, JSON.stringify(own));
    assert.deepEqual(
      [own.value.unsure, own.from],
      [BOTH_SURE, "histogram of the process's 10000 writes in a.txt, b.txt"],
    );
    const { median } = factsOf(null, server({ writes: 10_000, shares: NEARLY_TEN_MS })).apiMs!.value;
    assert.ok(median > 9 && median < 10, String(median));
  });

  it('scrapes that agree are no surer, and those that differ are not taken', () => {
    const own = controller({ writes: 10_000 });
    const { median, tail } = factsOf(own, server({ writes: 10_000, shares: NEARLY_TEN_MS })).apiMs!.value.unsure;
    assert.ok(median >= 1.15 && median < 1.2 && tail >= 1.15 && tail < 1.2, `${median}, ${tail}`);
    const apart = factsOf(own, server({ writes: 10_000, shares: TWO_MS }));
    assert.equal(apart.apiMs, null);
    assert.match(
      apart.notes[0]!,
      /^the median API latency is 10\.\d ms by the controller and \d\.\d ms by .*neither is taken$/,
    );
  });

  it('two buckets leave open what one equation with two unknowns does', () => {
    for (const [shares, truth] of [
      [[0.817, 1, 1], { median: 3.5, tail: 2.5 }],
      [[0.804, 1, 1], { median: 3, tail: 4 }],
      // The same with a few stalls, which tell nothing of the others.
      [[0.804, 0.9995, 0.9995], { median: 3, tail: 4 }],
    ] as const) {
      const { median, tail, unsure } = factsOf(controller({ writes: 10_000, shares }), null).apiMs!.value;
      for (const [value, factor, true_] of [
        [median, unsure.median, truth.median],
        [tail, unsure.tail, truth.tail],
      ] as const) {
        assert.ok(factor > 1.25 && true_ > value / factor && true_ < value * factor, `${value} x ${factor}, ${true_}`);
      }
    }
  });

  it('a median is told where a tail is not', () => {
    const { median, unsure } = factsOf(controller({ writes: 10_000, shares: [0.638, 1, 1] }), null).apiMs!.value;
    assert.ok(median > 4.3 && median < 4.6 && unsure.median < 1.25 && unsure.tail > 1.25, JSON.stringify(unsure));
  });

  it('scrapes give no median if nearly all writes are in one bucket', () => {
    const { apiMs, notes } = factsOf(controller({ writes: 10_000, shares: [0.95, 0.99, 1] }), null);
    assert.equal(apiMs, null);
    assert.match(notes[0]!, /in one bucket of the histogram, which tells no median$/);
  });

  it('scrapes of a kube-controller-manager that waited for tokens give no latency', () => {
    const more =
      'rest_client_rate_limiter_duration_seconds_sum{verb="PUT"} 60\nrest_client_request_duration_seconds_sum{verb="PUT"} 100';
    const { apiMs, notes } = factsOf(controller({ writes: 10_000, more }), null);
    assert.equal(apiMs, null);
    assert.match(notes[0]!, /the 10000 writes have waits for tokens in their latency$/);
  });

  it('scrapes give cores, watchers and the wait in flow control', () => {
    const measured = factsOf(controller({ writes: 200 }), server({ writes: 200 }));
    assert.equal(measured.cores?.value, 64);
    assert.deepEqual(measured.watchers?.value, { slices: 5000, endpoints: 3 });
    assert.deepEqual(measured.flowWaits?.value, [{ schema: 'kube-controller-manager', ms: 2 }]);
  });

  it('of the waits in flow control those of schemas are told that the writes may have', () => {
    const wait = 'apiserver_flowcontrol_request_wait_duration_seconds';
    const waitsWith = (text: string): Measured['flowWaits'] =>
      factsOf(null, scrapes(serverText(NONE), text, 's1.txt, s2.txt')).flowWaits;
    const others = ['catch-all', 'system-nodes', 'service-accounts', 'global-default'].map(
      (schema, i) => `${wait}_sum{flow_schema="${schema}"} ${i + 1}\n${wait}_count{flow_schema="${schema}"} 100\n`,
    );
    const text = serverText({ writes: 200 }) + others.join('');
    assert.deepEqual(waitsWith(text), {
      value: [{ schema: 'kube-controller-manager', ms: 2 }],
      from: `${wait} in s1.txt, s2.txt; part of the API latency of writes with that flow schema`,
    });
    assert.deepEqual(waitsWith(text.replaceAll('"kube-controller-manager"', '"ours"')), {
      value: [
        { schema: 'global-default', ms: 40 },
        { schema: 'service-accounts', ms: 30 },
        { schema: 'system-nodes', ms: 20 },
      ],
      from: `${wait} in s1.txt, s2.txt; the longest: which flow schema the writes of kube-controller-manager have is not told`,
    });
    // A report may be given away, and somebody has chosen the name of another schema.
    const secret = text.replaceAll('"kube-controller-manager"', '"ours"').replaceAll('"global-default"', '"secret"');
    assert.deepEqual(
      waitsWith(secret)!.value.map(({ schema }) => schema),
      ['another flow schema', 'service-accounts', 'system-nodes'],
    );
  });

  it('refused writes in scrapes prevent a recommendation', () => {
    const doubtsOf = (code: number, method: string): readonly string[] => {
      const more = `rest_client_requests_total{code="${code}",method="${method}"} 7`;
      return factsOf(controller({ writes: 200, more }), null).doubts;
    };
    for (const code of [429, 503, 504]) {
      const doubt = `a.txt, b.txt: of the process's writes the API server refused 7 (${code})`;
      for (const method of ['PUT', 'POST', 'DELETE']) assert.deepEqual(doubtsOf(code, method), [doubt]);
    }
    // It may be a webhook for other objects that has failed. No write waits for a list that was refused.
    assert.deepEqual([...doubtsOf(500, 'PUT'), ...doubtsOf(429, 'GET')], []);
  });

  it('another leader in scrapes prevents a recommendation, whatever they count', () => {
    const status = (leads: 0 | 1): string => `leader_election_master_status{name="kube-controller-manager"} ${leads}\n`;
    const all = controllerText({ writes: 1000 });
    const doubtsOf = (first: string, second: string): readonly string[] =>
      factsOf(scrapes(first, second), null, { endpoints: 5000, slices: 5000 }).doubts;
    assert.deepEqual(doubtsOf(`process_start_time_seconds 1\n${status(0)}`, `${all}${status(1)}`), [
      'a.txt, b.txt: the process led at one of the scrapes alone: another leader wrote, too',
    ]);
    assert.deepEqual(doubtsOf(`${controllerText(NONE)}${status(1)}`, `${all}${status(1)}`), []);
    // Leases of others tell nothing.
    const other = status(0).replace('kube-', 'cloud-');
    assert.deepEqual(doubtsOf(`${controllerText(NONE)}${other}`, `${all}${other.replace(' 0', ' 1')}`), []);
  });

  it('refused writes in scrapes of the API server prevent a recommendation too', () => {
    const refused = (resource: string, verb: string, code = 429): string =>
      `apiserver_request_total{code="${code}",group="discovery.k8s.io",resource="${resource}",verb="${verb}"} 9\n`;
    const doubtsOf = (more: string): readonly string[] =>
      factsOf(null, scrapes(serverText(NONE), `${serverText({ writes: 10_000 })}${more}`)).doubts;
    const all = [429, 503, 504].map((code) => refused('endpointslices', 'PUT', code)).join('');
    assert.deepEqual(doubtsOf(all + refused('endpointslices', 'POST')), [
      'a.txt, b.txt: of the writes of Endpoints and slices the API server refused 18 (429), 9 (503), 9 (504)',
    ]);
    const others = [refused('endpointslices', 'LIST'), refused('leases', 'PUT'), refused('endpointslices', 'PUT', 500)];
    assert.deepEqual(doubtsOf(others.join('')), []);
  });

  it('two cores may be a smaller CPU limit, which the scrapes do not tell', () => {
    const notesOf = (threads: number): readonly string[] => {
      const text = controllerText({ writes: 200 }).replace('threads 64', `threads ${threads}`);
      return factsOf(scrapes(controllerText(NONE), text), null).coresNotes;
    };
    assert.match(
      notesOf(2).join(),
      /go_sched_gomaxprocs_threads is 2 for any CPU limit up to 2 cores: a smaller limit is played as two/,
    );
    assert.deepEqual(notesOf(4), []);
  });

  it('before 1.35 any number of cores may hide a CPU limit', () => {
    const notesOf = (minor: number): readonly string[] =>
      factsOf(controller({ writes: 200, more: `kubernetes_build_info{minor="${minor}"} 1` }), null).coresNotes;
    assert.match(
      notesOf(34).join(),
      /^a\.txt, b\.txt: go_sched_gomaxprocs_threads is the node's before Kubernetes 1\.35/,
    );
    assert.deepEqual(notesOf(35), []);
  });

  it('scrapes give the version of kube-controller-manager', () => {
    const of = (minor: string): Measured['kubeMinor'] =>
      factsOf(controller({ writes: 200, more: `kubernetes_build_info{major="1",minor="${minor}"} 1` }), null).kubeMinor;
    const from = 'kubernetes_build_info in a.txt, b.txt';
    assert.deepEqual([of('33'), of('34+'), of('')], [{ value: 33, from }, { value: 34, from }, null]);
  });

  it('scrapes without CPU give none, and not 0', () => {
    const { cpuMsPerWrite, notes } = factsOf(controller({ writes: 10_000, cpuSeconds: 0 }), null);
    assert.deepEqual(
      [cpuMsPerWrite, notes],
      [null, ['a.txt, b.txt: process_cpu_seconds_total is not there or has not grown']],
    );
  });

  it('the most CPU of a kube-controller-manager is all of it, for its slices', () => {
    const of = (counted: Counted): Measured['cpuMsPerWrite'] => factsOf(controller(counted), null).cpuMsPerWrite;
    const value = { ms: 4, of: ['slices'], isMost: true };
    const from = 'CPU of the process and its 5000 writes of slices in a.txt, b.txt';
    assert.deepEqual(of({ writes: 10_000, cpuSeconds: 20 }), { value, from });
    // The CPU of the same controllers is no less if others of the process write more.
    assert.deepEqual(of({ writes: 100_000, sliceWrites: 5000, cpuSeconds: 20 }), { value, from });
  });

  it('scrapes with too few writes of slices give no CPU, and say so', () => {
    const { cpuMsPerWrite, notes } = factsOf(controller({ writes: 10_000, sliceWrites: 20 }), null);
    assert.deepEqual(
      [cpuMsPerWrite, notes],
      [null, ['a.txt, b.txt: CPU for its 20 writes of slices tells nothing; at least 100 are needed']],
    );
  });

  it("the CPU of endpointd is for its writes of outputs, not for its Lease's", () => {
    const more = 'endpointd_build_info 1\nrest_client_rate_limiter_duration_seconds_count{verb="PUT"} 5000';
    const { cpuMsPerWrite } = measuredOf(controller({ writes: 10_000, cpuSeconds: 20, more }), null, 'endpointd', null);
    assert.deepEqual(cpuMsPerWrite?.value, { ms: 4, of: ['endpoints', 'slices'], isMost: false });
  });

  it('requests that only read hide no wait of writes for tokens', () => {
    const [waited, took] = [
      'rest_client_rate_limiter_duration_seconds_sum',
      'rest_client_request_duration_seconds_sum',
    ];
    const more = `${waited}{verb="PUT"} 60\n${took}{verb="PUT"} 100\n${took}{verb="GET"} 4000`;
    assert.equal(factsOf(controller({ writes: 10_000, more }), null).apiMs, null);
  });

  it('scrapes give no number of watchers if another API server has them all', () => {
    const none = serverText({ writes: 200 }).replace(/(resource="endpointslices"}) 5000/, '$1 0');
    assert.equal(factsOf(null, scrapes(serverText(NONE), none)).watchers, null);
  });

  it('scrapes give a latency although buckets lack a bound or a count', () => {
    const name = 'rest_client_request_duration_seconds_bucket';
    const more = `${name}{verb="PUT"} 7\n${name}{verb="PUT",host="b",le="0.1"} +Inf`;
    assert.deepEqual(
      factsOf(controller({ writes: 10_000, more }), null).apiMs,
      factsOf(controller({ writes: 10_000 }), null).apiMs,
    );
  });

  it('scrapes that count other writes than the recording are not taken', () => {
    const both = [controller({ writes: 1000 }), server({ writes: 1000 })] as const;
    const near = factsOf(...both, { endpoints: 450, slices: 450 });
    assert.ok(near.apiMs !== null && near.cpuMsPerWrite !== null && near.watchers !== null);
    const far = factsOf(...both, { endpoints: 5000, slices: 400 });
    assert.deepEqual({ ...far, notes: [] }, NOTHING_MEASURED);
    assert.deepEqual(far.notes, [
      'a.txt, b.txt: 500 writes of slices between the scrapes, 400 in the recording, whose first lists took 6.0 s: they are of another time or of another process, and are not taken',
      's1.txt, s2.txt: 1000 writes of Endpoints and slices between the scrapes, 5400 in the recording, whose first lists took 6.0 s: they are of another time or of another API server, and are not taken',
    ]);
    // Other clients write these objects too, and a metric that was filtered out is no 0.
    const few = { endpoints: 50, slices: 50 };
    assert.ok(factsOf(null, server({ writes: 1000 }), few).apiMs !== null);
    const untold = scrapes(
      ...([NONE, { writes: 1000 }].map((counted) =>
        controllerText(counted).replaceAll('endpoint_slice_controller_changes', 'filtered'),
      ) as [string, string]),
    );
    assert.ok(factsOf(untold, null, { endpoints: 500, slices: 5000 }).apiMs !== null);
    // Slices that are mirrored are in the recording too.
    const more = 'endpoint_slice_mirroring_controller_changes{operation="update"} 400';
    assert.ok(factsOf(controller({ writes: 1000, more }), null, { endpoints: 500, slices: 900 }).apiMs !== null);
  });

  it('scrapes with too few writes give nothing, and say so', () => {
    const { apiMs, notes } = factsOf(controller({ writes: 20 }), null);
    assert.deepEqual([apiMs, notes], [null, ['a.txt, b.txt: 20 writes between the scrapes; at least 100 are needed']]);
  });
});

const STANDBY = 'leader_election_master_status{name="kube-controller-manager"} 0';

describe('scrapes that are none of a controller or an API server', () => {
  const some = controllerText({ writes: 200 });
  const cases: readonly (readonly [name: string, measure: () => Measured, message: RegExp])[] = [
    [
      'of another program',
      () => factsOf(scrapes('up 1', 'up 1'), null),
      /^a\.txt, b\.txt: these are the metrics of another program: they have no queue of these controllers$/,
    ],
    [
      'of the other controller',
      () => measuredOf(scrapes(some, some), null, 'endpointd', null),
      /^a\.txt, b\.txt: these are the metrics of kube-controller-manager, and --controller is endpointd$/,
    ],
    [
      'of a kube-controller-manager that stands by',
      () => factsOf(scrapes(STANDBY, STANDBY), null),
      /: this kube-controller-manager stands by: its leader, which holds the Lease kube-system\/kube-controller-manager, is/,
    ],
    [
      'of a controller in place of an API server',
      () => factsOf(null, scrapes(some, some)),
      /: these are the metrics of another program: they have no requests to an API server/,
    ],
    [
      'of which the first is an error of the server',
      () => factsOf(scrapes('{"kind":"Status","code":401}', some), null),
      /: one of the two looks is of something else: it lacks what the other one has$/,
    ],
    [
      'of which the first is empty',
      () => factsOf(scrapes('', some), null),
      /: one of the two looks is of something else/,
    ],
    [
      'of which the first was cut off',
      () => factsOf(scrapes(controllerText(NONE).replace(/^workqueue.*\n/m, ''), some), null),
      /^a\.txt, b\.txt: one of the two looks was cut off, or filtered: it lacks workqueue_work_duration_seconds_count, which/,
    ],
    [
      'of an API server, of which the first was cut off',
      () =>
        factsOf(
          null,
          scrapes(serverText(NONE).replace(/^apiserver_request_total[^]*/m, ''), serverText({ writes: 9 })),
        ),
      /: one of the two looks was cut off, or filtered: it lacks apiserver_request_total, which the other one has$/,
    ],
    [
      'with a sum without an end',
      () => factsOf(scrapes(controllerText(NONE), some.replace(/^(process_cpu_seconds_total) .*/m, '$1 +Inf')), null),
      /^a\.txt, b\.txt: process_cpu_seconds_total is no finite number$/,
    ],
    [
      'in the wrong order',
      () => factsOf(scrapes(some, controllerText(NONE)), null),
      /: sums have fallen in a process that went on: the looks are in the wrong order$/,
    ],
    [
      'of several processes',
      () => factsOf(scrapes(controllerText(NONE).repeat(2), some.repeat(2)), null),
      /^a\.txt, b\.txt: these are the metrics of several processes in one: .* take the metrics of one process$/,
    ],
    [
      'that do not tell whether there was a restart between them',
      () => {
        const [first, second] = [controllerText(NONE), some].map((text) =>
          text.replace(/^process_start_time.*\n/m, ''),
        );
        return factsOf(scrapes(first!, second!), null);
      },
      /: these metrics lack process_start_time_seconds: whether the process was started anew cannot be told$/,
    ],
    [
      'with a restart between them',
      () => factsOf(scrapes(some, controllerText({ writes: 900, started: 2 })), null),
      /: the process was started anew between the looks, or they are of two processes, such as two API servers behind/,
    ],
    [
      'with a restart between them, in the wrong order',
      () => factsOf(scrapes(controllerText({ ...NONE, started: 2 }), some), null),
      /after that of the second: the looks are in the wrong order, or they are of two processes, such as two API/,
    ],
  ];
  for (const [name, measure, message] of cases) {
    it(`scrapes of other programs are refused with one line: ${name}`, () => assert.throws(measure, { message }));
  }
});

/** As much smaller as larger. */
function by(factor: number): Spread {
  return { down: factor, up: factor };
}

describe('what was measured', () => {
  const run = {
    story: profileStory({ ...STORY_PROFILES.find(({ name }) => name === 'rollout')!, minutes: 1 }, 1),
    controller: 'kube-controller-manager',
    settings: DEFAULT_SETTINGS,
    calibration: DEFAULT_CALIBRATION,
    seed: 1,
  } as const;

  it('a measured number is less unsure than a guess', () => {
    const measured = factsOf(null, server({ writes: 10_000 }));
    const { calibration, known, unsure } = startOf(run, { ...measured, cpuMsPerWrite: null }, GUESSED);
    assert.deepEqual(known, { 'API latency': by(1.15), 'API tail': by(1.15) });
    assert.deepEqual(unsure, {
      'API latency': by(1.15),
      'API tail': by(1.15),
      CPU: by(2),
      'watch lag': by(2),
    });
    // That of a slice of 50 endpoints or so is measured; that of one without endpoints is less.
    const { median } = calibration.apiMs;
    assert.ok(median < 0.9 * measured.apiMs!.value.median && median > 0.7 * measured.apiMs!.value.median, `${median}`);
  });

  it('the CPU of a process with other controllers is the most that the guess may be', () => {
    const startWith = (ms: number): Start => {
      const cpuMsPerWrite = { value: { ms, of: ['slices'] as const, isMost: true }, from: '' };
      return startOf(run, { ...NOTHING_MEASURED, cpuMsPerWrite }, GUESSED);
    };
    const low = startWith(0.01);
    assert.ok(low.calibration.cpuFactor < 0.1 && low.calibration.cpuFactor === low.cpuFactorMax);
    assert.deepEqual([low.known.CPU, low.unsure.CPU], [{ down: 2, up: 1 }, low.known.CPU]);
    const high = startWith(1000);
    assert.deepEqual([high.calibration.cpuFactor, high.unsure.CPU], [run.calibration.cpuFactor, by(2)]);
    // Between the two the CPU may be more by what is left up to the process's.
    const { down, up } = startWith((1.4 * 1000) / high.cpuFactorMax!).unsure.CPU;
    assert.deepEqual([down, up.toFixed(9)], [2, '1.400000000']);
  });

  it('what a recording does not tell, and nobody has measured, is a guess', () => {
    const calibrated = { ...GUESSED, 'API tail': by(1.25), CPU: by(1.1) };
    const start = startOf(run, NOTHING_MEASURED, calibrated);
    assert.deepEqual(start.unsure, calibrated);
    const { unsure } = withFit(start, {
      untold: ['watch lag'],
      unsure: new Map([['API latency', { down: 3, up: 2 }]]),
      alternatives: [],
    });
    assert.deepEqual(unsure, {
      'API latency': { down: 3, up: 2 },
      'API tail': by(1.25),
      CPU: by(2),
      'watch lag': by(2),
    });
    const coarse = { value: { median: 5, tail: 4, unsure: { median: 1.5, tail: 1.2 }, isOfOutputs: true }, from: '' };
    const known = startOf(run, { ...NOTHING_MEASURED, apiMs: coarse }, GUESSED);
    const told = withFit(known, { untold: ['API latency'], unsure: new Map(), alternatives: [] });
    assert.deepEqual(told.unsure['API latency'], by(1.5));
  });

  it('a guess stays a guess through a file of --calibrate', () => {
    const { calibration } = run;
    const start = withFit(startOf(run, NOTHING_MEASURED, GUESSED), {
      untold: ['API tail'],
      unsure: new Map([
        ['API latency', by(1.25)],
        ['watch lag', by(1.25)],
      ]),
      alternatives: [{ ...calibration, apiMs: { ...calibration.apiMs, median: 4 * calibration.apiMs.median } }],
    });
    const kept = calibrationText({ calibration, unsure: unsureOf(calibration, start) });
    const given = parseCalibration(JSON.parse(kept));
    const again = startOf({ ...run, calibration: given.calibration }, NOTHING_MEASURED, given.unsure);
    const from = { 'API latency': '', 'API tail': '', CPU: '', 'watch lag': '' };
    const unsure = calibrationNumbers(given.calibration, again, NOTHING_MEASURED, from, '').map((of) => of.unsure);
    const guess = 'half to twice as much';
    assert.deepEqual(unsure, ['down to 1/1.3, up to 4.0 x', guess, '', guess, '25 %', '']);
  });

  it('a number that is fitted within what was measured says so', () => {
    const latency = { median: 5, tail: 4, unsure: { median: 1.5, tail: 1.2 }, isOfOutputs: true };
    const measured = { ...NOTHING_MEASURED, apiMs: { value: latency, from: 'histogram of a test' } };
    const start = startOf(run, measured, GUESSED);
    const fitted = withFit(start, { untold: [], unsure: new Map([['API latency', by(1.3)]]), alternatives: [] });
    const fallback = { 'API latency': 'fitted', 'API tail': 'fitted', CPU: 'usual', 'watch lag': 'fitted' };
    const fromOf = (of: Start): string[] =>
      calibrationNumbers(of.calibration, of, measured, fallback, '').map(({ from }) => from);
    assert.deepEqual(fromOf(fitted).slice(0, 2), ['fitted, within the histogram of a test', 'histogram of a test']);
    assert.deepEqual(fromOf(start).slice(0, 2), ['histogram of a test', 'histogram of a test']);
  });

  it('the CPU of endpointd is its own', () => {
    const cpuMsPerWrite = { value: { ms: 5, of: OUTPUTS, isMost: false }, from: '' };
    const own = { ...run, controller: 'endpointd' } as const;
    const { known, unsure } = startOf(own, { ...NOTHING_MEASURED, cpuMsPerWrite }, GUESSED);
    assert.deepEqual([known, unsure.CPU], [{ CPU: by(1.1) }, by(1.1)]);
  });
});

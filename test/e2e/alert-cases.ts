/** When each alert of `deploy/` fires and when not, as promtool's unit tests. */

/** Series at one-minute steps, in promtool's notation: `1x60` = 1 for an hour, `0+1x60` = one more each minute. */
export type Series = Readonly<Record<string, string>>;

export interface AlertCase {
  readonly title: string;
  readonly series: Series;
  /** What fires at the end: `<alert> <instance>`, with `-` where the alert is of no instance. */
  readonly firing: readonly string[];
  /** When that is; default: after 40 minutes. */
  readonly at?: string;
}

const A = 'job="endpointd",instance="10.0.0.1:10267"';
const B = 'job="endpointd",instance="10.0.0.2:10267"';
const BOTH_UP = { [`up{${A}}`]: '1x60', [`up{${B}}`]: '1x60' };
const A_LEADS = {
  ...BOTH_UP,
  [`leader_election_master_status{${A},name="endpointd"}`]: '1x60',
  [`leader_election_master_status{${B},name="endpointd"}`]: '0x60',
};

const UNAVAILABLE =
  'kube_deployment_status_replicas_unavailable{job="kube-state-metrics",instance="10.0.0.9:8080",deployment="endpointd"}';

/** What is wrong with a process if it leads. */
function leadersTrouble(target: string): Series {
  return {
    [`endpointd_stuck_service{${target},controller="endpoints",namespace="shop",service="web",class="forbidden"}`]:
      '1x60',
    [`endpointd_oldest_unwritten_change_seconds{${target}}`]: '0+60x60',
    [`endpointd_foreign_edits_total{${target},manager="kube-controller-manager"}`]: '0+1x60',
  };
}

/** All that can be wrong with one process. */
function trouble(target: string): Series {
  return { ...leadersTrouble(target), [`endpointd_watch_up{${target},resource="pods"}`]: '0x60' };
}

function allFour(instance: string): string[] {
  return [
    `EndpointdAnotherWriter ${instance}`,
    `EndpointdChangesUnwritten ${instance}`,
    `EndpointdServiceStuck ${instance}`,
    `EndpointdWatchDown ${instance}`,
  ];
}

export const ALERT_CASES: readonly AlertCase[] = [
  {
    title: 'two replicas at rest: none',
    series: {
      ...A_LEADS,
      [`endpointd_watch_up{${A},resource="pods"}`]: '1x60',
      [`endpointd_oldest_unwritten_change_seconds{${A}}`]: '0x60',
      [`endpointd_foreign_edits_total{${A},manager="kubectl-edit"}`]: '0x20 1x40',
    },
    firing: [],
  },
  {
    title: 'a hundred slices are deleted at once, by whom nobody knows: none',
    series: { ...A_LEADS, [`endpointd_foreign_edits_total{${A},manager="unknown"}`]: '0x30 100x30' },
    firing: [],
  },
  {
    title: 'a manager is seen for the first time, and has made five changes already',
    series: { ...A_LEADS, [`endpointd_foreign_edits_total{${A},manager="kubectl"}`]: '_x25 5x35' },
    firing: ['EndpointdAnotherWriter 10.0.0.1:10267'],
  },
  {
    title: 'a manager made two changes, or what it did before the first scrape is seen: none',
    series: {
      ...A_LEADS,
      [`up{${B}}`]: '_x25 1x35',
      [`endpointd_foreign_edits_total{${A},manager="kubectl"}`]: '_x25 2x35',
      [`endpointd_foreign_edits_total{${B},manager="kubectl"}`]: '_x25 3000x35',
    },
    firing: [],
  },
  {
    title: 'objects are deleted again and again, by whom nobody knows',
    series: { ...A_LEADS, [`endpointd_foreign_edits_total{${A},manager="unknown"}`]: '0x5 1+1x55' },
    firing: ['EndpointdAnotherWriter 10.0.0.1:10267'],
  },
  { title: 'the leader is in trouble: four', series: { ...A_LEADS, ...trouble(A) }, firing: allFour('10.0.0.1:10267') },
  {
    title: "the standby has trouble that is the leader's to tell: none",
    series: { ...A_LEADS, ...leadersTrouble(B) },
    firing: [],
  },
  {
    title: 'the standby does not follow',
    series: { ...A_LEADS, [`endpointd_watch_up{${B},resource="pods"}`]: '1x20 0x40' },
    firing: ['EndpointdStandbyWatchDown 10.0.0.2:10267'],
  },
  {
    title: 'the standby has not followed for less than a quarter of an hour: none',
    series: { ...A_LEADS, [`endpointd_watch_up{${B},resource="pods"}`]: '1x30 0x30' },
    firing: [],
  },
  {
    title: 'one without leader election is in trouble: four',
    series: { [`up{${A}}`]: '1x60', ...trouble(A) },
    firing: allFour('10.0.0.1:10267'),
  },
  {
    title: 'a standby of one cluster has the address of the leader of another: each for itself',
    series: Object.fromEntries(
      ['one', 'two'].flatMap((cluster) =>
        Object.entries({ ...A_LEADS, ...trouble(cluster === 'one' ? A : B) }).map(([name, values]) => [
          name.replace('{', `{cluster="${cluster}",`),
          values,
        ]),
      ),
    ),
    firing: [...allFour('10.0.0.1:10267'), 'EndpointdStandbyWatchDown 10.0.0.2:10267'],
  },
  {
    title: 'nobody leads',
    series: { ...A_LEADS, [`leader_election_master_status{${A},name="endpointd"}`]: '1x30 0x30' },
    firing: ['EndpointdNoLeader -'],
  },
  {
    title: 'the leader has taken away most endpoints half an hour ago, and a standby too',
    series: {
      ...A_LEADS,
      [`endpointd_mass_removals_total{${A}}`]: '0x10 1x50',
      [`endpointd_mass_removals_total{${B}}`]: '0x10 1x50',
    },
    firing: ['EndpointdMassRemoval 10.0.0.1:10267'],
  },
  {
    title: 'who has taken away most endpoints leads no more',
    series: {
      ...BOTH_UP,
      [`leader_election_master_status{${A},name="endpointd"}`]: '1x15 0x45',
      [`leader_election_master_status{${B},name="endpointd"}`]: '0x15 1x45',
      [`endpointd_mass_removals_total{${A}}`]: '0x10 1x50',
      [`endpointd_mass_removals_total{${B}}`]: '0x60',
    },
    firing: ['EndpointdMassRemoval 10.0.0.1:10267'],
  },
  {
    title: 'the class of what holds a service up changes every five minutes',
    series: {
      ...A_LEADS,
      [`endpointd_stuck_service{${A},controller="endpoints",namespace="shop",service="web",class="server"}`]:
        '1x4 _x5 1x4 _x5 1x4 _x5 1x4 _x5 1x4 _x5',
      [`endpointd_stuck_service{${A},controller="endpoints",namespace="shop",service="web",class="throttled"}`]:
        '_x5 1x4 _x5 1x4 _x5 1x4 _x5 1x4 _x5 1x4',
    },
    firing: ['EndpointdServiceStuck 10.0.0.1:10267'],
  },
  {
    title: 'one replica restarts three times within half an hour, the other one twice',
    series: {
      ...A_LEADS,
      [`process_start_time_seconds{${A}}`]: '1000x20 2200x4 2500x4 2800x30',
      [`process_start_time_seconds{${B}}`]: '1000x20 2200x4 2500x35',
    },
    firing: ['EndpointdRestarts 10.0.0.1:10267'],
  },
  {
    title: 'live data fill the heap of a standby, and that of the leader holds garbage',
    series: {
      ...A_LEADS,
      [`nodejs_heap_size_used_bytes{${A}}`]: '260+13x20 260+13x20 260+13x20',
      [`endpointd_heap_limit_bytes{${A}}`]: '524x60',
      [`nodejs_heap_size_used_bytes{${B}}`]: '380+6x20 380+6x20 380+6x20',
      [`endpointd_heap_limit_bytes{${B}}`]: '524x60',
    },
    firing: ['EndpointdHeapNearlyFull 10.0.0.2:10267'],
  },
  {
    title: 'a replica is gone without a trace',
    series: {
      [`up{${A}}`]: '1x60',
      [`up{${B}}`]: '1x10',
      [`leader_election_master_status{${A},name="endpointd"}`]: '1x60',
    },
    firing: ['EndpointdReplicaDown -'],
  },
  {
    title: 'a replica has never come up, as kube-state-metrics tells',
    series: { [`up{${A}}`]: '1x60', [UNAVAILABLE]: '1x60' },
    firing: ['EndpointdReplicaDown -'],
  },
  {
    title: 'a replica is gone for more than a day, as kube-state-metrics tells',
    series: { [`up{${A}}`]: '1x1600', [`up{${B}}`]: '1x10', [UNAVAILABLE]: '0x10 1x1589' },
    firing: ['EndpointdReplicaDown -'],
    at: '26h',
  },
  {
    title: 'a replica is down, and kube-state-metrics tells it too: one alert',
    series: { [`up{${A}}`]: '1x60', [`up{${B}}`]: '1x10 0x50', [UNAVAILABLE]: '0x10 1x50' },
    firing: ['EndpointdReplicaDown 10.0.0.2:10267'],
  },
  {
    title: 'in a roll-out the old pod is still up beside the new one for a moment: none',
    series: {
      [`up{${A}}`]: '1x60',
      [`up{${B}}`]: '1x15 stale',
      'up{job="endpointd",instance="10.0.0.3:10267"}': '_x14 1x45',
      [`leader_election_master_status{${A},name="endpointd"}`]: '1x60',
    },
    firing: [],
  },
  {
    title: 'leadership comes and goes, and a watch is down all the while',
    series: {
      ...BOTH_UP,
      [`leader_election_master_status{${A},name="endpointd"}`]: Array.from({ length: 20 }, () => '1x1 0x0').join(' '),
      [`leader_election_master_status{${B},name="endpointd"}`]: '0x60',
      [`endpointd_watch_up{${A},resource="pods"}`]: '0x60',
    },
    firing: ['EndpointdLeaderUnsteady -', 'EndpointdWatchDown 10.0.0.1:10267'],
  },
  {
    title: 'the leader waits to take over, with something due for over five minutes',
    series: {
      ...A_LEADS,
      [`endpointd_take_over_longest_due_seconds{${A}}`]: '0x30 0+60x30',
      [`endpointd_take_over_longest_due_seconds{${B}}`]: '0x60',
    },
    firing: ['EndpointdTakeOverStuck 10.0.0.1:10267'],
  },
  {
    title: 'the leader waits to take over, and something becomes due again and again: none',
    series: { ...A_LEADS, [`endpointd_take_over_longest_due_seconds{${A}}`]: '0x30 0+60x5 0+60x25' },
    firing: [],
  },
  {
    title: 'a client certificate of a year ends in five hours, the other one in weeks',
    series: {
      ...A_LEADS,
      [`endpointd_client_certificate_expiration_timestamp_seconds{${A}}`]: '20000x60',
      [`endpointd_client_certificate_lifetime_seconds{${A}}`]: '31536000x60',
      [`endpointd_client_certificate_expiration_timestamp_seconds{${B}}`]: '2000000x60',
      [`endpointd_client_certificate_lifetime_seconds{${B}}`]: '31536000x60',
    },
    firing: ['EndpointdClientCertificateEnds 10.0.0.1:10267'],
  },
  {
    title: 'a serving certificate of a year ends in five hours, that of an hour is renewed late',
    series: {
      ...A_LEADS,
      [`endpointd_serving_certificate_expiration_timestamp_seconds{${A}}`]: '20000x60',
      [`endpointd_serving_certificate_lifetime_seconds{${A}}`]: '31536000x60',
      [`endpointd_serving_certificate_expiration_timestamp_seconds{${B}}`]: '2460x60',
      [`endpointd_serving_certificate_lifetime_seconds{${B}}`]: '3600x60',
    },
    firing: ['EndpointdServingCertificateEnds 10.0.0.1:10267'],
  },
  {
    title: 'the client certificate of an hour, of a plugin, is renewed late: none',
    series: {
      ...A_LEADS,
      [`endpointd_client_certificate_expiration_timestamp_seconds{${A}}`]: '2460x60',
      [`endpointd_client_certificate_lifetime_seconds{${A}}`]: '3600x60',
    },
    firing: [],
  },
  {
    title: 'rights are missing, of the standby too',
    series: {
      ...A_LEADS,
      [`endpointd_missing_rights{${A}}`]: '2x60',
      [`endpointd_missing_rights{${B}}`]: '0x20 1x40',
    },
    firing: ['EndpointdRightsMissing 10.0.0.1:10267', 'EndpointdRightsMissing 10.0.0.2:10267'],
  },
  {
    title: 'rights were missing for less than ten minutes: none',
    series: { ...A_LEADS, [`endpointd_missing_rights{${A}}`]: '0x20 1x15 0x5 1x20' },
    firing: [],
  },
  {
    title: 'one replica is down, and the other one leads',
    series: {
      [`up{${A}}`]: '1x60',
      [`up{${B}}`]: '1x10 0x50',
      [`leader_election_master_status{${A},name="endpointd"}`]: '1x60',
    },
    firing: ['EndpointdReplicaDown 10.0.0.2:10267'],
  },
  {
    title: 'both are down',
    series: { [`up{${A}}`]: '1x10 0x50', [`up{${B}}`]: '1x10 0x50' },
    firing: ['EndpointdDown -', 'EndpointdReplicaDown 10.0.0.1:10267', 'EndpointdReplicaDown 10.0.0.2:10267'],
  },
  {
    title: 'all of one cluster have gone without a trace, and another cluster goes on',
    series: {
      'up{cluster="one",job="endpointd",instance="10.0.0.1:10267"}': '1x10',
      'up{cluster="two",job="endpointd",instance="10.0.0.1:10267"}': '1x60',
    },
    firing: ['EndpointdDown -'],
  },
  { title: 'all have gone without a trace', series: { [`up{${A}}`]: '1x10' }, firing: ['EndpointdDown -'] },
  {
    title: 'all have gone for more than a day, and the rules are still there',
    series: { [`up{${A}}`]: '1x10' },
    firing: ['EndpointdDown -'],
    at: '26h',
  },
  {
    title: 'the leadership changes hands four times within a quarter of an hour: none',
    series: {
      ...BOTH_UP,
      [`leader_election_master_status{${A},name="endpointd"}`]: '1x20 0x2 1x2 0x2 1x32',
      [`leader_election_master_status{${B},name="endpointd"}`]: '0x20 1x2 0x2 1x2 0x32',
    },
    firing: [],
  },
  { title: 'nothing is scraped', series: { 'up{job="other"}': '1x60' }, firing: ['EndpointdDown -'] },
  {
    title: "kube-controller-manager's own leaders are none of ours",
    series: {
      ...A_LEADS,
      'leader_election_master_status{job="kube-controller-manager",name="kube-controller-manager"}': '0x60',
    },
    firing: [],
  },
];

/** A file of unit tests for `promtool test rules`. */
export function unitTests(rules: string, cases: readonly AlertCase[]): string {
  const tests = cases.map(({ title, series, firing, at = '40m' }) => ({
    name: title,
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      {
        expr: 'group by (alertname, instance) (ALERTS{alertstate="firing"})',
        eval_time: at,
        exp_samples: firing.map((alert) => {
          const [name, instance] = alert.split(' ');
          const labels = instance === '-' ? '' : `, instance="${instance}"`;
          return { labels: `{alertname="${name}"${labels}}`, value: 1 };
        }),
      },
    ],
  }));
  return JSON.stringify({ rule_files: [rules], evaluation_interval: '1m', tests });
}

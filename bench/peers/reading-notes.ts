/** What a reader has to know of all tables and plots. */
import { P99_NOTE } from './basis.ts';

/** `about` begins the sentence that `text` goes on with, in Markdown. */
export interface ReadingNote {
  readonly about: string;
  readonly text: string;
}

export const READING_NOTES: readonly ReadingNote[] = [
  {
    about: 'The server',
    text: 'is kube-apiserver with etcd on the same two cores. etcd does not wait for the disk, everything is allowed, priority and fairness is off, 2,000 requests may be in flight, and the admission of service accounts and taints is off: so latencies are those of the controllers, and lower than in a cluster. `flow-control` has the defaults of the disk and of priority and fairness. Scenarios that say so run on the embedded API server.',
  },
  {
    about: 'What is there at the begin',
    text: 'was written by the controller that is measured, where a scenario begins with all objects. In runs of commands of before 28 November 2026, 12:30, endpointd had written it for both: each write of kube-controller-manager carried the entry of a second writer in its managedFields, 171 bytes more of an Endpoints object and 188 of a slice in `churn`, some tenth of each.',
  },
  {
    about: 'endpointd',
    text: 'is one process, started as in `deploy/` but for the leader election: without a compile cache and with its secure port. `deploy/` runs two replicas, and the second one has the caches and the watches of the first: it is in the figures of `standby` alone. kube-controller-manager is one process without leader election, too; its standby keeps no caches. Runs of commands that do not say so had a warm cache and no secure port, which saves some 40 ms of CPU at a start.',
  },
  {
    about: 'The certificate',
    text: 'of its secure port is made by endpointd at its start, and counts. That of kube-controller-manager is made before, which saves it 0.17 s of CPU at a start: that is no work of its controllers.',
  },
  {
    about: 'The echo floor',
    text: "is a program that answers each event of a pod with two ready-made writes of the same size, and plans and caches nothing: no controller on Node can be cheaper on bare sockets. It sends the slice first, as endpointd does; in runs of commands of before 28 November 2026, 15:00, it sent the write of Endpoints first, and its slice was the later for it. In runs of before 27 November 2026 it lost a change where kube-apiserver had closed one of its connections, as it does with one that was not used for 32 s. Such a run ended wrong. In runs of commands without *loop* its watch was in JSON and it had none of endpointd's flags of Node: that is another floor.",
  },
  {
    about: 'A ratio',
    text: 'is of the medians of the runs, endpointd by kube-controller-manager, with a bootstrap interval over the pairs; of fewer than five pairs it is no more than their range, so nothing is said to count. A p99 and the longest are of all samples of all runs together, their intervals too. *A/A* is the ratio of two runs of the same endpointd in each round; elsewhere endpointd stands for both.',
  },
  { about: 'A p99', text: P99_NOTE },
  {
    about: 'Noise',
    text: 'is by how much two runs of the same program differ, in the median, and where there is an A/A pair at least the further bound of its interval. A difference counts if it is beyond the noise and its interval does not hold 1. One in the longest never does, because that is a single sample.',
  },
  {
    about: 'A mark',
    text: 'is judged by all runs, and lies *within the noise* if more than one of forty resamples of its rounds is judged otherwise. One run, or few (fewer than five), say no more than what they found. `growth` lies within the noise where its rounds do not agree, and `coalescing` where the interval of a ratio does not tell. The benches at the end keep one run each, and take medians of it.',
  },
  {
    about: 'A latency',
    text: 'is from the answer to a change until an independent watcher has the object. A change that was taken back before the controller showed it counts with the time until then, and with 0 if it wants what was shown all along (in runs of before 26 November 2026 it has no sample then). Who is late has more of these, so they make its p50 shorter: where any were taken back, their share and the latencies without those of 0 stand beside it, and without all that were taken back, if the runs have kept that. Runs that ended wrong have no say.',
  },
  {
    about: 'The check on the stream',
    text: 'follows which addresses are ready in each Service: one that vanishes or comes back without a change is a wrong run. Ports, zones, hints and the other conditions are looked at when the measure has ended, and so are addresses that no change has ever touched. An address in two slices at once is ready. Once an Endpoints object has more than 1,000 addresses, only its slices are followed. Where a scenario restarts the API server, what happens while nothing watches is not seen.',
  },
  {
    about: 'A warm-up',
    text: 'is a quarter of the changes of a measure, so `--seconds` makes both longer. That of `huge-warm` is a minute. Flags that say for how long change no mark; the marks and the scenarios that were measured so say it.',
  },
  {
    about: 'A stage',
    text: 'is told by itself. The event of a change often reaches the controller before the load has the answer to the change, and a write often reaches the watcher before the controller has its answer. Planning and writing count whole then, so the stages of a change together may be longer than its latency.',
  },
  {
    about: "CL2's figures",
    text: 'are from the trigger time to the watch, as ClusterLoader2 measures. Trigger times have whole seconds, so of two quick controllers these figures tell no difference, and none of them counts.',
  },
];

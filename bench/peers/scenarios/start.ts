/** Starts from nothing, and starts on right objects. */
import { ratioOf } from '../../support/statistics.ts';
import {
  ratioText,
  ENDPOINTD,
  MANAGER,
  shareMark,
  type FigureOf,
  type Mark,
  type PeerName,
  type Scenario,
  type Stage,
} from '../scenario.ts';
import { FEW, LARGE, LARGER, ONENS, SPREAD } from './profiles.ts';

const PEAK_MB_MAX = 600;

const NOTHING_WRITTEN: Mark = {
  what: 'no writes',
  look: (of) => {
    const writes = of(ENDPOINTD, 'writes');
    return Number.isNaN(writes) ? null : { got: String(writes), reached: writes === 0 };
  },
};

export const ONENS_COLD: Scenario = {
  name: 'onens',
  what: '2,000 services of 5 pods in one namespace, from nothing',
  pairSeconds: 80,
  server: 'kube',
  outset: 'nothing',
  profile: ONENS,
  leavesInputs: true,
  story: fromNothing,
  marks: [shareMark('CPU', 'controllerCpu', 1 / 20, '1/20')],
};

export const SPREAD_COLD: Scenario = {
  name: 'spread',
  what: '2,000 services of 5 pods in 20 namespaces, from nothing',
  pairSeconds: 45,
  server: 'kube',
  outset: 'nothing',
  profile: SPREAD,
  leavesInputs: true,
  story: fromNothing,
  marks: [
    shareMark('CPU', 'controllerCpu', 0.45, '0.45'),
    shareMark('CPU (stretch)', 'controllerCpu', 1 / 3, '1/3'),
    {
      what: 'wall <= 1/2 of the original, or the server and the load keep 85 % of the cores busy',
      look: (of) => {
        const [ratio, busy] = [of(ENDPOINTD, 'wall') / of(MANAGER, 'wall'), of(ENDPOINTD, 'serverShare')];
        if (!Number.isFinite(ratio)) return null;
        return { got: `${ratioText(ratio)}, ${busy.toFixed(0)} %`, reached: ratio <= 0.5 || busy >= 85 };
      },
    },
  ],
};

export const RESTART: Scenario = {
  name: 'restart',
  what: 'a start where all of 10,000 pods, 500 in each of 20 namespaces, is right already: nothing to write',
  pairSeconds: 20,
  server: 'kube',
  outset: 'right',
  profile: SPREAD,
  leavesInputs: true,
  endsAtRest: true,
  story: restart,
  marks: [shareMark('CPU', 'controllerCpu', 1 / 3, '1/3'), NOTHING_WRITTEN],
};

export const RESTART_FEW: Scenario = {
  name: 'restart-few',
  what: 'a start where all of 1,000 pods is right already: what each further pod costs',
  pairSeconds: 20,
  server: 'kube',
  outset: 'right',
  profile: FEW,
  leavesInputs: true,
  endsAtRest: true,
  story: restart,
  marks: [
    {
      what: "CPU of each further pod of a restart <= 1/10 of kube-controller-manager's",
      look: (of) => {
        const [ours, theirs] = [ENDPOINTD, MANAGER].map((peer) => cpuAFurtherPod(of, peer)) as [number, number];
        const ratio = ratioOf(ours, theirs);
        if (!Number.isFinite(ratio)) return null;
        const [us, ownUs] = [theirs * 1e6, ours * 1e6].map((each) => each.toFixed(0));
        return { got: `${ratioText(ratio)}, ${ownUs} of ${us} us`, reached: ratio <= 0.1 };
      },
    },
  ],
};

export const LARGE_COLD: Scenario = {
  name: 'large',
  what: '100,020 pods of production size, 10,934 services, from nothing, on the embedded API server (plain HTTP), some 1,300 pods in each of 77 namespaces',
  pairSeconds: 180,
  server: 'embedded',
  outset: 'nothing',
  profile: LARGE,
  leavesInputs: true,
  story: fromNothing,
  marks: [shareMark('CPU', 'controllerCpu', 1 / 9, '1/9'), shareMark('peak memory', 'peakMB', 0.2, '0.20')],
};

export const LARGE_RESTART: Scenario = {
  name: 'large-restart',
  what: 'a start where all of 100,020 pods is right already, some 1,300 in each of 77 namespaces, on the embedded API server (plain HTTP)',
  pairSeconds: 120,
  server: 'embedded',
  outset: 'right',
  profile: LARGE,
  leavesInputs: true,
  endsAtRest: true,
  story: restart,
  marks: [shareMark('CPU', 'controllerCpu', 1 / 15, '1/15'), NOTHING_WRITTEN],
};

export const MEMORY: Scenario = {
  name: 'memory',
  what: 'a start where all of 150,755 pods is right already, some 1,300 in each of 116 namespaces, on the embedded API server (plain HTTP): memory',
  pairSeconds: 300,
  server: 'embedded',
  outset: 'right',
  profile: LARGER,
  leavesInputs: true,
  endsAtRest: true,
  story: restart,
  marks: [
    {
      what: `peak memory <= ${PEAK_MB_MAX} MB`,
      look: (of) => {
        const peak = of(ENDPOINTD, 'peakMB');
        return Number.isNaN(peak) ? null : { got: `${peak.toFixed(0)} MB`, reached: peak <= PEAK_MB_MAX };
      },
    },
    NOTHING_WRITTEN,
  ],
};

/** Seconds of CPU, from `restart` and `restart-few`. */
function cpuAFurtherPod(of: FigureOf, peer: PeerName): number {
  const more = (figure: string): number => of(peer, figure, RESTART.name) - of(peer, figure);
  return more('controllerCpu') / more('pods');
}

/** Measures CPU and wall time of the whole process, with its start. */
async function fromNothing(stage: Stage): Promise<void> {
  stage.step('start');
  await stage.measure(async () => {
    await stage.start();
    await stage.right();
  });
  notePods(stage);
  stage.step('rest');
  await stage.rest();
  // A controller may go on when all is right: it looks at its own writes.
  stage.note('restCpu', stage.cpuSeconds());
}

/** Waits until the controller has nothing more to do, however long that takes. It then has to know the cluster. */
async function restart(stage: Stage): Promise<void> {
  stage.step('start');
  await stage.measure(async () => {
    await stage.start();
    await stage.rest();
  });
  notePods(stage);
  stage.step('known');
  await stage.knows();
}

function notePods({ cluster, note }: Stage): void {
  note('pods', cluster.pods.length);
}

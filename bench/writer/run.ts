/**
 * The sender's cost of a small PUT: CPU of the whole client process for each way, in plain HTTP and in TLS, against a
 * bare server in another process. The ways take turns, round by round.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { verdictOver } from '../marks/mark-result.ts';
import { createTeller } from '../marks/tell.ts';
import { plural } from '../../src/lib/figures.ts';
import type { Size } from '../support/micro-bench.ts';
import { median } from '../../src/lib/percentile.ts';
import { spread } from '../support/statistics.ts';
import type { ClientOrder, Round, RoundResult, ServerReady } from './messages.ts';

const SERVER = fileURLToPath(new URL('server-process.ts', import.meta.url));
const CLIENT = fileURLToPath(new URL('client-process.ts', import.meta.url));

/** Of the transport, as fast as answers come: microseconds of CPU. */
const MARKS = { plain: 100, TLS: 150 };

const WAYS = ['transport', 'own writer', 'http2', 'sockets'];

/**
 * busy: as fast as answers come. paced: as a controller at 50 flips a second, whose every write finds a cold processor.
 */
const PACES = {
  busy: { full: { count: 4000, flight: 16, every: null }, tiny: { count: 40, flight: 4, every: null } },
  paced: {
    full: { count: 120, flight: 2, every: { together: 2, ms: 20 } },
    tiny: { count: 4, flight: 2, every: { together: 2, ms: 1 } },
  },
} as const satisfies Record<string, Record<Size, Round>>;

interface Client {
  readonly name: string;
  readonly process: ChildProcess;
  readonly cpuUs: Record<keyof typeof PACES, number[]>;
}

export async function runWriterBench(size: Size, rest: readonly string[]): Promise<void> {
  const { show, end } = createTeller('writer', size, rest);
  const [rounds, warmUp] = size === 'full' ? [7, 2] : [1, 0];
  const server = fork(SERVER, { stdio: 'inherit' });
  const clients: Client[] = [];
  try {
    const ports = await ask<ServerReady>(server, 'start');
    for (const way of WAYS) for (const tls of [false, true]) clients.push(await startClient(way, tls, ports));
    for (let round = 0; round < warmUp + rounds; round++) {
      for (const pace of ['busy', 'paced'] as const) {
        for (const client of round % 2 === 0 ? clients : clients.toReversed()) {
          const { cpuUs } = await ask<RoundResult>(client.process, PACES[pace][size]);
          if (round >= warmUp) client.cpuUs[pace].push(cpuUs / PACES[pace][size].count);
        }
      }
    }
  } finally {
    for (const child of [server, ...clients.map((client) => client.process)]) child.kill('SIGKILL');
  }
  const cells = (values: readonly number[]): string[] => [
    median(values).toFixed(0),
    Math.min(...values).toFixed(0),
    spread(values).toFixed(2),
  ];
  show({
    title: 'CPU of a PUT of 500 bytes, microseconds',
    columns: ['way', ...['busy', 'paced'].flatMap((pace) => [`${pace}, median`, `${pace}, least`, `${pace}, spread`])],
    rows: clients.map(({ name, cpuUs }) => [name].concat(cells(cpuUs.busy), cells(cpuUs.paced))),
    note: `Of ${plural(rounds, 'round')}. Busy: 16 under way; paced: two together each 20 ms; spread: by how much two rounds differ`,
  });
  end(
    Object.entries(MARKS).map(([protocol, most]) => {
      const of = (way: string): Client['cpuUs'] => clients.find(({ name }) => name === `${way}, ${protocol}`)!.cpuUs;
      const text = (pace: keyof typeof PACES): string =>
        `${median(of('transport')[pace]).toFixed(0)} us, bare sockets ${median(of('sockets')[pace]).toFixed(0)}`;
      return {
        what: `CPU of a small PUT in ${protocol}, 16 under way, <= ${most} us`,
        got: `${text('busy')}; two together each 20 ms ${text('paced')}`,
        verdict: verdictOver(of('transport').busy, (drawn) => median(drawn) <= most),
        rounds,
      };
    }),
  );
}

async function startClient(way: string, tls: boolean, ports: ServerReady): Promise<Client> {
  const port = way === 'http2' ? (tls ? ports.tlsHttp2 : ports.plainHttp2) : tls ? ports.tls : ports.plain;
  const order: ClientOrder = { way, origin: `http${tls ? 's' : ''}://127.0.0.1:${port}`, ca: tls ? ports.ca : null };
  const process = fork(CLIENT, { stdio: 'inherit' });
  await ask(process, order);
  return { name: `${way}, ${tls ? 'TLS' : 'plain'}`, process, cpuUs: { busy: [], paced: [] } };
}

/** @throws Error if the process ends instead of answering */
function ask<T>(process: ChildProcess, question: object | string): Promise<T> {
  return new Promise((resolve, reject) => {
    const ended = (status: number | null): void => reject(new Error(`a process has ended with status ${status}`));
    process.once('exit', ended);
    process.once('message', (answer) => {
      process.off('exit', ended);
      resolve(answer as T);
    });
    process.send(question);
  });
}

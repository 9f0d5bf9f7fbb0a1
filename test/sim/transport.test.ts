/** The simulated network keeps the same contract as sockets do: what the stories show of the controller holds there too. */
import { createSim, type Sim } from '../support/sim.ts';
import { transportContract, type Answer, type SeenRequest, type TransportWorld } from '../suites/transport.ts';
import type { ApiReply, Watch } from '../../src/apiserver/server.ts';
import type { HttpRequest, TransportEvent } from '../../src/ports/transport.ts';

transportContract('simulated', (script, { replyBytesMax }) => {
  const sim = createSim();
  sim.pageBytesMax = () => replyBytesMax;
  const seen: SeenRequest[] = [];
  sim.script = (request) => {
    const entry = seenOf(request);
    seen.push(entry);
    return replyOf(sim, script(entry));
  };
  return Promise.resolve(worldOf(sim, seen));
});

const LONGEST_MS = 60_000;

function worldOf(sim: Sim, seen: readonly SeenRequest[]): TransportWorld {
  const events: TransportEvent[] = [];
  const transport = sim.transport((together) => {
    for (const event of together) {
      events.push(event);
      world.onEvent(event);
    }
  });
  const world: TransportWorld = {
    transport,
    events,
    seen,
    clock: sim.clocks,
    onEvent: () => undefined,
    until(done) {
      const lastMs = sim.nowMs() + LONGEST_MS;
      while (!done() && sim.nowMs() < lastMs) sim.run(1);
      return done() ? Promise.resolve() : Promise.reject(new Error(`not within a minute: ${JSON.stringify(events)}`));
    },
    quiet: () => Promise.resolve(sim.run(LONGEST_MS)),
    stopServer: () => Promise.resolve(sim.down()),
    close: () => Promise.resolve(),
  };
  return world;
}

function seenOf({ method, path, accept, contentType, body }: HttpRequest): SeenRequest {
  const text = body === null ? '' : Buffer.from(body).toString();
  return { method, path, headers: { accept, 'content-type': contentType }, body: text };
}

function replyOf(sim: Sim, answer: Answer): ApiReply | 'reset' | 'hang' {
  if (typeof answer === 'string') return answer;
  if ('status' in answer) {
    const headers = Object.entries(answer.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value] as const);
    return { status: answer.status, headers: Object.fromEntries(headers), body: Buffer.from(answer.body) };
  }
  // A stream is cut behind its next piece.
  if (answer.finish === 'reset') sim.faults.cutWatch = 1;
  const headers = { 'content-type': 'application/json' };
  return { status: 200, headers, watch: scriptedWatch(answer.chunks, answer.finish === 'end') };
}

function scriptedWatch(chunks: readonly string[], ends: boolean): Watch {
  let waiting = chunks.map((chunk) => Buffer.from(chunk));
  return {
    take() {
      const taken = waiting;
      waiting = [];
      return taken;
    },
    get ended() {
      return ends && waiting.length === 0;
    },
    onReady: null,
    close() {},
  };
}

/** The recording of a story as the queue model plays it: as if its controller had run, with a recorder beside it. */
import { endpointOf, fileOf, pod, service, slice } from '../recording/made.ts';
import type { RecordedOutput } from '../../src/recording/recording.ts';
import { type Output, OUTPUTS, perOutput } from '../../src/twin/ledger.ts';
import { type Run, runModel } from '../../src/twin/run.ts';

const RESOURCES = { endpoints: 'endpoints', slices: 'endpointslices' } as const;

function serviceOf(name: string): ReturnType<typeof service> {
  return service(name, { selector: ['app', name], clusterIP: '10.96.0.1', ipFamilies: ['IPv4'] });
}

/** Of Services of one slice, whose pods turn unready and back at times of their own. */
export function recordingOf(run: Run): Buffer {
  const { story, controller } = run;
  const { samples } = runModel(run);
  const namesOf = story.services.map((_, number) => `web-${number}`);
  const podOf = (place: number, ready: boolean): ReturnType<typeof pod> => {
    const labels = ['app', namesOf[story.places[place]!.service]!];
    return pod(`pod-${place}`, { labels, ready, podIP: `10.0.${Math.floor(place / 200)}.${1 + (place % 200)}` });
  };
  const shown = perOutput(() => story.places.map(({ start }) => start.isReady));
  const objectOf = (output: Output, number: number): RecordedOutput => {
    const endpoints = [...story.places.keys()]
      .filter((place) => story.places[place]!.service === number)
      .map((place) => endpointOf(podOf(place, true), { conditions: { ready: shown[output][place]! } }));
    const name = namesOf[number]!;
    const labels = ['kubernetes.io/service-name', name];
    return slice(output === 'slices' ? `${name}-x` : name, endpoints, { service: name, labels });
  };
  return fileOf((encoder) => {
    for (const name of namesOf) encoder.put('services', serviceOf(name), 'other', 0);
    for (const [place, { start }] of story.places.entries())
      encoder.put('pods', podOf(place, start.isReady), 'other', 0);
    for (const output of OUTPUTS) {
      for (const number of namesOf.keys()) encoder.put(RESOURCES[output], objectOf(output, number), 'controller', 0);
    }
    for (const resource of ['pods', 'services', 'nodes', 'endpoints', 'endpointslices'] as const)
      encoder.listed(resource, '1', 0);
    const events: { readonly atMs: number; readonly tell: (atMs: number) => void }[] = [];
    const placeAt = new Map<number, number>();
    for (const { atMs, places } of story.changes) {
      const [{ place, wanted }] = places as [(typeof places)[number]];
      placeAt.set(atMs, place);
      events.push({ atMs, tell: (ms) => encoder.put('pods', podOf(place, wanted.isReady), 'other', ms) });
    }
    for (const output of OUTPUTS) {
      for (const { atMs, kind, latencyMs } of samples[output]) {
        const place = placeAt.get(atMs)!;
        const tell = (ms: number): void => {
          shown[output][place] = kind === 'add';
          encoder.put(RESOURCES[output], objectOf(output, story.places[place]!.service), 'controller', ms);
        };
        events.push({ atMs: atMs + latencyMs, tell });
      }
    }
    for (const { atMs, tell } of events.toSorted((a, b) => a.atMs - b.atMs)) tell(atMs);
    for (const output of OUTPUTS) encoder.wrote(RESOURCES[output], controller, story.durationMs);
    encoder.tell(story.durationMs, { end: true });
  });
}

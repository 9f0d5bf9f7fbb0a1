/** What somebody does to the Endpoints of Services without a selector, step by step. */
import { nextInt } from '../lib/prng.ts';
import type { Change, Churn, Steps } from './change.ts';
import {
  addAddress,
  HAND_MADE_LAYOUTS,
  handMadeEndpointsObject,
  handMadeSubsets,
  type HandMadeService,
} from './hand-made.ts';
import { create, patch, remove, type WorkloadRequest } from './request.ts';

/** Changes addresses, ports, labels and annotations, one at a time. */
export function* editEndpoints({ prng }: Churn, service: HandMadeService): Steps {
  const { namespace, name, addresses } = service;
  switch (nextInt(prng, 6)) {
    case 0: {
      const skip = { 'endpointslice.kubernetes.io/skip-mirror': service.skipMirror ? null : 'true' };
      service.skipMirror = !service.skipMirror;
      yield endpointsChange(service, patch('Endpoints', namespace, name, { metadata: { labels: skip } }));
      return;
    }
    case 1: {
      service.owner = service.owner === '' ? `team-${nextInt(prng, 10)}` : '';
      const owner = { owner: service.owner === '' ? null : service.owner };
      const metadata = { labels: owner, annotations: owner };
      yield endpointsChange(service, patch('Endpoints', namespace, name, { metadata }));
      return;
    }
    case 2:
      service.layout = HAND_MADE_LAYOUTS[(HAND_MADE_LAYOUTS.indexOf(service.layout) + 1) % HAND_MADE_LAYOUTS.length]!;
      break;
    case 3:
      addAddress(service, nextInt(prng, 2) === 0);
      break;
    case 4:
      // The last address may go too, and with it all slices.
      if (addresses.length > 0) addresses.splice(nextInt(prng, addresses.length), 1);
      else addAddress(service, true);
      break;
    case 5:
      for (const address of addresses) if (nextInt(prng, 2) === 0) address.ready = !address.ready;
      break;
  }
  yield endpointsChange(service, patch('Endpoints', namespace, name, { subsets: handMadeSubsets(service) }));
}

/** Deletes the Endpoints and creates them again, with another uid. */
export function* recreateEndpoints(_: Churn, service: HandMadeService): Steps {
  const { namespace, name } = service;
  service.busy = true;
  yield endpointsChange(service, remove('Endpoints', namespace, name, 0));
  yield endpointsChange(service, create(handMadeEndpointsObject(service)));
  service.busy = false;
}

function endpointsChange({ namespace, name }: HandMadeService, request: WorkloadRequest): Change {
  return {
    kind: request.method === 'PATCH' ? 'endpoints-edit' : 'endpoints-recreate',
    object: `${namespace}/${name}`,
    pod: null,
    request,
  };
}

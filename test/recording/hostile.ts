/** A recording whose maker is hostile: its texts are what no API server takes for a name. */
import { PLAIN_NAMES } from '../../src/recording/names.ts';
import { endpointOf, fileOf, node, pod, service, slice } from './made.ts';

/** Markup, a sequence that clears a terminal, controls that turn the direction of a text, and a return to the line's begin. */
export const HOSTILE = `<script>alert('1')</script>"\u001B[2J\u202E\u2066\r`;

/** What steers a terminal or a text. Reports have line feeds of their own. */
export const UNPRINTABLE = /(?!\n)[\p{Cc}\p{Cf}]/u;

/**
 * A roll-out of a Service in which all is hostile that may be any text.
 * @param program the version of the recorder
 */
export function hostileFile(program = HOSTILE): Buffer {
  const own = { namespace: HOSTILE, uid: HOSTILE };
  const ports = [{ name: HOSTILE, protocol: HOSTILE, port: 80, targetPort: HOSTILE, appProtocol: HOSTILE }];
  return fileOf(
    (encoder) => {
      encoder.put('nodes', { ...node(HOSTILE, HOSTILE), uid: HOSTILE, allocatableCpu: HOSTILE }, 'other', 0);
      const selector = [HOSTILE, HOSTILE];
      encoder.put('services', service(HOSTILE, { ...own, selector, ports, type: HOSTILE }), 'other', 0);
      for (const resource of ['pods', 'services', 'nodes', 'endpoints', 'endpointslices'] as const)
        encoder.listed(resource, '1', 0);
      for (const [i, hash] of [`old ${HOSTILE}`, `new ${HOSTILE}`].entries()) {
        const labels = [...selector, 'pod-template-hash', hash];
        const places = { nodeName: HOSTILE, hostname: HOSTILE, podIP: `${HOSTILE}${i}` };
        const one = pod(`${i}-${HOSTILE}`, { ...own, labels, ...places });
        encoder.put('pods', one, 'other', 1000 * i + 10);
        const endpoints = [endpointOf(one, { hostname: HOSTILE, zone: HOSTILE, forZones: [HOSTILE] })];
        const output = { ...own, labels: ['kubernetes.io/service-name', HOSTILE], service: HOSTILE };
        encoder.put('endpointslices', slice(HOSTILE, endpoints, output), 'controller', 1000 * i + 20);
        encoder.put(
          'endpoints',
          slice(HOSTILE, endpoints, { ...output, addressType: '' }),
          'controller',
          1000 * i + 30,
        );
      }
      encoder.tell(60_000, { end: true });
    },
    PLAIN_NAMES,
    program,
  );
}

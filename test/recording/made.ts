/** Records and recordings of them, for tests. */
import { ZSTD } from '../../src/cli/record/recording-file.ts';
import { emptyPod, emptyService } from '../../src/kube/record.ts';
import type { NodeRecord, PodRecord, ServiceRecord } from '../../src/kube/types.ts';
import { createEncoder, type Encoder } from '../../src/recording/encode.ts';
import { createFrameWriter } from '../../src/recording/frames.ts';
import { PLAIN_NAMES, type Names } from '../../src/recording/names.ts';
import { readRecording, type Recording } from '../../src/recording/read.ts';
import type { RecordedEndpoint, RecordedOutput } from '../../src/recording/recording.ts';

export const BEGAN = 1_700_000_000;

export function pod(name: string, fields: Partial<PodRecord> = {}): PodRecord {
  return {
    ...emptyPod(),
    namespace: 'shop',
    name,
    uid: `uid-${name}`,
    labels: ['app', 'web'],
    nodeName: 'worker-1',
    phase: 'Running',
    ready: true,
    readyTime: BEGAN - 10,
    podIP: `192.0.2.${name.length + Number(name.split('-').at(-1) ?? 0)}`,
    podIPs: null,
    ports: [{ name: 'web', containerPort: 8080, protocol: 'TCP' }],
    ...fields,
  };
}

export function service(name: string, fields: Partial<ServiceRecord> = {}): ServiceRecord {
  return {
    ...emptyService(),
    namespace: 'shop',
    name,
    uid: `uid-${name}`,
    type: 'ClusterIP',
    selector: ['app', 'web'],
    ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 'web', appProtocol: undefined }],
    ...fields,
  };
}

export function node(name: string, zone: string): NodeRecord {
  const labels = ['topology.kubernetes.io/zone', zone];
  return { name, uid: `uid-${name}`, resourceVersion: '', labels, ready: true, allocatableCpu: '4' };
}

export function endpointOf(
  { name, uid, podIP, nodeName }: PodRecord,
  fields: Partial<RecordedEndpoint> = {},
): RecordedEndpoint {
  return {
    addresses: [podIP],
    conditions: { ready: true, serving: true, terminating: false },
    hostname: '',
    nodeName,
    zone: 'zone-a',
    pod: name,
    podUid: uid,
    forZones: [],
    forNodes: [],
    subset: 0,
    ...fields,
  };
}

export function slice(
  name: string,
  endpoints: readonly RecordedEndpoint[],
  fields: Partial<RecordedOutput> = {},
): RecordedOutput {
  return {
    namespace: 'shop',
    name,
    uid: `uid-${name}`,
    resourceVersion: '',
    labels: ['kubernetes.io/service-name', 'web'],
    service: 'web',
    addressType: 'IPv4',
    triggerMs: 0,
    leaderElection: false,
    overCapacity: false,
    ports: [[{ name: 'http', protocol: 'TCP', port: 8080 }]],
    endpoints,
    ...fields,
  };
}

/** The file that `tell` makes, a frame for each call of `flush`. */
export function fileOf(
  tell: (encoder: Encoder, flush: () => void) => void,
  names: Names = PLAIN_NAMES,
  program = '1.2.3',
): Buffer {
  const parts: Uint8Array[] = [];
  const frames = createFrameWriter(ZSTD, (bytes) => parts.push(bytes));
  const encoder = createEncoder(names, BEGAN, frames.add);
  encoder.header({ program, names: names === PLAIN_NAMES ? 'plain' : 'pseudonyms' });
  tell(encoder, frames.flush);
  frames.flush();
  return Buffer.concat(parts);
}

export function read(file: Uint8Array, objectsMax?: number): Recording {
  return readRecording((at, bytes) => file.subarray(at, at + bytes), ZSTD, objectsMax);
}

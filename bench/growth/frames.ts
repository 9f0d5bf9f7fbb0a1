/**
 * Frames of a watch, made in advance: the frame of one pod is the pattern, and the names of other pods are put into it.
 */
import { encodeEnvelope, encodeObject } from '../../src/kube/codec.ts';
import { PROTOBUF } from '../../src/kube/media-type.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { encodeWatchFrame, type WatchType } from '../../src/kube/watch-framing.ts';
import { storedPodBytes, uidOf } from '../support/stored-pod.ts';
import { podOf, podPartsAt, podRevision, type PodParts, type Shape } from './shape.ts';

export interface PodFrames {
  /** The length of each frame. */
  readonly length: number;
  /** Writes the frame of a ready pod at `offset`. */
  readonly put: (target: Buffer, offset: number, index: number) => void;
}

/** Placeholders. They are as long as the names that replace them, and occur nowhere else in a pod. */
const PLACES: PodParts = {
  namespace: 'growth-NN',
  app: 'app-AAAAAA',
  name: 'app-AAAAAA-PPPPPPP',
  node: 'node-OOOOOO',
  address: '10.AAA.BBB.CCC',
};
const PLACE_REVISION = 987_654_321;

interface Hole {
  readonly offsets: readonly number[];
  readonly textAt: (index: number, parts: PodParts) => string;
}

export function podFrames(shape: Shape): PodFrames {
  const pattern = podFrame('ADDED', PLACES, PLACE_REVISION, PLACE_REVISION);
  const hole = (place: string, textAt: Hole['textAt']): Hole => ({ offsets: offsetsOf(pattern, place), textAt });
  const holes: readonly Hole[] = [
    hole(PLACES.namespace, (_, { namespace }) => namespace),
    // The name of a pod begins with the name of its app, so the app's placeholder comes after it.
    hole(PLACES.app, (_, { app }) => app),
    hole(PLACES.name, (_, { name }) => name),
    hole(PLACES.node, (_, { node }) => node),
    hole(PLACES.address, (_, { address }) => address),
    hole(uidOf(PLACE_REVISION), (index) => uidOf(podRevision(index))),
    hole(String(PLACE_REVISION), (index) => String(podRevision(index))),
  ];
  return {
    length: pattern.length,
    put: (target, offset, index) => {
      target.set(pattern, offset);
      const parts = podPartsAt(shape, index);
      for (const { offsets, textAt } of holes) {
        const text = textAt(index, parts);
        for (const at of offsets) target.write(text, offset + at, 'latin1');
      }
    },
  };
}

/** @param seconds when the pod became ready or unready; default: long ago */
export function podFrame(
  type: WatchType,
  parts: PodParts,
  revision: number,
  version: number,
  ready = true,
  seconds?: number,
): Buffer {
  const pod = seconds === undefined ? podOf(parts, ready) : podOf(parts, ready, seconds);
  return frameOf(type, encodeEnvelope('v1', 'Pod', storedPodBytes(pod, revision, version)));
}

export function objectFrame(type: WatchType, object: KubeObject): Buffer {
  return frameOf(type, encodeObject(object));
}

function frameOf(type: WatchType, body: Uint8Array): Buffer {
  const { buffer, byteOffset, byteLength } = encodeWatchFrame(PROTOBUF, type, body);
  return Buffer.from(buffer, byteOffset, byteLength);
}

function offsetsOf(bytes: Buffer, text: string): number[] {
  const offsets: number[] = [];
  for (let at = bytes.indexOf(text, 0, 'latin1'); at >= 0; at = bytes.indexOf(text, at + 1, 'latin1')) offsets.push(at);
  return offsets;
}

import { labelsGet } from '../kube/labels.ts';
import { TOLERATE_UNREADY_ANNOTATION } from '../kube/names.ts';
import type { ServiceRecord } from '../kube/types.ts';
import { parseBool } from '../lib/parse-bool.ts';
import { quoted, type Problem } from './problem.ts';

export interface PublishingConfig {
  /** `--tolerate-unready-endpoints-annotation`: honour the annotation that upstream dropped in 1.24. */
  readonly tolerateUnreadyEndpointsAnnotation: boolean;
}

export interface Publishing {
  /** Unready pods count as ready, and terminating ones stay. */
  readonly publishNotReady: boolean;
  readonly problem: Problem | null;
}

/** A valid annotation wins over `spec.publishNotReadyAddresses`, both ways. */
export function publishingOf(service: ServiceRecord, config: PublishingConfig): Publishing {
  const publishNotReady = service.publishNotReadyAddresses;
  const text = config.tolerateUnreadyEndpointsAnnotation
    ? labelsGet(service.annotations, TOLERATE_UNREADY_ANNOTATION)
    : undefined;
  if (text === undefined) return { publishNotReady, problem: null };
  const value = parseBool(text);
  if (value !== null) return { publishNotReady: value, problem: null };
  return {
    publishNotReady,
    problem: {
      kind: 'bad-annotation',
      object: `service ${service.namespace}/${service.name}`,
      field: `metadata.annotations[${TOLERATE_UNREADY_ANNOTATION}]`,
      message: `not a boolean, ignored: ${quoted(text)}`,
    },
  };
}

/** The events that this controller records about a Service, as data. */

export interface EventReason {
  readonly type: 'Warning' | 'Normal';
  /** `service`: `<namespace>/<name>`; `detail`: what went wrong, in one line. */
  readonly message: (service: string, detail: string) => string;
}

/** The first two are upstream's, word for word (spec/endpoints.md 17); a plain conflict is no event here. */
export const EVENT_REASONS = {
  FailedToCreateEndpoint: {
    type: 'Warning',
    message: (service, detail) => `Failed to create endpoint for service ${service}: ${detail}`,
  },
  FailedToUpdateEndpoint: {
    type: 'Warning',
    message: (service, detail) => `Failed to update endpoint ${service}: ${detail}`,
  },
  /** Upstream cuts at 1,000 addresses in silence. */
  EndpointsTruncated: {
    type: 'Warning',
    message: (service, detail) => `Endpoints ${service} are incomplete: ${detail}`,
  },
  /** Upstream drops the key here. */
  EndpointsStuck: {
    type: 'Warning',
    message: (service, detail) => `Endpoints ${service} cannot be brought up to date: ${detail}`,
  },
  /** A pod's address is left out, so that it does not spoil the whole object. */
  EndpointAddressSkipped: {
    type: 'Warning',
    message: (service, detail) => `An address of service ${service} was left out: ${detail}`,
  },
  ServiceAnnotationIgnored: {
    type: 'Warning',
    message: (service, detail) => `An annotation of service ${service} was ignored: ${detail}`,
  },
} as const satisfies Record<string, EventReason>;

export type EventReasonName = keyof typeof EVENT_REASONS;

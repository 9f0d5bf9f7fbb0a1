/** The Event objects that the controllers record about a Service or its Endpoints, as data. */

export interface EventReason {
  readonly type: 'Warning' | 'Normal';
  /** The kind of object that it is recorded on. Default: the one that its controller's Event objects are about. */
  readonly about?: 'Service' | 'Endpoints';
  /**
   * `service`: `<namespace>/<name>`. `detail`: one line that says what went wrong, unless the reason says otherwise.
   */
  readonly message: (service: string, detail: string) => string;
}

/**
 * The first two of Endpoints and the first five of slices are upstream's, word for word (docs/spec/endpoints.md
 * "Events", docs/spec/endpointslice.md "Events"). A plain conflict is not recorded here.
 */
export const EVENT_REASONS = {
  FailedToCreateEndpoint: {
    type: 'Warning',
    about: 'Endpoints',
    message: (service, detail) => `Failed to create endpoint for service ${service}: ${detail}`,
  },
  FailedToUpdateEndpoint: {
    type: 'Warning',
    about: 'Endpoints',
    message: (service, detail) => `Failed to update endpoint ${service}: ${detail}`,
  },
  FailedToUpdateEndpointSlices: {
    type: 'Warning',
    message: (service, detail) => `Error updating Endpoint Slices for Service ${service}: ${detail}`,
  },
  /** `detail`: the address type. */
  TopologyAwareHintsEnabled: {
    type: 'Normal',
    message: (_service, detail) => `Topology Aware Hints has been enabled, addressType: ${detail}`,
  },
  /** `detail`: the whole text, with `, addressType: <t>` at its end. */
  TopologyAwareHintsDisabled: { type: 'Warning', message: (_service, detail) => detail },
  /** This one and the next are recorded on the Endpoints object. `detail`: the whole text. */
  InvalidIPAddress: { type: 'Warning', message: (_service, detail) => detail },
  /** `detail`: the whole text. */
  TooManyAddressesToMirror: { type: 'Warning', message: (_service, detail) => detail },
  /** Upstream truncates at 1,000 addresses without saying so. */
  EndpointsTruncated: {
    type: 'Warning',
    message: (service, detail) => `Endpoints ${service} are incomplete: ${detail}`,
  },
  /** Upstream drops the key at this point. */
  EndpointsStuck: {
    type: 'Warning',
    message: (service, detail) => `Endpoints ${service} cannot be brought up to date: ${detail}`,
  },
  /** Upstream drops the key after 15 tries. The same holds for the next reason. */
  EndpointSlicesStuck: {
    type: 'Warning',
    message: (service, detail) => `EndpointSlices of service ${service} cannot be brought up to date: ${detail}`,
  },
  MirroredEndpointSlicesStuck: {
    type: 'Warning',
    message: (service, detail) =>
      `EndpointSlices that mirror Endpoints ${service} cannot be brought up to date: ${detail}`,
  },
  /** A pod is left out of the slices until its node is known. Upstream fails the whole sync again and again. */
  EndpointOnUnknownNode: {
    type: 'Warning',
    message: (service, detail) => `A pod of service ${service} was left out of its EndpointSlices: ${detail}`,
  },
  /** A pod's address is left out. Otherwise the whole object would be refused. */
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

/** One API object as it came off the wire, not yet read. */
export type ObjectSource =
  | {
      readonly encoding: 'protobuf';
      readonly kind: string;
      readonly apiVersion: string;
      /** The bare message, without envelope; a view into the buffer that it came in. */
      readonly bytes: Uint8Array;
    }
  | {
      readonly encoding: 'json';
      readonly kind: string;
      readonly apiVersion: string;
      readonly value: object;
    };

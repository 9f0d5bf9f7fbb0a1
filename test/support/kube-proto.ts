/** Another protobuf library behind the JSON shape of the API: the oracle for the codec of src/kube. */
import { join } from 'node:path';
import protobufjs, { type Field, type Namespace, type Type } from 'protobufjs';

const root = protobufjs.loadSync(join(import.meta.dirname, 'kube.proto'));

type JsonObject = Record<string, unknown>;

/** @param message the name in kube.proto; usually the kind */
export function encodeByOracle(message: string, object: object): Uint8Array {
  const type = root.lookupType(message);
  return new Uint8Array(type.encode(type.fromObject(toMessage(type, object as JsonObject))).finish());
}

/** Only what is on the wire: nothing is defaulted. */
export function decodeByOracle(message: string, bytes: Uint8Array): JsonObject {
  const type = root.lookupType(message);
  return fromMessage(type, type.toObject(type.decode(bytes), { longs: Number, bytes: String }));
}

/** Every field of kube.proto with its tag: the number and the wire type of a value of its type. */
export function tagsByOracle(): { message: string; field: string; tag: number }[] {
  const types = (root.lookup('kube') as Namespace).nestedArray.filter((type) => type instanceof protobufjs.Type);
  return types.flatMap(({ name: message, fieldsArray }) =>
    fieldsArray.map((field) => {
      const wire = field.map ? 2 : (protobufjs.types.basic[field.type as 'string'] ?? 2);
      return { message, field: field.name, tag: (field.id << 3) | wire };
    }),
  );
}

/** With the envelope of unary bodies. */
export function envelopeByOracle(apiVersion: string, kind: string, raw: Uint8Array): Uint8Array {
  const unknown = root.lookupType('Unknown').encode({ typeMeta: { apiVersion, kind }, raw }).finish();
  return new Uint8Array(Buffer.concat([Buffer.from('k8s\0'), unknown]));
}

/** One frame of a protobuf watch. */
export function frameByOracle(type: string, envelope: Uint8Array): Uint8Array {
  const event = root
    .lookupType('WatchEvent')
    .encode({ type, object: { raw: envelope } })
    .finish();
  const length = Buffer.alloc(4);
  length.writeUInt32BE(event.length);
  return new Uint8Array(Buffer.concat([length, event]));
}

function toMessage(type: Type, object: JsonObject): JsonObject {
  return mapFields(type, object, (field, value) => {
    switch (field.type) {
      case 'Time':
      case 'MicroTime': {
        const [text, fraction = ''] = String(value).replace('Z', '').split('.');
        return { seconds: Date.parse(`${text}Z`) / 1000, nanos: Number(fraction.padEnd(9, '0')) };
      }
      case 'IntOrString': {
        return typeof value === 'string' ? { type: 1, strVal: value } : { type: 0, intVal: value };
      }
      case 'Quantity': {
        return { string: value };
      }
      case 'FieldsV1': {
        return { Raw: Buffer.from(JSON.stringify(value)) };
      }
      case 'ProbeHandler':
      case 'VolumeSource': {
        return value;
      }
      default: {
        return field.resolvedType === null ? value : toMessage(field.resolvedType as Type, value as JsonObject);
      }
    }
  });
}

function fromMessage(type: Type, message: JsonObject): JsonObject {
  return mapFields(type, message, (field, value) => {
    const fields = value as { seconds?: number; nanos?: number; type?: number; strVal?: string; intVal?: number };
    switch (field.type) {
      case 'Time': {
        return new Date((fields.seconds ?? 0) * 1000).toISOString().replace('.000Z', 'Z');
      }
      case 'MicroTime': {
        const micros = String((fields.nanos ?? 0) / 1000).padStart(6, '0');
        return new Date((fields.seconds ?? 0) * 1000).toISOString().replace('.000Z', `.${micros}Z`);
      }
      case 'IntOrString': {
        return fields.type === 1 ? (fields.strVal ?? '') : (fields.intVal ?? 0);
      }
      case 'Quantity': {
        return (value as { string?: string }).string ?? '';
      }
      default: {
        return field.resolvedType === null ? value : fromMessage(field.resolvedType as Type, value as JsonObject);
      }
    }
  });
}

function mapFields(type: Type, object: JsonObject, change: (field: Field, value: unknown) => unknown): JsonObject {
  const result: JsonObject = {};
  for (const [name, value] of Object.entries(object)) {
    const field = type.fields[name]?.resolve();
    if (field === undefined || value === undefined) continue;
    if (field.map) {
      const entries = Object.entries(value as JsonObject).map(([key, item]) => [key, change(field, item)]);
      result[name] = Object.fromEntries(entries);
    } else {
      result[name] = field.repeated ? (value as unknown[]).map((item) => change(field, item)) : change(field, value);
    }
  }
  return result;
}

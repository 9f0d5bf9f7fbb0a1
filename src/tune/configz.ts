/** Flags of a running process from `/configz` of kube-controller-manager or endpointd. */
import { parseDuration } from '../lib/duration.ts';
import type { Program, QueueName } from '../metrics/program-of.ts';
import type { Settings } from '../twin/settings.ts';

/** `message` names the field. */
export class ConfigzError extends Error {}

const ROOT = 'kubecontrollermanager.config.k8s.io';

interface Field {
  readonly path: readonly [section: string, ...names: string[]];
  /** The path before Kubernetes 1.36, which tells an internal type; absent = the same. */
  readonly older?: readonly string[];
  readonly kind: Kind;
}

interface Kind {
  /** The name of the kind, for people. */
  readonly name: string;
  /** null = the value is of another kind. */
  readonly read: (value: unknown) => number | null;
}

const NUMBER: Kind = {
  name: 'number',
  read: (value) => (typeof value === 'number' && Number.isFinite(value) ? value : null),
};

const DURATION: Kind = {
  name: 'duration',
  read: (value) => {
    const ms = typeof value === 'string' ? parseDuration(value) : null;
    return ms !== null && ms >= 0 ? ms : null;
  },
};

function whole(least: number, most: number): Kind {
  return {
    name: `whole number from ${least} to ${most}`,
    read: (value) =>
      Number.isInteger(value) && Number(value) >= least && Number(value) <= most ? Number(value) : null,
  };
}

/** Reads 0 as client-go does: as its default. The flags do so too, but kube-controller-manager tells the 0. */
function orDefault(kind: Kind, byDefault: number): Kind {
  return {
    ...kind,
    read(value) {
      const read = kind.read(value);
      return read === 0 ? byDefault : read;
    },
  };
}

const SYNCS = whole(1, 10_000);
const INT32_MAX = 2 ** 31 - 1;

/** The place of each setting that both programs have. */
const FIELDS = {
  endpointSyncs: { path: ['EndpointController', 'ConcurrentEndpointSyncs'], kind: SYNCS },
  serviceEndpointSyncs: { path: ['EndpointSliceController', 'ConcurrentServiceEndpointSyncs'], kind: SYNCS },
  endpointsBatchMs: { path: ['EndpointController', 'EndpointUpdatesBatchPeriod'], kind: DURATION },
  slicesBatchMs: { path: ['EndpointSliceController', 'EndpointUpdatesBatchPeriod'], kind: DURATION },
  endpointsPerSlice: { path: ['EndpointSliceController', 'MaxEndpointsPerSlice'], kind: whole(1, 1000) },
  qps: {
    path: ['Generic', 'ClientConnection', 'qps'],
    older: ['Generic', 'ClientConnection', 'QPS'],
    kind: orDefault(NUMBER, 5),
  },
  burst: {
    path: ['Generic', 'ClientConnection', 'burst'],
    older: ['Generic', 'ClientConnection', 'Burst'],
    kind: orDefault(whole(0, INT32_MAX), 10),
  },
} satisfies Partial<Record<keyof Settings, Field>>;

/** What endpointd alone has. An older one does not tell it. */
const OWN_ROOT = 'endpointd';
const OWN_FIELDS = {
  adaptiveBatchMs: { path: ['AdaptiveBatchPeriodMax'], kind: DURATION },
  inFlight: { path: ['MaxWritesInFlight'], kind: whole(1, 4096) },
} satisfies Partial<Record<keyof Settings, Field>>;

const SYNCS_OF: Readonly<Record<QueueName, Field>> = {
  endpoint: FIELDS.endpointSyncs,
  endpoint_slice: FIELDS.serviceEndpointSyncs,
  endpoint_slice_mirroring: {
    path: ['EndpointSliceMirroringController', 'MirroringConcurrentServiceEndpointSyncs'],
    kind: SYNCS,
  },
};

/** The sections that both programs have. kube-controller-manager has one for each of its other controllers, too. */
const COMMON_SECTIONS: readonly string[] = [
  'kind',
  'apiVersion',
  'Generic',
  'EndpointController',
  'EndpointSliceController',
  'EndpointSliceMirroringController',
];

export interface Configz {
  /** Whose it is; null = it does not tell, as that of an older endpointd. */
  readonly program: Program | null;
  readonly settings: Partial<Settings>;
  /** The names and patterns of `--controllers`; null = it does not tell them. */
  readonly controllers: readonly string[] | null;
}

/** @throws ConfigzError if it is another program's, or a field is missing or out of bounds */
export function parseConfigz(text: string): Configz {
  const config = configOf(text);
  const own = fieldOf(jsonOf(text), OWN_ROOT);
  const controllers = fieldOf(fieldOf(config, 'Generic'), 'Controllers');
  return {
    program: own === undefined ? programOf(config) : 'endpointd',
    settings: { ...fieldsOf(config, FIELDS), ...(own === undefined ? {} : fieldsOf(own, OWN_FIELDS)) },
    controllers: Array.isArray(controllers) ? controllers.map(String) : null,
  };
}

export interface Limits {
  /** How many syncs each controller has at the same time. */
  readonly syncs: Readonly<Record<QueueName, number>>;
  /** Below 0 = no limit. */
  readonly qps: number;
  /** null = it does not tell them; only endpointd does. */
  readonly writesInFlight: number | null;
}

/** @throws ConfigzError as `parseConfigz` */
export function parseLimits(text: string): Limits {
  const config = configOf(text);
  const own = fieldOf(jsonOf(text), OWN_ROOT);
  return {
    syncs: fieldsOf(config, SYNCS_OF),
    qps: fieldsOf(config, { qps: FIELDS.qps }).qps,
    writesInFlight: own === undefined ? null : fieldsOf(own, { inFlight: OWN_FIELDS.inFlight }).inFlight,
  };
}

function programOf(config: unknown): Program | null {
  return Object.keys(config ?? {}).every((name) => COMMON_SECTIONS.includes(name)) ? null : 'kube-controller-manager';
}

function configOf(text: string): unknown {
  const config = fieldOf(jsonOf(text), ROOT);
  if (config !== undefined) return config;
  throw new ConfigzError(`this is the configuration of another program: it has no ${ROOT}`);
}

function fieldsOf<Name extends string>(config: unknown, fields: Readonly<Record<Name, Field>>): Record<Name, number> {
  return Object.fromEntries(
    Object.entries<Field>(fields).map(([name, { path, older, kind }]) => {
      const value = [path, older ?? path]
        .map((names) => names.reduce<unknown>(fieldOf, config))
        .find((told) => told !== undefined);
      const read = kind.read(value);
      if (read === null)
        throw new ConfigzError(`${path.join('.')}: ${JSON.stringify(value) ?? 'nothing'} is no ${kind.name}`);
      return [name, read];
    }),
  ) as Record<Name, number>;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new ConfigzError('it is no JSON');
  }
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

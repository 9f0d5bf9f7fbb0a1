/**
 * The rights that the requests of `endpointd run` need, and the roles in deploy/ that give them. A test compares both.
 */
import type { ControllerOptions } from '../../controller/options.ts';
import type { RunOptions } from '../flags/flags.ts';
import { isOwnKubeconfig } from '../flags/serving-flags.ts';

export interface Right {
  readonly verb: string;
  /** '' = core. */
  readonly group: string;
  /** Such as `endpoints`, or `services/finalizers`. */
  readonly resource: string;
  /** '' = all namespaces. */
  readonly namespace: string;
  /** '' = all objects. */
  readonly name: string;
  readonly rule: RoleRule;
}

interface RoleRule {
  readonly role: Role;
  readonly group: string;
  readonly resource: string;
  readonly verbs: readonly string[];
  /** Where the rule is needed; '' = everywhere. */
  readonly only: string;
}

interface Role {
  /** The path from the root of the repository. */
  readonly file: string;
  readonly kind: 'ClusterRole' | 'Role';
  readonly name: string;
  /** Every cluster has the role, and the file only binds it. */
  readonly isBuiltIn?: true;
}

const CONTROLLERS: Role = { file: 'deploy/rbac.yaml', kind: 'ClusterRole', name: 'endpointd' };
const ELECTION: Role = { file: 'deploy/rbac.yaml', kind: 'Role', name: 'endpointd-leader-election' };
const FILE = CONTROLLERS.file;
const DELEGATOR: Role = { file: FILE, kind: 'ClusterRole', name: 'system:auth-delegator', isBuiltIn: true };
const READER: Role = { file: FILE, kind: 'Role', name: 'extension-apiserver-authentication-reader', isBuiltIn: true };
const DISCOVERY = 'discovery.k8s.io';
const ON_OPENSHIFT = 'on OpenShift';
const BY_OWNER_ADMISSION = 'where the admission plugin OwnerReferencesPermissionEnforcement is on';

type Needed = (options: ControllerOptions) => boolean;

interface ControllerRule {
  readonly group?: string;
  readonly resource: string;
  readonly verbs: readonly string[];
  readonly only?: string;
  readonly needed: Needed;
}

const always: Needed = () => true;
const endpoints: Needed = (options) => options.endpoints;
const slices: Needed = (options) => options.slices;
const mirror: Needed = (options) => options.mirror;
const pods: Needed = (options) => options.endpoints || options.slices;
const nodes: Needed = (options) => options.slices || (options.mirror && options.mirroringZones);
const anyEndpoints: Needed = (options) => options.endpoints || options.mirror;
const anySlices: Needed = (options) => options.slices || options.mirror;

const READ = ['get', 'list', 'watch'];
const FOLLOW = ['list', 'watch'];
const WRITE = ['create', 'update', 'delete'];

const RULES: readonly ControllerRule[] = [
  { resource: 'services', verbs: READ, needed: always },
  { resource: 'pods', verbs: FOLLOW, needed: pods },
  { resource: 'nodes', verbs: FOLLOW, needed: nodes },
  { resource: 'endpoints', verbs: READ, needed: anyEndpoints },
  { resource: 'endpoints', verbs: WRITE, needed: endpoints },
  // OpenShift's admission plugin RestrictedEndpointsAdmission asks for these where an address is one of the cluster's own
  // networks.
  { resource: 'endpoints/restricted', verbs: ['create'], only: ON_OPENSHIFT, needed: endpoints },
  { group: DISCOVERY, resource: 'endpointslices', verbs: [...FOLLOW, ...WRITE], needed: anySlices },
  { group: DISCOVERY, resource: 'endpointslices/restricted', verbs: ['create'], only: ON_OPENSHIFT, needed: anySlices },
  { resource: 'services/finalizers', verbs: ['update'], only: BY_OWNER_ADMISSION, needed: slices },
  { resource: 'endpoints/finalizers', verbs: ['update'], only: BY_OWNER_ADMISSION, needed: mirror },
  { resource: 'events', verbs: ['create', 'patch'], needed: always },
];

/** One right for each verb of each rule, in the order of the rules. */
export function rightsOf(options: Needing): Right[] {
  const { controller, election } = options;
  const rights = RULES.filter(({ needed }) => needed(controller)).flatMap(
    ({ group = '', resource, verbs, only = '' }) => {
      const rule = { role: CONTROLLERS, group, resource, verbs, only };
      return verbs.map((verb): Right => ({ verb, group, resource, namespace: '', name: '', rule }));
    },
  );
  return [...rights, ...(election === null ? [] : leaseRights(election)), ...servingRights(options)];
}

type Needing = Pick<RunOptions, 'controller' | 'election' | 'serving' | 'kubeconfig' | 'master'>;

/**
 * The rights to ask who a client of `--secure-port` is and what the client may do. A kubeconfig of its own for these
 * questions needs other rights.
 */
function servingRights({ serving, ...own }: Needing): Right[] {
  if (serving.securePort === 0) return [];
  const right = (verb: string, group: string, resource: string, object: [string, string], role: Role): Right => {
    const [namespace, name] = object;
    return { verb, group, resource, namespace, name, rule: { role, group, resource, verbs: [verb], only: '' } };
  };
  const authenticates = isOwnKubeconfig(serving.authenticationKubeconfig, own);
  const authorizes = isOwnKubeconfig(serving.authorizationKubeconfig, own);
  // With both files given, nothing is read that the API server publishes.
  const looksUp =
    !serving.authenticationSkipLookup && (serving.clientCaFile === '' || serving.requestheaderClientCaFile === '');
  const published: [string, string] = ['kube-system', 'extension-apiserver-authentication'];
  return [
    ...(authenticates ? [right('create', 'authentication.k8s.io', 'tokenreviews', ['', ''], DELEGATOR)] : []),
    ...(authorizes ? [right('create', 'authorization.k8s.io', 'subjectaccessreviews', ['', ''], DELEGATOR)] : []),
    ...(authenticates && looksUp ? [right('get', '', 'configmaps', published, READER)] : []),
  ];
}

/** A rule for `create` cannot name an object. */
function leaseRights({ namespace, name }: NonNullable<RunOptions['election']>): Right[] {
  const [group, resource] = ['coordination.k8s.io', 'leases'];
  const right = (verb: string, object: string, verbs: readonly string[]): Right => {
    return {
      verb,
      group,
      resource,
      namespace,
      name: object,
      rule: { role: ELECTION, group, resource, verbs, only: '' },
    };
  };
  const named = ['get', 'watch', 'update'];
  return [right('create', '', ['create']), ...named.map((verb) => right(verb, name, named))];
}

/**
 * A text such as `update endpointslices.discovery.k8s.io` or `get leases.coordination.k8s.io kube-system/endpointd`.
 */
export function rightText({ verb, group, resource, namespace, name }: Right): string {
  const object = name === '' ? namespace : `${namespace}/${name}`;
  return [verb, qualified(group, resource), ...(object === '' ? [] : [object])].join(' ');
}

/** A text such as `ClusterRole endpointd, rule endpoints [create update delete]`. */
export function ruleText({ role, group, resource, verbs }: Right['rule']): string {
  return `${role.kind} ${role.name}, rule ${qualified(group, resource)} [${verbs.join(' ')}]`;
}

/** A resource of a group as kubectl names it, followed by its subresource. */
export function qualified(group: string, resource: string): string {
  const [plural = '', ...sub] = resource.split('/');
  return [group === '' ? plural : `${plural}.${group}`, ...sub].join('/');
}

import { RESOURCES, VERBS } from './resource.ts';
import type { Resource } from './resource.ts';

/** JSON documents of paths that name no resource, in the legacy shape; undefined = no such path. */
export function discoveryDocument(path: string): object | undefined {
  switch (path) {
    case '/version':
      return VERSION;
    case '/api':
      return {
        kind: 'APIVersions',
        versions: ['v1'],
        serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '' }],
      };
    case '/apis':
      return { kind: 'APIGroupList', apiVersion: 'v1', groups: GROUPS.map(groupDocument) };
  }
  const parts = path.split('/');
  if (parts[1] === 'api' && parts.length === 3) return resourceList(parts[2]!);
  if (parts[1] !== 'apis') return undefined;
  if (parts.length === 3 && GROUPS.includes(parts[2]!)) {
    return { kind: 'APIGroup', apiVersion: 'v1', ...groupDocument(parts[2]!) };
  }
  return parts.length === 4 ? resourceList(`${parts[2]}/${parts[3]}`) : undefined;
}

const GROUPS: readonly string[] = [
  ...new Set(RESOURCES.map((resource) => resource.group).filter((group) => group !== '')),
];

const VERSION = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.3',
  gitCommit: '',
  gitTreeState: '',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: '',
  platform: '',
};

function groupDocument(group: string): object {
  const version = RESOURCES.find((resource) => resource.group === group)!.version;
  const preferred = { groupVersion: `${group}/${version}`, version };
  return { name: group, versions: [preferred], preferredVersion: preferred };
}

function resourceList(groupVersion: string): object | undefined {
  const served = RESOURCES.filter((resource) => resource.apiVersion === groupVersion);
  if (served.length === 0) return undefined;
  return {
    kind: 'APIResourceList',
    ...(groupVersion.includes('/') ? { apiVersion: 'v1' } : {}),
    groupVersion,
    resources: [
      ...served.map(resourceDocument),
      ...served.flatMap((resource) => resource.subresources.map((name) => subresourceDocument(resource, name))),
    ],
  };
}

function resourceDocument({ name, singular, namespaced, kind, shortNames }: Resource): object {
  return {
    name,
    singularName: singular,
    namespaced,
    kind,
    verbs: VERBS,
    ...(shortNames.length > 0 ? { shortNames } : {}),
  };
}

function subresourceDocument({ name, namespaced, kind }: Resource, subresource: string): object {
  const shown = subresource === 'binding' ? 'Binding' : kind;
  return { name: `${name}/${subresource}`, singularName: '', namespaced, kind: shown, verbs: verbsOf(subresource) };
}

function verbsOf(subresource: string): readonly string[] {
  if (subresource === 'binding') return ['create'];
  return subresource === 'finalize' ? ['update'] : ['get', 'patch', 'update'];
}

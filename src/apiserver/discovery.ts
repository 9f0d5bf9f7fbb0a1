import { RESOURCES, subresourceOf, type Resource } from './resource.ts';

/** JSON documents that name the served resources, in the legacy shape; undefined = there is no such path. */
export function discoveryDocument(path: string): object | undefined {
  if (path === '/api') {
    return {
      kind: 'APIVersions',
      versions: ['v1'],
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '' }],
    };
  }
  if (path === '/apis') return { kind: 'APIGroupList', apiVersion: 'v1', groups: GROUPS.map(groupDocument) };
  const parts = path.split('/');
  if (parts[1] === 'api' && parts.length === 3) return resourceList(parts[2]!);
  if (parts[1] !== 'apis') return undefined;
  if (parts.length === 3 && GROUPS.includes(parts[2]!)) {
    return { kind: 'APIGroup', apiVersion: 'v1', ...groupDocument(parts[2]!) };
  }
  return parts.length === 4 ? resourceList(`${parts[2]}/${parts[3]}`) : undefined;
}

export const GROUPS: readonly string[] = [
  ...new Set(RESOURCES.map((resource) => resource.group).filter((group) => group !== '')),
];

export const GROUP_VERSIONS: readonly string[] = [...new Set(RESOURCES.map((resource) => resource.apiVersion))];

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
    resources: served
      .toSorted(byName)
      .flatMap((resource) => [
        resourceDocument(resource),
        resource.subresources.map((name) => subresourceDocument(resource, name)),
      ])
      .flat(),
  };
}

function subresourceDocument(resource: Resource, subresource: string): object {
  const { verbs, kind = resource.kind } = subresourceOf(subresource);
  const { name, namespaced } = resource;
  return { name: `${name}/${subresource}`, singularName: '', namespaced, kind, verbs };
}

function resourceDocument({ name, singular, namespaced, kind, verbs, shortNames, categories }: Resource): object {
  return {
    name,
    singularName: singular,
    namespaced,
    kind,
    verbs,
    ...(shortNames.length > 0 ? { shortNames } : {}),
    ...(categories.length > 0 ? { categories } : {}),
  };
}

/** One document for all versions of `/api` or `/apis`: apidiscovery.k8s.io/v2. */
export function aggregatedDiscovery(path: '/api' | '/apis'): object {
  const groups = path === '/api' ? [''] : GROUPS;
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: groups.map((group) => {
      const resources = RESOURCES.filter((resource) => resource.group === group).toSorted(byName);
      return {
        metadata: group === '' ? {} : { name: group },
        versions: [
          { version: resources[0]!.version, resources: resources.map(resourceDiscovery), freshness: 'Current' },
        ],
      };
    }),
  };
}

function resourceDiscovery(resource: Resource): object {
  const { name, kind, namespaced, singular, verbs, shortNames, categories, subresources } = resource;
  return {
    resource: name,
    responseKind: responseKind(kind),
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs,
    ...(shortNames.length > 0 ? { shortNames } : {}),
    ...(categories.length > 0 ? { categories } : {}),
    ...(subresources.length > 0
      ? {
          subresources: subresources.map((subresource) => ({
            subresource,
            responseKind: responseKind(subresourceOf(subresource).kind ?? kind),
            verbs: subresourceOf(subresource).verbs,
          })),
        }
      : {}),
  };
}

/** Group and version are empty: those of the document apply. */
function responseKind(kind: string): object {
  return { group: '', version: '', kind };
}

function byName(left: Resource, right: Resource): number {
  return left.name < right.name ? -1 : 1;
}

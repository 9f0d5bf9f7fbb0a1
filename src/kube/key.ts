/** `<namespace>/<name>`: what a namespaced object is called inside this project. Neither part can hold a slash. */
export function serviceKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** The parts of a key; a key without a slash is cluster-scoped and has the namespace ''. */
export function splitKey(key: string): { namespace: string; name: string } {
  const slash = key.indexOf('/');
  return slash < 0 ? { namespace: '', name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** The path of one Endpoints object, or of all of a namespace. */
export function endpointsPath(namespace: string, name = ''): string {
  const collection = `/api/v1/namespaces/${namespace}/endpoints`;
  return name === '' ? collection : `${collection}/${name}`;
}

export function servicePath(namespace: string, name: string): string {
  return `/api/v1/namespaces/${namespace}/services/${name}`;
}

/** The path of one EndpointSlice, or of all of a namespace. */
export function slicesPath(namespace: string, name = ''): string {
  const collection = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
  return name === '' ? collection : `${collection}/${name}`;
}

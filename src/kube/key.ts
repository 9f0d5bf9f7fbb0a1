/** `<namespace>/<name>`: what a namespaced object is called inside this project. Neither part can hold a slash. */
export function serviceKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** The parts of a key; a key without a slash is cluster-scoped and has the namespace ''. */
export function splitKey(key: string): { namespace: string; name: string } {
  const slash = key.indexOf('/');
  return slash < 0 ? { namespace: '', name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** The path of one Endpoints object. */
export function endpointsPath(namespace: string, name: string): string {
  return `/api/v1/namespaces/${namespace}/endpoints/${name}`;
}

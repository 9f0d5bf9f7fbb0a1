import type { EndpointPort } from '../../kube/types.ts';
import { portKey } from './identity.ts';

/** Ports that the same lists name. */
export interface CommonPorts {
  /** These lists; ascending. */
  readonly indices: readonly number[];
  readonly ports: readonly EndpointPort[];
}

/** The ports of all lists, each once by its key, grouped by the set of lists that name them. */
export function groupPorts(
  lists: readonly (readonly EndpointPort[])[],
  keyOf: (port: EndpointPort) => string = portKey,
): readonly CommonPorts[] {
  const indicesByPort = new Map<string, { port: EndpointPort; indices: number[] }>();
  lists.forEach((ports, index) => {
    for (const port of ports) {
      const key = keyOf(port);
      const known = indicesByPort.get(key);
      if (known === undefined) indicesByPort.set(key, { port, indices: [index] });
      else if (known.indices.at(-1) !== index) known.indices.push(index);
    }
  });
  const groups = new Map<string, { indices: number[]; ports: EndpointPort[] }>();
  for (const { port, indices } of indicesByPort.values()) {
    const key = indices.join(',');
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { indices, ports: [port] });
    else group.ports.push(port);
  }
  return [...groups.values()];
}

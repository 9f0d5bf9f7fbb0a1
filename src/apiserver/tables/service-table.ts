import { child, items, text, type ApiObject } from '../object.ts';
import { age } from './age.ts';
import { column, NAME, wide, type TableRules } from './table-rules.ts';

interface Port {
  readonly port: number;
  readonly nodePort?: number;
  readonly protocol: string;
}

interface Ingress {
  readonly ip?: string;
  readonly hostname?: string;
}

/** core/v1 Service. */
export const SERVICE_TABLE: TableRules = {
  columns: [
    NAME,
    column('Type'),
    column('Cluster-IP'),
    column('External-IP'),
    column('Port(s)'),
    column('Age'),
    wide('Selector'),
  ],
  cells: (object, nowMs) => {
    const spec = child(object, 'spec');
    const ports = items<Port>(spec, 'ports').map(
      ({ port, nodePort = 0, protocol }) => `${port}${nodePort > 0 ? `:${nodePort}` : ''}/${protocol}`,
    );
    const selector = child(spec, 'selector') as Record<string, string>;
    return [
      object.metadata.name ?? '',
      text(spec, 'type'),
      items<string>(spec, 'clusterIPs')[0] ?? '<none>',
      externalIp(object),
      orNone(ports),
      age(object.metadata.creationTimestamp, nowMs),
      orNone(
        Object.keys(selector)
          .sort()
          .map((key) => `${key}=${selector[key]}`),
      ),
    ];
  },
};

function externalIp(object: ApiObject): string {
  const spec = child(object, 'spec');
  const external = items<string>(spec, 'externalIPs');
  switch (text(spec, 'type')) {
    case 'ClusterIP':
    case 'NodePort':
      return orNone(external);
    case 'LoadBalancer': {
      const ingress = items<Ingress>(child(child(object, 'status'), 'loadBalancer'), 'ingress');
      const balancers = new Set(ingress.map(({ ip = '', hostname = '' }) => (ip === '' ? hostname : ip)));
      balancers.delete('');
      const all = [...[...balancers].sort(), ...external];
      return all.length === 0 ? '<pending>' : all.join(',');
    }
    case 'ExternalName':
      return text(spec, 'externalName');
    default:
      return '<unknown>';
  }
}

function orNone(texts: readonly string[]): string {
  return texts.length === 0 ? '<none>' : texts.join(',');
}

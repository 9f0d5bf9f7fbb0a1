import { create, get, merge, put, remove, strategic, type Script, type Step } from '../apiserver-script.ts';
import type { Json } from '../apiserver-client.ts';

const service = (spec: Json, ...shows: string[]): Step => create('services', { spec }, ...shows);
const refused = (spec: Json): Step =>
  create('services', { metadata: { name: undefined, generateName: 'a-' }, spec: { ports: [{ port: 80 }], ...spec } });
const ports = (...list: Json[]): Step => refused({ ports: list });
const update = (spec: Json, ...shows: string[]): Step => put('services/a', { spec }, ...shows);

const PORTS = [{ port: 80 }];

export const SERVICE_PORT_SCRIPTS: Readonly<Record<string, Script>> = {
  'Service port: each of several needs a name of its own': {
    steps: [ports({ port: 80, name: 'a' }, { port: 81 }), ports({ port: 80, name: 'a' }, { port: 81, name: 'a' })],
    sees: ['422', '  spec.ports[1].name: Required value', '422', '  spec.ports[1].name: Duplicate value: "a"'],
  },
  'Service port: the name is a label of at most 63 characters': {
    steps: [
      ports({ port: 80, name: 'a'.repeat(64) }),
      ports({ port: 80, name: 'a.b' }),
      ports({ port: 80, name: '-a' }),
    ],
    sees: [
      '422',
      '  spec.ports[0].name: Invalid value: "a{64}": must be no more than 63 characters',
      '422',
      '  spec.ports[0].name: Invalid value: "a.b": must not contain dots',
      '422',
      '  spec.ports[0].name: Invalid value: "-a": <no label>',
    ],
  },
  'Service port: the number is validated': {
    steps: [ports({ port: 0 }), ports({ port: -1 }), ports({ port: 65_536 }), ports({})],
    sees: [
      '422',
      '  spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive',
      '  spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive',
      '422',
      '  spec.ports[0].port: Invalid value: -1: must be between 1 and 65535, inclusive',
      '  spec.ports[0].targetPort: Invalid value: -1: must be between 1 and 65535, inclusive',
      '422',
      '  spec.ports[0].port: Invalid value: 65536: must be between 1 and 65535, inclusive',
      '  spec.ports[0].targetPort: Invalid value: 65536: must be between 1 and 65535, inclusive',
      '422',
      '  spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive',
      '  spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive',
    ],
  },
  'Service port: the number of the target is validated': {
    steps: [ports({ port: 80, targetPort: 65_536 }), ports({ port: 80, targetPort: -1 })],
    sees: [
      '422',
      '  spec.ports[0].targetPort: Invalid value: 65536: must be between 1 and 65535, inclusive',
      '422',
      '  spec.ports[0].targetPort: Invalid value: -1: must be between 1 and 65535, inclusive',
    ],
  },
  'Service port: the name of the target is validated': {
    steps: [
      ports({ port: 80, targetPort: 'a'.repeat(16) }),
      ports({ port: 80, targetPort: '80' }),
      ports({ port: 80, targetPort: 'a--b' }),
      ports({ port: 80, targetPort: '-ab' }),
      ports({ port: 80, targetPort: 'UP' }),
    ],
    sees: [
      '422',
      '  spec.ports[0].targetPort: Invalid value: "aaaaaaaaaaaaaaaa": must be no more than 15 characters',
      '422',
      '  spec.ports[0].targetPort: Invalid value: "80": must contain at least one letter (a-z)',
      '422',
      '  spec.ports[0].targetPort: Invalid value: "a--b": must not contain consecutive hyphens',
      '422',
      '  spec.ports[0].targetPort: Invalid value: "-ab": must not begin or end with a hyphen',
      '422',
      '  spec.ports[0].targetPort: Invalid value: "UP": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
      '  spec.ports[0].targetPort: Invalid value: "UP": must contain at least one letter (a-z)',
    ],
  },
  'Service port: a target of zero or without a name is the port itself': {
    steps: [
      service({ ports: [{ port: 80, targetPort: 0 }] }, 'spec.ports'),
      create('services', { metadata: { name: 'b' }, spec: { ports: [{ port: 80, targetPort: '' }] } }, 'spec.ports'),
    ],
    sees: [
      '201',
      '  spec.ports = [{"port":80,"protocol":"TCP","targetPort":80}]',
      '201',
      '  spec.ports = [{"port":80,"protocol":"TCP","targetPort":80}]',
    ],
  },
  'Service port: protocols are validated': {
    steps: [ports({ port: 80, protocol: 'tcp' }), ports({ port: 80, protocol: '' })],
    sees: [
      '422',
      '  spec.ports[0].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"',
      '201',
      '  spec = {"clusterIP":"<given>","clusterIPs":["<given>"],"internalTrafficPolicy":"Cluster","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","ports":[{"port":80,"protocol":"TCP","targetPort":80}],"sessionAffinity":"None","type":"ClusterIP"}',
      '  status = {"loadBalancer":{}}',
    ],
  },
  'Service port: two protocols may have the same number': {
    steps: [
      service(
        {
          ports: [
            { name: 'a', port: 80 },
            { name: 'b', port: 80, protocol: 'UDP' },
          ],
        },
        'spec.ports',
      ),
    ],
    sees: [
      '201',
      '  spec.ports = [{"name":"a","port":80,"protocol":"TCP","targetPort":80},{"name":"b","port":80,"protocol":"UDP","targetPort":80}]',
    ],
  },
  'Service port: the same number twice is refused': {
    steps: [ports({ name: 'a', port: 80 }, { name: 'b', port: 80, targetPort: 'x' }, { name: 'c', port: 80 })],
    sees: [
      '422',
      '  spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}',
      '  spec.ports[2]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}',
    ],
  },
  'Service port: appProtocol is a qualified name': {
    steps: [
      ports({ port: 80, appProtocol: 'a/b/c' }),
      ports({ port: 80, appProtocol: '' }),
      service({ ports: [{ port: 80, appProtocol: 'kubernetes.io/h2c' }] }, 'spec.ports'),
    ],
    sees: [
      '422',
      "  spec.ports[0].appProtocol: Invalid value: \"a/b/c\": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
      '422',
      '  spec.ports[0].appProtocol: Invalid value: "": name part must be non-empty',
      '  spec.ports[0].appProtocol: Invalid value: "": <no name part>',
      '201',
      '  spec.ports = [{"appProtocol":"kubernetes.io/h2c","port":80,"protocol":"TCP","targetPort":80}]',
    ],
  },
  'Service port: values of other types are refused': {
    steps: [
      ports({ port: '80' }),
      ports({ port: 80.5 }),
      ports({ port: 80, targetPort: true }),
      service({ ports: {} }),
    ],
    sees: [
      '400',
      '  BadRequest: Service in version "v1" cannot be handled as a Service: json: cannot unmarshal string into Go struct field ServicePort.spec.ports.port of type int32',
      '400',
      '  BadRequest: Service in version "v1" cannot be handled as a Service: json: cannot unmarshal number 80.5 into Go struct field ServicePort.spec.ports.port of type int32',
      '400',
      '  BadRequest: Service in version "v1" cannot be handled as a Service: json: cannot unmarshal bool into Go struct field ServicePort.spec.ports.targetPort of type int32',
      '400',
      '  BadRequest: Service in version "v1" cannot be handled as a Service: json: cannot unmarshal object into Go struct field ServiceSpec.spec.ports of type []v1.ServicePort',
    ],
  },
  'Service port: numbers beyond 32 bits are refused': {
    steps: [ports({ port: 4_294_967_296 }), ports({ port: 80, targetPort: 4_294_967_296 })],
    sees: [
      '400',
      '  BadRequest: Service in version "v1" cannot be handled as a Service: json: cannot unmarshal number 4294967296 into Go struct field ServicePort.spec.ports.port of type int32',
      '400',
      '  BadRequest: Service in version "v1" cannot be handled as a Service: json: cannot unmarshal number 4294967296 into Go struct field ServicePort.spec.ports.targetPort of type int32',
    ],
  },
  'Service port: a headless service needs no port, and may have some': {
    steps: [
      service({ clusterIP: 'None', selector: { a: 'b' } }, 'spec.ports'),
      update({ clusterIP: 'None', selector: { a: 'b' }, ports: PORTS }, 'spec.ports'),
      update({ clusterIP: 'None', selector: { a: 'b' } }, 'spec.ports'),
    ],
    sees: [
      '201',
      '  spec.ports = nothing',
      '200',
      '  spec.ports = [{"port":80,"protocol":"TCP","targetPort":80}]',
      '200',
      '  spec.ports = nothing',
    ],
  },
  'Service port: the last port cannot be removed': {
    steps: [service({ ports: PORTS }, 'spec.ports'), update({}), merge('services/a', { spec: { ports: null } })],
    sees: [
      '201',
      '  spec.ports = [{"port":80,"protocol":"TCP","targetPort":80}]',
      '422',
      '  spec.ports: Required value',
      '422',
      '  spec.ports: Required value',
    ],
  },
  'Service nodePort: twice in one service is refused': {
    steps: [
      service({
        type: 'NodePort',
        ports: [
          { name: 'a', port: 80, nodePort: 30_001 },
          { name: 'b', port: 81, nodePort: 30_001 },
        ],
      }),
    ],
    sees: ['422', '  spec.ports[1].nodePort: Invalid value: 30001: provided port is already allocated'],
  },
  'Service nodePort: TCP and UDP may share one': {
    steps: [
      service(
        {
          type: 'NodePort',
          ports: [
            { name: 'a', port: 53, nodePort: 30_002 },
            { name: 'b', port: 53, protocol: 'UDP', nodePort: 30_002 },
          ],
        },
        'spec.ports',
      ),
    ],
    sees: [
      '201',
      '  spec.ports = [{"name":"a","nodePort":30002,"port":53,"protocol":"TCP","targetPort":53},{"name":"b","nodePort":30002,"port":53,"protocol":"UDP","targetPort":53}]',
    ],
  },
  'Service nodePort: a type without node ports refuses one': {
    steps: [
      ports({ port: 80, nodePort: 30_003 }),
      service({ clusterIP: 'None', ports: [{ port: 80, nodePort: 30_003 }] }),
    ],
    sees: [
      '422',
      "  spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
      '422',
      "  spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
    ],
  },
  'Service nodePort: one out of range is refused': {
    steps: [
      service({ type: 'NodePort', ports: [{ port: 80, nodePort: 29_999 }] }),
      service({ type: 'NodePort', ports: [{ port: 80, nodePort: 32_768 }] }),
      service({ type: 'NodePort', ports: [{ port: 80, nodePort: -1 }] }),
    ],
    sees: [
      '422',
      '  spec.ports[0].nodePort: Invalid value: 29999: provided port is not in the valid range. The range of valid ports is 30000-32767',
      '422',
      '  spec.ports[0].nodePort: Invalid value: 32768: provided port is not in the valid range. The range of valid ports is 30000-32767',
      '422',
      '  spec.ports[0].nodePort: Invalid value: -1: provided port is not in the valid range. The range of valid ports is 30000-32767',
    ],
  },
  'Service nodePort: one that another service has is refused': {
    steps: [
      service({ type: 'NodePort', ports: [{ port: 80, nodePort: 30_004 }] }, 'spec.ports'),
      create('services', {
        metadata: { name: 'b' },
        spec: { type: 'NodePort', ports: [{ port: 80, nodePort: 30_004 }] },
      }),
    ],
    sees: [
      '201',
      '  spec.ports = [{"nodePort":30004,"port":80,"protocol":"TCP","targetPort":80}]',
      '422',
      '  spec.ports[0].nodePort: Invalid value: 30004: provided port is already allocated',
    ],
  },
  'Service nodePort: it can be changed, and the old one is free again': {
    steps: [
      service({ type: 'NodePort', ports: [{ port: 80, nodePort: 30_005 }] }, 'spec.ports'),
      update({ type: 'NodePort', ports: [{ port: 80, nodePort: 30_006 }] }, 'spec.ports'),
      create(
        'services',
        { metadata: { name: 'b' }, spec: { type: 'NodePort', ports: [{ port: 80, nodePort: 30_005 }] } },
        'spec.ports',
      ),
    ],
    sees: [
      '201',
      '  spec.ports = [{"nodePort":30005,"port":80,"protocol":"TCP","targetPort":80}]',
      '200',
      '  spec.ports = [{"nodePort":30006,"port":80,"protocol":"TCP","targetPort":80}]',
      '201',
      '  spec.ports = [{"nodePort":30005,"port":80,"protocol":"TCP","targetPort":80}]',
    ],
  },
  'Service nodePort: a port keeps its own when another comes before it': {
    steps: [
      service({ type: 'NodePort', ports: [{ name: 'a', port: 80, nodePort: 30_007 }] }, 'spec.type'),
      update(
        {
          type: 'NodePort',
          ports: [
            { name: 'b', port: 81, nodePort: 30_008 },
            { name: 'a', port: 80 },
          ],
        },
        'spec.ports',
      ),
    ],
    sees: [
      '201',
      '  spec.type = "NodePort"',
      '200',
      '  spec.ports = [{"name":"b","nodePort":30008,"port":81,"protocol":"TCP","targetPort":81},{"name":"a","nodePort":30007,"port":80,"protocol":"TCP","targetPort":80}]',
    ],
  },
  'Service nodePort: a balancer may forgo them': {
    steps: [
      service({ type: 'LoadBalancer', allocateLoadBalancerNodePorts: false, ports: PORTS }, 'spec.ports'),
      update({ type: 'LoadBalancer', allocateLoadBalancerNodePorts: false, ports: PORTS }, 'spec.ports'),
      update({ type: 'LoadBalancer', allocateLoadBalancerNodePorts: true, ports: PORTS }, 'spec.ports'),
    ],
    sees: [
      '201',
      '  spec.ports = [{"port":80,"protocol":"TCP","targetPort":80}]',
      '200',
      '  spec.ports = [{"port":80,"protocol":"TCP","targetPort":80}]',
      '200',
      '  spec.ports = [{"nodePort":<given>,"port":80,"protocol":"TCP","targetPort":80}]',
    ],
  },
  'Service nodePort: only a balancer may forgo them': {
    steps: [
      refused({ allocateLoadBalancerNodePorts: false }),
      refused({ type: 'NodePort', allocateLoadBalancerNodePorts: true }),
    ],
    sees: [
      '422',
      "  spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'",
      '422',
      "  spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'",
    ],
  },
};

export const SERVICE_TYPE_SCRIPTS: Readonly<Record<string, Script>> = {
  'Service type: ClusterIP can become NodePort, and ClusterIP again': {
    steps: [
      service({ ports: PORTS }, 'spec.type'),
      update({ type: 'NodePort', ports: PORTS }, 'spec'),
      update({ type: 'ClusterIP', ports: PORTS }, 'spec'),
    ],
    sees: [
      '201',
      '  spec.type = "ClusterIP"',
      '200',
      '  spec = {"clusterIP":"<given>","clusterIPs":["<given>"],"externalTrafficPolicy":"Cluster","internalTrafficPolicy":"Cluster","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","ports":[{"nodePort":<given>,"port":80,"protocol":"TCP","targetPort":80}],"sessionAffinity":"None","type":"NodePort"}',
      '200',
      '  spec = {"clusterIP":"<given>","clusterIPs":["<given>"],"internalTrafficPolicy":"Cluster","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","ports":[{"port":80,"protocol":"TCP","targetPort":80}],"sessionAffinity":"None","type":"ClusterIP"}',
    ],
  },
  'Service type: a merge patch from NodePort removes the node ports': {
    steps: [
      service({ type: 'NodePort', ports: PORTS }, 'spec.type'),
      merge('services/a', { spec: { type: 'ClusterIP' } }, 'spec'),
    ],
    sees: [
      '201',
      '  spec.type = "NodePort"',
      '200',
      '  spec = {"clusterIP":"<given>","clusterIPs":["<given>"],"internalTrafficPolicy":"Cluster","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","ports":[{"port":80,"protocol":"TCP","targetPort":80}],"sessionAffinity":"None","type":"ClusterIP"}',
    ],
  },
  'Service type: a node port goes with its type, and another one is refused': {
    steps: [
      service({ type: 'NodePort', ports: [{ port: 80, nodePort: 30_010 }] }, 'spec.type'),
      update({ type: 'ClusterIP', ports: [{ port: 80, nodePort: 30_010 }] }, 'spec.ports'),
      update({ type: 'ClusterIP', ports: [{ port: 80, nodePort: 30_011 }] }, 'spec.ports'),
    ],
    sees: [
      '201',
      '  spec.type = "NodePort"',
      '200',
      '  spec.ports = [{"port":80,"protocol":"TCP","targetPort":80}]',
      '422',
      "  spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
    ],
  },
  'Service type: LoadBalancer can become NodePort': {
    steps: [
      service({ type: 'LoadBalancer', loadBalancerClass: 'x.y/z', ports: PORTS }, 'spec.loadBalancerClass'),
      merge('services/a/status', { status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } } }, 'status'),
      update({ type: 'NodePort', ports: PORTS }, 'spec', 'status'),
    ],
    sees: [
      '201',
      '  spec.loadBalancerClass = "x.y/z"',
      '200',
      '  status = {"loadBalancer":{"ingress":[{"ip":"1.2.3.4","ipMode":"VIP"}]}}',
      '200',
      '  spec = {"clusterIP":"<given>","clusterIPs":["<given>"],"externalTrafficPolicy":"Cluster","internalTrafficPolicy":"Cluster","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","ports":[{"nodePort":<given>,"port":80,"protocol":"TCP","targetPort":80}],"sessionAffinity":"None","type":"NodePort"}',
      '  status = {"loadBalancer":{}}',
    ],
  },
  'Service type: a merge patch makes LoadBalancer ClusterIP': {
    steps: [
      service({ type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports: PORTS }, 'spec.externalTrafficPolicy'),
      merge('services/a', { spec: { type: 'ClusterIP' } }, 'spec', 'status'),
    ],
    sees: [
      '201',
      '  spec.externalTrafficPolicy = "Local"',
      '200',
      '  spec = {"clusterIP":"<given>","clusterIPs":["<given>"],"internalTrafficPolicy":"Cluster","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","ports":[{"port":80,"protocol":"TCP","targetPort":80}],"sessionAffinity":"None","type":"ClusterIP"}',
      '  status = {"loadBalancer":{}}',
    ],
  },
  'Service type: a merge patch makes it ExternalName': {
    steps: [
      service({ ports: PORTS, selector: { a: 'b' } }, 'spec.selector'),
      merge('services/a', { spec: { type: 'ExternalName', externalName: 'x.y' } }, 'spec'),
    ],
    sees: [
      '201',
      '  spec.selector = {"a":"b"}',
      '200',
      '  spec = {"externalName":"x.y","ports":[{"port":80,"protocol":"TCP","targetPort":80}],"selector":{"a":"b"},"sessionAffinity":"None","type":"ExternalName"}',
    ],
  },
  'Service type: headless can become ExternalName, and headless again': {
    steps: [
      service({ clusterIP: 'None', selector: { a: 'b' } }, 'spec.clusterIP'),
      update({ type: 'ExternalName', externalName: 'x.y' }, 'spec'),
      update({ clusterIP: 'None', selector: { a: 'b' } }, 'spec'),
    ],
    sees: [
      '201',
      '  spec.clusterIP = "None"',
      '200',
      '  spec = {"externalName":"x.y","sessionAffinity":"None","type":"ExternalName"}',
      '200',
      '  spec = {"clusterIP":"None","clusterIPs":["None"],"internalTrafficPolicy":"Cluster","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","selector":{"a":"b"},"sessionAffinity":"None","type":"ClusterIP"}',
    ],
  },
  'Service type: headless cannot get an address': {
    steps: [
      service({ clusterIP: 'None', selector: { a: 'b' }, ports: PORTS }, 'spec.clusterIP'),
      update({ clusterIP: '10.96.0.77', selector: { a: 'b' }, ports: PORTS }),
    ],
    sees: [
      '201',
      '  spec.clusterIP = "None"',
      '422',
      '  spec.clusterIPs[0]: Invalid value: ["10.96.0.77"]: may not change once set',
    ],
  },
  'Service type: NodePort cannot become headless': {
    steps: [
      service({ type: 'NodePort', ports: PORTS }, 'spec.type'),
      update({ type: 'NodePort', clusterIP: 'None', ports: PORTS }),
      update({ clusterIP: 'None', ports: PORTS }),
    ],
    sees: [
      '201',
      '  spec.type = "NodePort"',
      '422',
      '  spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set',
      '  spec.clusterIPs[0]: Invalid value: "None": may not be set to \'None\' for NodePort services',
      '422',
      '  spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set',
    ],
  },
  'Service ExternalName: addresses and families are refused': {
    steps: [
      refused({ type: 'ExternalName', externalName: 'x.y', clusterIP: 'None' }),
      refused({ type: 'ExternalName', externalName: 'x.y', clusterIPs: ['10.96.0.78'] }),
      refused({ type: 'ExternalName', externalName: 'x.y', ipFamilies: ['IPv4'] }),
      refused({ type: 'ExternalName', externalName: 'x.y', ipFamilyPolicy: 'SingleStack' }),
      refused({ type: 'ExternalName', externalName: 'x.y', externalTrafficPolicy: 'Cluster' }),
      refused({ type: 'ExternalName', externalName: 'x.y', internalTrafficPolicy: 'Cluster' }),
      refused({ type: 'ExternalName', externalName: 'x.y', ports: [{ port: 80, nodePort: 30_012 }] }),
    ],
    sees: [
      '422',
      '  spec.clusterIPs: Forbidden: may not be set for ExternalName services',
      '422',
      '  spec.clusterIPs: Forbidden: may not be set for ExternalName services',
      '422',
      '  spec.ipFamilies: Forbidden: may not be set for ExternalName services',
      '422',
      '  spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services',
      '422',
      '  spec.externalTrafficPolicy: Invalid value: "Cluster": may only be set for externally-accessible services',
      '201',
      '  spec = {"externalName":"x.y","ports":[{"port":80,"protocol":"TCP","targetPort":80}],"sessionAffinity":"None","type":"ExternalName"}',
      '  status = {"loadBalancer":{}}',
      '201',
      '  spec = {"externalName":"x.y","ports":[{"nodePort":30012,"port":80,"protocol":"TCP","targetPort":80}],"sessionAffinity":"None","type":"ExternalName"}',
      '  status = {"loadBalancer":{}}',
    ],
  },
  'Service ExternalName: the name is validated': {
    steps: [
      refused({ type: 'ExternalName', externalName: 'x..y' }),
      refused({ type: 'ExternalName', externalName: 'x.y.' }),
      refused({ type: 'ExternalName', externalName: 'a'.repeat(254) }),
      refused({ type: 'ExternalName', externalName: '' }),
      service({ type: 'ExternalName', externalName: '1.2.3.4', selector: { a: 'b' }, ports: PORTS }, 'spec'),
    ],
    sees: [
      '422',
      '  spec.externalName: Invalid value: "x..y": <no subdomain>',
      '201',
      '  spec = {"externalName":"x.y.","ports":[{"port":80,"protocol":"TCP","targetPort":80}],"sessionAffinity":"None","type":"ExternalName"}',
      '  status = {"loadBalancer":{}}',
      '422',
      '  spec.externalName: Invalid value: "a{254}": must be no more than 253 characters',
      '422',
      '  spec.externalName: Required value',
      '201',
      '  spec = {"externalName":"1.2.3.4","ports":[{"port":80,"protocol":"TCP","targetPort":80}],"selector":{"a":"b"},"sessionAffinity":"None","type":"ExternalName"}',
    ],
  },
  'Service ExternalName: a name is kept beside another type': {
    steps: [service({ externalName: 'x.y', ports: PORTS }, 'spec.externalName', 'spec.type')],
    sees: ['201', '  spec.externalName = "x.y"', '  spec.type = "ClusterIP"'],
  },
};

export const SERVICE_ADDRESS_SCRIPTS: Readonly<Record<string, Script>> = {
  'Service clusterIP: a free one can be asked for': {
    steps: [service({ clusterIP: '10.96.0.80', ports: PORTS }, 'spec.clusterIP', 'spec.clusterIPs', 'spec.ipFamilies')],
    sees: [
      '201',
      '  spec.clusterIP = "10.96.0.80"',
      '  spec.clusterIPs = ["10.96.0.80"]',
      '  spec.ipFamilies = ["IPv4"]',
    ],
  },
  'Service clusterIP: it can be asked for in the list alone': {
    steps: [service({ clusterIPs: ['10.96.0.81'], ports: PORTS }, 'spec.clusterIP')],
    sees: ['422', '  spec.clusterIPs: Invalid value: ["10.96.0.81"]: must be empty when `clusterIP` is not specified'],
  },
  'Service clusterIP: None may be in the list alone': {
    steps: [service({ clusterIPs: ['None'], ports: PORTS }, 'spec.clusterIP')],
    sees: ['422', '  spec.clusterIPs: Invalid value: ["None"]: must be empty when `clusterIP` is not specified'],
  },
  'Service clusterIP: an empty one counts as absent': {
    steps: [service({ clusterIP: '', clusterIPs: [], ports: PORTS }, 'spec.clusterIP', 'spec.type')],
    sees: ['201', '  spec.clusterIP = "<given>"', '  spec.type = "ClusterIP"'],
  },
  'Service clusterIP: spellings are validated': {
    steps: [
      refused({ clusterIP: '10.96.0.082' }),
      refused({ clusterIP: 'none' }),
      refused({ clusterIP: ' 10.96.0.82' }),
      refused({ clusterIP: '10.96.0' }),
      refused({ clusterIP: '::ffff:10.96.0.82' }),
    ],
    sees: [
      '422',
      '  spec.clusterIPs[0]: Invalid value: "10.96.0.082": must not have leading 0s',
      '422',
      '  spec.clusterIPs[0]: Invalid value: "none": <no ip>',
      '422',
      '  spec.clusterIPs[0]: Invalid value: " 10.96.0.82": <no ip>',
      '422',
      '  spec.clusterIPs[0]: Invalid value: "10.96.0": <no ip>',
      '422',
      '  spec.clusterIPs[0]: Invalid value: "::ffff:10.96.0.82": must not be an IPv4-mapped IPv6 address',
    ],
  },
  'Service clusterIP: the ends of the range are refused': {
    steps: [
      refused({ clusterIP: '10.96.0.0' }),
      refused({ clusterIP: '10.111.255.255' }),
      refused({ clusterIP: '10.112.0.0' }),
      refused({ clusterIP: '10.95.255.255' }),
    ],
    sees: [
      '422',
      '  spec.clusterIPs: Invalid value: ["10.96.0.0"]: failed to allocate IP 10.96.0.0: the provided network does not match the current range',
      '422',
      '  spec.clusterIPs: Invalid value: ["10.111.255.255"]: failed to allocate IP 10.111.255.255: the provided network does not match the current range',
      '422',
      '  spec.clusterIPs: Invalid value: ["10.112.0.0"]: failed to allocate IP 10.112.0.0: the provided network does not match the current range',
      '422',
      '  spec.clusterIPs: Invalid value: ["10.95.255.255"]: failed to allocate IP 10.95.255.255: the provided network does not match the current range',
    ],
  },
  'Service clusterIPs: several are validated': {
    steps: [
      refused({ clusterIPs: ['10.96.0.83', '10.96.0.84'] }),
      refused({ clusterIPs: ['None', '10.96.0.83'] }),
      refused({ clusterIPs: ['10.96.0.83', 'None'] }),
      refused({ clusterIPs: ['10.96.0.83', 'fd00::1', '10.96.0.84'] }),
      refused({ clusterIPs: ['10.96.0.83', '10.96.0.83'] }),
    ],
    sees: [
      '422',
      '  spec.clusterIPs: Invalid value: ["10.96.0.83","10.96.0.84"]: must be empty when `clusterIP` is not specified',
      '  spec.clusterIPs: Invalid value: ["10.96.0.83","10.96.0.84"]: may specify no more than one IP for each IP family',
      '422',
      '  spec.clusterIPs: Invalid value: ["None","10.96.0.83"]: must be empty when `clusterIP` is not specified',
      '  spec.clusterIPs: Invalid value: ["None","10.96.0.83"]: \'None\' must be the first and only value',
      '422',
      '  spec.clusterIPs: Invalid value: ["10.96.0.83","None"]: must be empty when `clusterIP` is not specified',
      '  spec.clusterIPs[1]: Invalid value: "None": <no ip>',
      '422',
      '  spec.clusterIPs: Invalid value: ["10.96.0.83","fd00::1","10.96.0.84"]: must be empty when `clusterIP` is not specified',
      '  spec.clusterIPs: Invalid value: ["10.96.0.83","fd00::1","10.96.0.84"]: may only hold up to 2 values',
      '422',
      '  spec.clusterIPs: Invalid value: ["10.96.0.83","10.96.0.83"]: must be empty when `clusterIP` is not specified',
      '  spec.clusterIPs: Invalid value: ["10.96.0.83","10.96.0.83"]: may specify no more than one IP for each IP family',
    ],
  },
  'Service clusterIPs: empty items are refused': {
    steps: [refused({ clusterIPs: [''] }), refused({ clusterIP: '', clusterIPs: ['10.96.0.85', ''] })],
    sees: [
      '422',
      '  spec.clusterIPs: Invalid value: [""]: must be empty when `clusterIP` is not specified',
      '  spec.clusterIPs[0]: Invalid value: "": <no ip>',
      '422',
      '  spec.clusterIPs: Invalid value: ["10.96.0.85",""]: must be empty when `clusterIP` is not specified',
      '  spec.clusterIPs[1]: Invalid value: "": <no ip>',
    ],
  },
  'Service clusterIPs: one of the other family is refused': {
    steps: [refused({ clusterIP: 'fd00:10:96::5' }), refused({ clusterIP: 'fd00:10:96::5', ipFamilies: ['IPv4'] })],
    sees: [
      '422',
      '  spec.clusterIPs[0]: Invalid value: ["fd00:10:96::5"]: IPv6 is not configured on this cluster',
      '422',
      '  spec.clusterIPs[0]: Invalid value: "fd00:10:96::5": expected an IPv4 value as indicated by `ipFamilies[0]`',
    ],
  },
  'Service clusterIP: an update cannot change it': {
    steps: [
      service({ clusterIP: '10.96.0.86', ports: PORTS }, 'spec.clusterIP'),
      update({ clusterIP: '10.96.0.87', ports: PORTS }),
      merge('services/a', { spec: { clusterIP: '10.96.0.87' } }),
      merge('services/a', { spec: { clusterIP: '10.96.0.87', clusterIPs: ['10.96.0.87'] } }),
      merge('services/a', { spec: { clusterIP: 'None' } }),
      update({ clusterIP: '', clusterIPs: [], ports: PORTS }, 'spec.clusterIP'),
      merge('services/a', { spec: { clusterIP: null, clusterIPs: null } }, 'spec.clusterIP'),
      merge('services/a', { spec: { clusterIP: null } }, 'spec.clusterIP'),
      merge('services/a', { spec: { clusterIP: '' } }, 'spec.clusterIP'),
      merge('services/a', { spec: { clusterIPs: [] } }, 'spec.clusterIP'),
    ],
    sees: [
      '201',
      '  spec.clusterIP = "10.96.0.86"',
      '422',
      '  spec.clusterIPs[0]: Invalid value: ["10.96.0.87"]: may not change once set',
      '422',
      '  spec.clusterIPs[0]: Invalid value: ["10.96.0.87"]: may not change once set',
      '422',
      '  spec.clusterIPs[0]: Invalid value: ["10.96.0.87"]: may not change once set',
      '422',
      '  spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set',
      '200',
      '  spec.clusterIP = "10.96.0.86"',
      '200',
      '  spec.clusterIP = "10.96.0.86"',
      '200',
      '  spec.clusterIP = "10.96.0.86"',
      '200',
      '  spec.clusterIP = "10.96.0.86"',
      '200',
      '  spec.clusterIP = "10.96.0.86"',
    ],
  },
  'Service ipFamilies: an unserved one is refused': {
    steps: [
      refused({ ipFamilies: ['IPv6'] }),
      refused({ ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack' }),
      service({ ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'PreferDualStack', ports: PORTS }, 'spec.ipFamilies'),
    ],
    sees: [
      '422',
      '  spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
      '422',
      '  spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
      '  spec.ipFamilies[1]: Invalid value: "IPv6": not configured on this cluster',
      '422',
      '  spec.ipFamilies[1]: Invalid value: "IPv6": not configured on this cluster',
    ],
  },
  'Service ipFamilies: repeated, unknown and empty ones are refused': {
    steps: [
      refused({ ipFamilies: ['IPv4', 'IPv4'] }),
      refused({ ipFamilies: ['IPv4', 'IPv4'], ipFamilyPolicy: 'PreferDualStack' }),
      refused({ ipFamilies: ['IPv4', 'IPv6', 'IPv4'], ipFamilyPolicy: 'PreferDualStack' }),
      refused({ ipFamilies: ['ipv4'] }),
      refused({ ipFamilies: [''] }),
    ],
    sees: [
      '422',
      '  spec.ipFamilies[1]: Duplicate value: "IPv4"',
      '422',
      '  spec.ipFamilies[1]: Duplicate value: "IPv4"',
      '422',
      '  spec.ipFamilies[2]: Duplicate value: "IPv4"',
      '422',
      '  spec.ipFamilies[0]: Unsupported value: "ipv4": supported values: "IPv4", "IPv6"',
      '422',
      '  spec.ipFamilies[0]: Unsupported value: "": supported values: "IPv4", "IPv6"',
    ],
  },
  'Service ipFamilies: several need a policy': {
    steps: [
      refused({ ipFamilies: ['IPv4', 'IPv6'] }),
      refused({ ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'SingleStack' }),
    ],
    sees: [
      '422',
      "  spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified",
      '422',
      "  spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified",
    ],
  },
  'Service ipFamilyPolicy: unknown ones are refused': {
    steps: [refused({ ipFamilyPolicy: 'Both' }), refused({ ipFamilyPolicy: '' })],
    sees: [
      '422',
      '  spec.ipFamilyPolicy: Unsupported value: "Both": supported values: "PreferDualStack", "RequireDualStack", "SingleStack"',
      '422',
      '  spec.ipFamilyPolicy: Unsupported value: "": supported values: "PreferDualStack", "RequireDualStack", "SingleStack"',
    ],
  },
  'Service ipFamilies: the first cannot change': {
    steps: [
      service({ ports: PORTS }, 'spec.ipFamilies'),
      merge('services/a', { spec: { ipFamilies: ['IPv6'] } }),
      merge('services/a', { spec: { ipFamilyPolicy: 'RequireDualStack' } }),
      merge('services/a', { spec: { ipFamilyPolicy: 'PreferDualStack' } }, 'spec.ipFamilyPolicy', 'spec.ipFamilies'),
      merge(
        'services/a',
        { spec: { ipFamilyPolicy: null, ipFamilies: null } },
        'spec.ipFamilyPolicy',
        'spec.ipFamilies',
      ),
    ],
    sees: [
      '201',
      '  spec.ipFamilies = ["IPv4"]',
      '422',
      '  spec.clusterIPs[0]: Invalid value: "<given>": expected an IPv6 value as indicated by `ipFamilies[0]`',
      '422',
      '  spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
      '200',
      '  spec.ipFamilyPolicy = "PreferDualStack"',
      '  spec.ipFamilies = ["IPv4"]',
      '200',
      '  spec.ipFamilyPolicy = "PreferDualStack"',
      '  spec.ipFamilies = ["IPv4"]',
    ],
  },
  'Service ipFamilies: headless without a selector may have both': {
    steps: [
      service({ clusterIP: 'None', ipFamilies: ['IPv6'] }, 'spec.ipFamilies', 'spec.ipFamilyPolicy'),
      create(
        'services',
        { metadata: { name: 'b' }, spec: { clusterIP: 'None', ipFamilies: ['IPv6'], ipFamilyPolicy: 'SingleStack' } },
        'spec.ipFamilies',
      ),
      create(
        'services',
        { metadata: { name: 'c' }, spec: { clusterIP: 'None', ipFamilyPolicy: 'PreferDualStack' } },
        'spec.ipFamilies',
      ),
      create(
        'services',
        { metadata: { name: 'd' }, spec: { clusterIP: 'None', ipFamilyPolicy: 'SingleStack' } },
        'spec.ipFamilies',
      ),
    ],
    sees: [
      '201',
      '  spec.ipFamilies = ["IPv6","IPv4"]',
      '  spec.ipFamilyPolicy = "RequireDualStack"',
      '201',
      '  spec.ipFamilies = ["IPv6"]',
      '201',
      '  spec.ipFamilies = ["IPv4","IPv6"]',
      '201',
      '  spec.ipFamilies = ["IPv4"]',
    ],
  },
  'Service: a write that fails leaves its addresses free': {
    steps: [
      service({
        type: 'NodePort',
        clusterIP: '10.96.0.90',
        ports: [{ port: 80, nodePort: 30_020 }],
        sessionAffinity: 'X',
      }),
      service({ type: 'NodePort', clusterIP: '10.96.0.90', ports: [{ port: 80, nodePort: 30_020 }] }, 'spec.clusterIP'),
      remove('services/a', undefined, 'spec.clusterIP'),
      // Not the address too: kube-apiserver's repair of addresses may reserve that anew while the Service is deleted.
      service({ type: 'NodePort', ports: [{ port: 80, nodePort: 30_020 }] }, 'spec.type'),
    ],
    sees: [
      '422',
      '  spec.sessionAffinity: Unsupported value: "X": supported values: "ClientIP", "None"',
      '201',
      '  spec.clusterIP = "10.96.0.90"',
      '200',
      '  spec.clusterIP = "10.96.0.90"',
      '201',
      '  spec.type = "NodePort"',
    ],
  },
  'Service externalIPs: addresses are validated': {
    steps: [
      refused({ externalIPs: ['1.2.3'] }),
      refused({ externalIPs: ['127.0.0.1', '0.0.0.0'] }),
      refused({ externalIPs: ['169.254.1.1'] }),
      service({ externalIPs: ['1.2.3.4', '2001:db8::1'], ports: PORTS }, 'spec.externalIPs'),
    ],
    sees: [
      '422',
      '  spec.externalIPs[0]: Invalid value: "1.2.3": <no ip>',
      '422',
      '  spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
      '  spec.externalIPs[1]: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)',
      '422',
      '  spec.externalIPs[0]: Invalid value: "169.254.1.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)',
      '201',
      '  spec.externalIPs = ["1.2.3.4","2001:db8::1"]',
    ],
  },
  'Service loadBalancerSourceRanges: ranges are validated': {
    steps: [
      refused({ type: 'LoadBalancer', loadBalancerSourceRanges: ['1.2.3.4'] }),
      refused({ type: 'LoadBalancer', loadBalancerSourceRanges: ['1.2.3.4/33'] }),
      refused({ loadBalancerSourceRanges: ['1.2.3.0/24'] }),
    ],
    sees: [
      '422',
      '  spec.LoadBalancerSourceRanges[0]: Invalid value: "1.2.3.4": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
      '422',
      '  spec.LoadBalancerSourceRanges[0]: Invalid value: "1.2.3.4/33": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
      '422',
      "  spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
    ],
  },
  'Service loadBalancerClass: it is validated, and goes when the type changes': {
    steps: [
      refused({ loadBalancerClass: 'x' }),
      refused({ type: 'LoadBalancer', loadBalancerClass: 'a b' }),
      service({ type: 'LoadBalancer', loadBalancerClass: 'x', ports: PORTS }, 'spec.loadBalancerClass'),
      merge('services/a', { spec: { loadBalancerClass: 'y' } }),
      merge('services/a', { spec: { loadBalancerClass: null } }),
    ],
    sees: [
      '422',
      "  spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
      '422',
      '  spec.loadBalancerClass: Invalid value: "a b": <no name part>',
      '201',
      '  spec.loadBalancerClass = "x"',
      '422',
      '  spec.loadBalancerClass: Invalid value: "y": may not change once set',
      '422',
      '  spec.loadBalancerClass: Invalid value: null: may not change once set',
    ],
  },
};

export const SERVICE_POLICY_SCRIPTS: Readonly<Record<string, Script>> = {
  'Service sessionAffinity: the time is validated': {
    steps: [
      refused({ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 0 } } }),
      refused({ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 86_401 } } }),
      refused({ sessionAffinity: 'ClientIP', sessionAffinityConfig: {} }),
      refused({ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: {} } }),
      service(
        { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 86_400 } }, ports: PORTS },
        'spec.sessionAffinityConfig',
      ),
    ],
    sees: [
      '422',
      '  spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less than 86400',
      '422',
      '  spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400',
      '201',
      '  spec = {"clusterIP":"<given>","clusterIPs":["<given>"],"internalTrafficPolicy":"Cluster","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","ports":[{"port":80,"protocol":"TCP","targetPort":80}],"sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":10800}},"type":"ClusterIP"}',
      '  status = {"loadBalancer":{}}',
      '201',
      '  spec = {"clusterIP":"<given>","clusterIPs":["<given>"],"internalTrafficPolicy":"Cluster","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","ports":[{"port":80,"protocol":"TCP","targetPort":80}],"sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":10800}},"type":"ClusterIP"}',
      '  status = {"loadBalancer":{}}',
      '201',
      '  spec.sessionAffinityConfig = {"clientIP":{"timeoutSeconds":86400}}',
    ],
  },
  'Service sessionAffinity: None has no settings': {
    steps: [
      refused({ sessionAffinityConfig: { clientIP: { timeoutSeconds: 10 } } }),
      service({ sessionAffinity: 'None', sessionAffinityConfig: {}, ports: PORTS }, 'spec.sessionAffinity'),
    ],
    sees: [
      '201',
      '  spec = {"clusterIP":"<given>","clusterIPs":["<given>"],"internalTrafficPolicy":"Cluster","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","ports":[{"port":80,"protocol":"TCP","targetPort":80}],"sessionAffinity":"None","type":"ClusterIP"}',
      '  status = {"loadBalancer":{}}',
      '201',
      '  spec.sessionAffinity = "None"',
    ],
  },
  'Service sessionAffinity: ClientIP can become None': {
    steps: [
      service({ sessionAffinity: 'ClientIP', ports: PORTS }, 'spec.sessionAffinityConfig'),
      merge('services/a', { spec: { sessionAffinity: 'None' } }, 'spec.sessionAffinityConfig'),
      update({ ports: PORTS }, 'spec.sessionAffinity', 'spec.sessionAffinityConfig'),
    ],
    sees: [
      '201',
      '  spec.sessionAffinityConfig = {"clientIP":{"timeoutSeconds":10800}}',
      '200',
      '  spec.sessionAffinityConfig = nothing',
      '200',
      '  spec.sessionAffinity = "None"',
      '  spec.sessionAffinityConfig = nothing',
    ],
  },
  'Service sessionAffinity: an empty one is None, unknown ones are refused': {
    steps: [
      refused({ sessionAffinity: 'clientip' }),
      service({ sessionAffinity: '', ports: PORTS }, 'spec.sessionAffinity'),
    ],
    sees: [
      '422',
      '  spec.sessionAffinity: Unsupported value: "clientip": supported values: "ClientIP", "None"',
      '201',
      '  spec.sessionAffinity = "None"',
    ],
  },
  'Service externalTrafficPolicy: values and types are validated': {
    steps: [
      refused({ externalTrafficPolicy: 'Local' }),
      refused({ type: 'NodePort', externalTrafficPolicy: 'Foo' }),
      refused({ type: 'NodePort', externalTrafficPolicy: '' }),
      service({ externalIPs: ['1.2.3.4'], ports: PORTS }, 'spec.externalTrafficPolicy'),
    ],
    sees: [
      '422',
      '  spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
      '422',
      '  spec.externalTrafficPolicy: Unsupported value: "Foo": supported values: "Cluster", "Local"',
      '201',
      '  spec = {"clusterIP":"<given>","clusterIPs":["<given>"],"externalTrafficPolicy":"Cluster","internalTrafficPolicy":"Cluster","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","ports":[{"nodePort":<given>,"port":80,"protocol":"TCP","targetPort":80}],"sessionAffinity":"None","type":"NodePort"}',
      '  status = {"loadBalancer":{}}',
      '201',
      '  spec.externalTrafficPolicy = "Cluster"',
    ],
  },
  'Service externalTrafficPolicy: Local gives a port of health checks': {
    steps: [
      service(
        {
          type: 'LoadBalancer',
          externalTrafficPolicy: 'Local',
          healthCheckNodePort: 30_030,
          ports: [{ port: 80, nodePort: 30_031 }],
        },
        'spec.healthCheckNodePort',
      ),
      merge('services/a', { spec: { healthCheckNodePort: 30_032 } }),
      merge('services/a', { spec: { externalTrafficPolicy: 'Cluster' } }, 'spec.healthCheckNodePort'),
      create(
        'services',
        { metadata: { name: 'b' }, spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports: PORTS } },
        'spec.healthCheckNodePort',
      ),
    ],
    sees: [
      '201',
      '  spec.healthCheckNodePort = 30030',
      '422',
      '  spec.healthCheckNodePort: Forbidden: field is immutable',
      '200',
      '  spec.healthCheckNodePort = nothing',
      '201',
      '  spec.healthCheckNodePort = <given>',
    ],
  },
  'Service healthCheckNodePort: one that is taken is an error of the server': {
    steps: [
      service({ type: 'NodePort', ports: [{ port: 80, nodePort: 30_071 }] }, 'spec.type'),
      create('services', {
        metadata: { name: 'b' },
        spec: {
          type: 'LoadBalancer',
          externalTrafficPolicy: 'Local',
          healthCheckNodePort: 30_071,
          ports: [{ port: 80 }],
        },
      }),
      get('services/b'),
    ],
    sees: [
      '201',
      '  spec.type = "NodePort"',
      '500',
      '  InternalError: Internal error occurred: failed to allocate requested HealthCheck NodePort 30071: provided port is already allocated',
      '404',
      '  NotFound: services "b" not found',
    ],
  },
  'Service healthCheckNodePort: it is refused where it does not count': {
    steps: [
      refused({ healthCheckNodePort: 30_033 }),
      refused({ type: 'NodePort', externalTrafficPolicy: 'Local', healthCheckNodePort: 30_033 }),
      refused({ type: 'LoadBalancer', healthCheckNodePort: 30_033 }),
    ],
    sees: [
      '422',
      "  spec.healthCheckNodePort: Invalid value: 30033: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
      '422',
      "  spec.healthCheckNodePort: Invalid value: 30033: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
      '422',
      "  spec.healthCheckNodePort: Invalid value: 30033: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
    ],
  },
  'Service internalTrafficPolicy: values are validated': {
    steps: [
      refused({ internalTrafficPolicy: 'Foo' }),
      refused({ internalTrafficPolicy: '' }),
      service({ internalTrafficPolicy: 'Local', ports: PORTS }, 'spec.internalTrafficPolicy'),
    ],
    sees: [
      '422',
      '  spec.internalTrafficPolicy: Unsupported value: "Foo": supported values: "Cluster", "Local"',
      '422',
      '  spec.internalTrafficPolicy: Unsupported value: "": supported values: "Cluster", "Local"',
      '201',
      '  spec.internalTrafficPolicy = "Local"',
    ],
  },
  'Service trafficDistribution: values are validated': {
    steps: [
      refused({ trafficDistribution: 'Foo' }),
      refused({ trafficDistribution: '' }),
      service({ trafficDistribution: 'PreferClose', ports: PORTS }, 'spec.trafficDistribution'),
      merge('services/a', { spec: { trafficDistribution: 'PreferSameZone' } }, 'spec.trafficDistribution'),
      merge('services/a', { spec: { trafficDistribution: 'PreferSameNode' } }, 'spec.trafficDistribution'),
      merge('services/a', { spec: { trafficDistribution: null } }, 'spec.trafficDistribution'),
    ],
    sees: [
      '422',
      '  spec.trafficDistribution: Unsupported value: "Foo": supported values: "PreferClose", "PreferSameZone", "PreferSameNode"',
      '422',
      '  spec.trafficDistribution: Unsupported value: "": supported values: "PreferClose", "PreferSameZone", "PreferSameNode"',
      '201',
      '  spec.trafficDistribution = "PreferClose"',
      '200',
      '  spec.trafficDistribution = "PreferSameZone"',
      '200',
      '  spec.trafficDistribution = "PreferSameNode"',
      '200',
      '  spec.trafficDistribution = nothing',
    ],
  },
  'Service selector: keys and values are those of labels': {
    steps: [
      refused({ selector: { 'a/b/c': 'x' } }),
      refused({ selector: { '/b': 'x' } }),
      refused({ selector: { 'A_/b': 'x' } }),
      refused({ selector: { ['a'.repeat(64)]: 'x' } }),
      refused({ selector: { a: 'b'.repeat(64) } }),
      refused({ selector: { '': 'x' } }),
      service({ selector: { a: '' }, ports: PORTS }, 'spec.selector'),
    ],
    sees: [
      '422',
      "  spec.selector: Invalid value: \"a/b/c\": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
      '422',
      '  spec.selector: Invalid value: "/b": prefix part must be non-empty',
      '422',
      '  spec.selector: Invalid value: "A_/b": prefix part <no subdomain>',
      '422',
      '  spec.selector: Invalid value: "a{64}": name part must be no more than 63 bytes',
      '422',
      '  spec.selector: Invalid value: "b{64}": must be no more than 63 bytes',
      '422',
      '  spec.selector: Invalid value: "": name part must be non-empty',
      '  spec.selector: Invalid value: "": <no name part>',
      '201',
      '  spec.selector = {"a":""}',
    ],
  },
  'Service selector: values are texts': {
    steps: [refused({ selector: { a: 1 } }), refused({ selector: ['a'] }), refused({ selector: 'a' })],
    sees: [
      '400',
      '  BadRequest: Service in version "v1" cannot be handled as a Service: json: cannot unmarshal number into Go struct field ServiceSpec.spec.selector of type string',
      '400',
      '  BadRequest: Service in version "v1" cannot be handled as a Service: json: cannot unmarshal array into Go struct field ServiceSpec.spec.selector of type map[string]string',
      '400',
      '  BadRequest: Service in version "v1" cannot be handled as a Service: json: cannot unmarshal string into Go struct field ServiceSpec.spec.selector of type map[string]string',
    ],
  },
  'Service publishNotReadyAddresses: it is a bool': {
    steps: [
      refused({ publishNotReadyAddresses: 'yes' }),
      service({ publishNotReadyAddresses: true, ports: PORTS }, 'spec.publishNotReadyAddresses'),
      merge('services/a', { spec: { publishNotReadyAddresses: false } }, 'spec.publishNotReadyAddresses'),
    ],
    sees: [
      '400',
      '  BadRequest: Service in version "v1" cannot be handled as a Service: json: cannot unmarshal string into Go struct field ServiceSpec.spec.publishNotReadyAddresses of type bool',
      '201',
      '  spec.publishNotReadyAddresses = true',
      '200',
      '  spec.publishNotReadyAddresses = nothing',
    ],
  },
  'Service: the name is a DNS label that starts with a letter or a digit': {
    steps: [
      create('services', { metadata: { name: '1a' }, spec: { ports: PORTS } }, 'metadata.name'),
      create('services', { metadata: { name: 'a.b' }, spec: { ports: PORTS } }),
      create('services', { metadata: { name: 'a'.repeat(64) }, spec: { ports: PORTS } }),
      create('services', { metadata: { name: '-a' }, spec: { ports: PORTS } }),
    ],
    sees: [
      '201',
      '  metadata.name = "1a"',
      '422',
      '  metadata.name: Invalid value: "a.b": must not contain dots',
      '422',
      '  metadata.name: Invalid value: "a{64}": must be no more than 63 characters',
      '422',
      '  metadata.name: Invalid value: "-a": <no label>',
    ],
  },
  'Service: one without a spec is refused': {
    steps: [create('services', {}), create('services', { spec: null })],
    sees: ['422', '  spec.ports: Required value', '422', '  spec.ports: Required value'],
  },
  'Service: several causes come in their order': {
    steps: [
      service({
        type: 'NodePort',
        ports: [{ port: 0, name: 'A', protocol: 'X', targetPort: 'A_', appProtocol: 'a b', nodePort: 5 }],
        selector: { 'a b': 'c' },
        sessionAffinity: 'Bar',
        externalIPs: ['x'],
        externalTrafficPolicy: 'Foo',
        internalTrafficPolicy: 'Foo',
        trafficDistribution: 'Foo',
        ipFamilies: ['IPv7'],
      }),
    ],
    sees: ['422', '  spec.ipFamilies[0]: Unsupported value: "IPv7": supported values: "IPv4", "IPv6"'],
  },
  'Service: the generation is not counted, and the status is kept': {
    steps: [
      service({ ports: PORTS }, 'metadata.generation'),
      merge('services/a', { spec: { selector: { a: 'b' } } }, 'metadata.generation'),
      put('services/a/status', { spec: { selector: { c: 'd' } }, status: {} }, 'spec.selector', 'status'),
    ],
    sees: [
      '201',
      '  metadata.generation = nothing',
      '200',
      '  metadata.generation = nothing',
      '200',
      '  spec.selector = {"a":"b"}',
      '  status = {"loadBalancer":{}}',
    ],
  },
  'Service status: addresses of a balancer are validated': {
    steps: [
      service({ type: 'LoadBalancer', ports: PORTS }, 'status'),
      merge('services/a/status', { status: { loadBalancer: { ingress: [{ ip: '1.2.3' }] } } }),
      merge('services/a/status', { status: { loadBalancer: { ingress: [{ ip: '1.2.3.4', ipMode: 'Foo' }] } } }),
      merge('services/a/status', { status: { loadBalancer: { ingress: [{ hostname: 'A_b' }] } } }),
      merge('services/a/status', { status: { loadBalancer: { ingress: [{ hostname: '1.2.3.4' }] } } }),
      merge('services/a/status', { status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } } }, 'status'),
      merge('services/a/status', { status: { loadBalancer: { ingress: [{ hostname: 'x', ipMode: 'VIP' }] } } }),
    ],
    sees: [
      '201',
      '  status = {"loadBalancer":{}}',
      '422',
      '  status.loadBalancer.ingress[0].ip: Invalid value: "1.2.3": <no ip>',
      '422',
      '  status.loadBalancer.ingress[0].ipMode: Unsupported value: "Foo": supported values: "Proxy", "VIP"',
      '422',
      '  status.loadBalancer.ingress[0].hostname: Invalid value: "A_b": <no subdomain>',
      '422',
      '  status.loadBalancer.ingress[0].hostname: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
      '200',
      '  status = {"loadBalancer":{"ingress":[{"ip":"1.2.3.4","ipMode":"VIP"}]}}',
      '422',
      '  status.loadBalancer.ingress[0].ipMode: Forbidden: may not be specified when `ip` is not set',
    ],
  },
  'Service status: conditions are validated': {
    steps: [
      service({ ports: PORTS }, 'status'),
      merge('services/a/status', { status: { conditions: [{ type: 'X', status: 'True' }] } }),
      strategic(
        'services/a/status',
        {
          status: {
            conditions: [
              { type: 'X', status: 'True', reason: 'R', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
            ],
          },
        },
        'status',
      ),
    ],
    sees: [
      '201',
      '  status = {"loadBalancer":{}}',
      '200',
      '  spec = {"clusterIP":"<given>","clusterIPs":["<given>"],"internalTrafficPolicy":"Cluster","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","ports":[{"port":80,"protocol":"TCP","targetPort":80}],"sessionAffinity":"None","type":"ClusterIP"}',
      '  status = {"conditions":[{"lastTransitionTime":null,"message":"","reason":"","status":"True","type":"X"}],"loadBalancer":{}}',
      '200',
      '  status = {"conditions":[{"lastTransitionTime":"2026-01-01T00:00:00Z","message":"","reason":"R","status":"True","type":"X"}],"loadBalancer":{}}',
    ],
  },
  'Service: after a DELETE nothing is left': {
    steps: [service({ ports: PORTS }, 'spec.type'), remove('services/a', undefined, 'spec.type'), get('services/a')],
    sees: [
      '201',
      '  spec.type = "ClusterIP"',
      '200',
      '  spec.type = "ClusterIP"',
      '404',
      '  NotFound: services "a" not found',
    ],
  },
};

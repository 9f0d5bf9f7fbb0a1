/**
 * What people do with kubectl on the resources that the embedded server has, told in stories of one namespace each. Not in
 * it: `describe namespace` (quotas and limit ranges are not served), and forbidden changes of a pod's spec (the real
 * server shows a difference of two Go structs).
 */
export interface KubectlStep {
  /** Words; those with spaces in single quotes. */
  readonly args: string;
  readonly stdin?: string;
  /** kubectl ends with status 1. */
  readonly fails?: true;
}

const POD = `
apiVersion: v1
kind: Pod
metadata: { name: web-1, labels: { app: web } }
spec:
  nodeName: node-a
  volumes: [{ name: data, emptyDir: {} }]
  containers:
  - name: app
    image: registry.example/app:1.2
    ports: [{ name: http, containerPort: 8080 }]
    env: [{ name: A, value: b }]
    volumeMounts: [{ name: data, mountPath: /data }]
    readinessProbe: { httpGet: { path: /ready, port: http } }
    resources: { requests: { cpu: 100m, memory: 64Mi } }
`;

const PLAIN_POD = `
apiVersion: v1
kind: Pod
metadata: { name: plain, labels: { a: b }, annotations: { c: d } }
spec:
  initContainers: [{ name: init, image: registry.example/init:1, command: [sh, -c, 'true'] }]
  containers: [{ name: app, image: registry.example/app:1, args: [x], env: [{ name: A, value: b }] }]
`;

const SERVICE = `
apiVersion: v1
kind: Service
metadata: { name: web, labels: { app: web } }
spec:
  selector: { app: web }
  ports: [{ name: http, port: 80, targetPort: http }, { name: admin, port: 81, targetPort: 9000 }]
`;

const PORTS_TURNED = SERVICE.replace(/\[(\{[^}]*\}), (\{[^}]*\})\]/, '[$2, $1]');

/** Where events are shown: a real server may complain about a cluster IP that it has only just given. */
const HEADLESS = SERVICE.replace('spec:', 'spec:\n  clusterIP: None');

const ENDPOINTS = `
apiVersion: v1
kind: Endpoints
metadata: { name: web }
subsets:
- addresses: [{ ip: 10.1.0.1, nodeName: node-a, targetRef: { kind: Pod, name: web-1 } }, { ip: 10.1.0.2 }]
  notReadyAddresses: [{ ip: 10.1.0.3 }]
  ports: [{ name: http, port: 8080 }, { name: admin, port: 9000 }]
`;

const SLICE = `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: web-abcde, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
endpoints: [{ addresses: [10.1.0.1], conditions: { ready: true }, nodeName: node-a }, { addresses: [10.1.0.2] }]
ports: [{ name: http, port: 8080, protocol: TCP }]
`;

const NODE = `
apiVersion: v1
kind: Node
metadata: { name: node-a, labels: { node-role.kubernetes.io/worker: '' } }
`;

const READY_STATUS = JSON.stringify({
  status: {
    phase: 'Running',
    podIP: '10.1.0.1',
    podIPs: [{ ip: '10.1.0.1' }],
    hostIP: '192.0.2.1',
    startTime: '2026-01-01T00:00:00Z',
    conditions: [{ type: 'Ready', status: 'True' }],
    containerStatuses: [
      {
        name: 'app',
        image: 'registry.example/app:1.2',
        imageID: '',
        ready: true,
        restartCount: 0,
        state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
      },
    ],
  },
});

export const KUBECTL_SCRIPT: Readonly<Record<string, readonly KubectlStep[]>> = {
  'versions and resources': [
    { args: 'version' },
    { args: 'cluster-info' },
    { args: 'get --raw /healthz' },
    { args: 'get --raw /readyz' },
    { args: 'api-resources --api-group=discovery.k8s.io -o wide' },
    { args: 'api-resources --api-group=coordination.k8s.io -o wide --cached' },
    { args: 'get namespaces' },
    { args: 'get ns default --show-labels' },
    { args: 'get svc -n default' },
    { args: 'get nothings', fails: true },
    { args: 'get nothings.v1.example.com', fails: true },
    { args: 'get pods none', fails: true },
  ],

  'create and get': [
    { args: 'create namespace life' },
    { args: 'create namespace life', fails: true },
    { args: 'get pods -n life' },
    { args: 'create -f -', stdin: NODE },
    { args: 'create -n life -f -', stdin: `${POD}---${HEADLESS}---${ENDPOINTS}---${SLICE}` },
    { args: 'create -n life -f -', stdin: HEADLESS, fails: true },
    { args: `patch pod web-1 -n life --subresource=status --type=merge -p '${READY_STATUS}'` },
    { args: 'get pods -n life' },
    { args: 'get pods -n life -o wide' },
    { args: 'get pods -n life -o name' },
    { args: 'get pods -n life -o yaml' },
    { args: 'get pods -n life -o json' },
    { args: "get pods -n life -o jsonpath='{.items[*].status.podIP}'" },
    { args: 'get pods -n life -o custom-columns=N:.metadata.name,IP:.status.podIP' },
    { args: 'get pods -n life --show-labels' },
    { args: 'get pods -n life -L app' },
    { args: 'get pods -n life -l app=web' },
    { args: "get pods -n life -l 'app in (a,b),!c'" },
    { args: 'get pods -n life --field-selector=spec.nodeName=node-a' },
    { args: 'get pods -n life --field-selector=spec.foo=a', fails: true },
    { args: 'get pods -A' },
    { args: 'get pod web-1 -n life -o yaml' },
    { args: 'get svc,ep,endpointslices -n life' },
    { args: 'get svc -n life -o wide' },
    { args: 'get svc web -n life -o yaml' },
    { args: 'get ep web -n life -o yaml' },
    { args: 'get endpointslice web-abcde -n life -o yaml' },
    { args: 'get all -n life' },
    { args: 'get ns --field-selector=status.phase=Gone' },
    { args: "get ns life -o go-template='{{.status.phase}}'" },
    { args: 'label ns life --list' },
    { args: 'annotate ns life a=b --dry-run=server -o yaml' },
    { args: "get pods -n life -l 'x in ('", fails: true },
    { args: 'get endpointslices -n life -l kubernetes.io/service-name=web -o name' },
    { args: 'get pods -n life --ignore-not-found none' },
    { args: 'get nodes' },
    { args: 'get nodes -o wide' },
    { args: 'get leases -n life' },
    { args: 'get events -n life' },
    { args: 'get po/web-1 svc/web -n life' },
    { args: 'get pods -n life --chunk-size=1' },
    { args: 'get pods -n life --no-headers' },
    { args: 'get --raw /api/v1/namespaces/life/endpoints/web' },
    { args: 'get --raw /api/v1/namespaces/life/nothings', fails: true },
  ],

  describe: [
    { args: 'create -n life -f -', stdin: PLAIN_POD },
    { args: 'describe pod plain -n life' },
    { args: 'describe pods -n life' },
    { args: 'describe pod web-1 -n life' },
    { args: 'describe svc web -n life' },
    { args: 'describe ep web -n life' },
    { args: 'describe endpointslice web-abcde -n life' },
    { args: 'describe node node-a' },
    { args: 'describe pods -n life -l app=none' },
    { args: 'describe pod none -n life', fails: true },
  ],

  sort: [
    { args: 'create namespace sort' },
    { args: 'create service clusterip b --tcp=80:8080 -n sort' },
    { args: 'create service clusterip a --tcp=81 --clusterip=None -n sort' },
    { args: 'create service nodeport c --tcp=80 -n sort' },
    { args: 'create service loadbalancer d --tcp=80 -n sort' },
    { args: 'create service externalname e --external-name=x.example -n sort' },
    { args: 'get svc -n sort --sort-by=.metadata.name' },
    { args: 'get svc -n sort --sort-by=.spec.type -o wide' },
    { args: 'get svc -n sort --sort-by=.spec.ports[0].port -o name' },
    { args: 'get svc c -n sort -o yaml' },
    { args: 'get svc d -n sort -o yaml' },
    { args: 'get svc e -n sort -o yaml' },
  ],

  apply: [
    { args: 'create namespace apply' },
    { args: 'apply -n apply -f -', stdin: `${POD}---${SERVICE}` },
    { args: 'apply -n apply -f -', stdin: `${POD}---${SERVICE}` },
    { args: 'diff -n apply -f -', stdin: SERVICE },
    { args: 'apply -n apply -f -', stdin: PORTS_TURNED },
    { args: 'get svc web -n apply -o yaml' },
    {
      args: 'apply -n apply -f -',
      stdin: SERVICE.replace('9000', '9001').replace('{ name: http, port: 80', '{ name: web, port: 80'),
    },
    { args: 'get svc web -n apply -o yaml' },
    { args: 'apply -n apply -f -', stdin: SERVICE.replace(', { name: admin, port: 81, targetPort: 9000 }', '') },
    { args: 'get svc web -n apply -o yaml' },
    { args: 'apply -n apply -f -', stdin: POD.replace('app:1.2', 'app:1.3') },
    { args: 'get pod web-1 -n apply -o yaml' },
    { args: 'apply -n apply --dry-run=server -f -', stdin: SERVICE.replace('9000', '9002') },
    { args: 'apply -n apply --dry-run=client -f -', stdin: SERVICE },
    { args: 'apply view-last-applied svc web -n apply' },
    { args: 'apply -n apply -f -', stdin: ENDPOINTS },
    { args: 'apply -n apply -f -', stdin: ENDPOINTS.replace('10.1.0.2', '10.1.0.4') },
    { args: 'get ep web -n apply -o yaml' },
    { args: 'apply -n apply -f -', stdin: SLICE },
    { args: 'apply -n apply -f -', stdin: SLICE.replace('10.1.0.2', '10.1.0.4') },
    { args: 'get endpointslice -n apply' },
  ],

  validation: [
    { args: 'create namespace strict' },
    { args: 'create -n strict -f -', stdin: SERVICE.replace('selector:', 'selectors:'), fails: true },
    { args: 'create -n strict --validate=warn -f -', stdin: SERVICE.replace('selector:', 'selectors:') },
    {
      args: 'create -n strict --validate=ignore -f -',
      stdin: SERVICE.replace('name: web,', 'name: two, colour: red,'),
    },
    { args: 'create -n strict -f -', stdin: SERVICE.replace('port: 80,', 'port: eighty,'), fails: true },
    {
      args: 'create -n strict -f -',
      stdin: SERVICE.replace('port: 80,', 'port: 80000,').replace('name: web', 'name: three'),
      fails: true,
    },
    { args: 'create -n strict -f -', stdin: SERVICE.replace('kind: Service', 'kind: Nothing'), fails: true },
    { args: 'create -n strict -f -', stdin: SERVICE.replace('name: web', 'name: Web'), fails: true },
    { args: 'create -n strict -f -', stdin: POD.replace('image: registry.example/app:1.2', ''), fails: true },
    { args: 'create -n none -f -', stdin: SERVICE, fails: true },
    { args: 'create -n strict --dry-run=server -f -', stdin: SERVICE.replace('name: web', 'name: dry') },
    { args: 'get svc dry -n strict', fails: true },
  ],

  patch: [
    { args: 'create namespace patch' },
    { args: 'create -n patch -f -', stdin: `${POD}---${SERVICE}` },
    { args: `patch svc web -n patch -p '{"metadata":{"labels":{"a":"b"}}}'` },
    { args: `patch svc web -n patch -p '{"metadata":{"labels":{"a":"b"}}}'` },
    { args: `patch svc web -n patch -p '{"spec":{"ports":[{"port":80,"targetPort":8081}]}}'` },
    { args: `patch svc web -n patch -p '{"spec":{"ports":[{"port":81,"$patch":"delete"}]}}'` },
    { args: 'get svc web -n patch -o yaml' },
    { args: `patch svc web -n patch --type=merge -p '{"spec":{"selector":{"app":null,"x":"y"}}}'` },
    { args: `patch svc web -n patch --type=json -p '[{"op":"replace","path":"/spec/ports/0/port","value":90}]'` },
    {
      args: `patch svc web -n patch --type=json -p '[{"op":"test","path":"/spec/ports/0/port","value":91}]'`,
      fails: true,
    },
    { args: 'get svc web -n patch -o yaml' },
    { args: `patch pod web-1 -n patch -p '{"spec":{"containers":[{"name":"app","image":"registry.example/app:2"}]}}'` },
    { args: 'set image pod/web-1 app=registry.example/app:3 -n patch' },
    { args: 'set selector svc web a=b -n patch' },
    { args: 'get pod web-1 -n patch -o yaml' },
    { args: `patch svc none -n patch -p '{}'`, fails: true },
    { args: 'label svc web tier=front -n patch' },
    { args: 'label svc web tier=back -n patch', fails: true },
    { args: 'label svc web tier=back --overwrite -n patch' },
    { args: 'label svc --all tier- -n patch' },
    { args: "label svc web 'x=not a label' -n patch", fails: true },
    { args: "annotate svc web 'note=a b' -n patch" },
    { args: 'annotate svc web note- -n patch' },
    { args: 'get svc web -n patch -o yaml' },
    { args: 'cordon node-a' },
    { args: 'get node node-a' },
    { args: 'uncordon node-a' },
    { args: 'taint node node-a k=v:NoSchedule' },
    { args: 'get node node-a -o yaml' },
  ],

  'replace and edit': [
    { args: 'create namespace replace' },
    { args: 'replace -n replace -f -', stdin: SERVICE },
    { args: 'replace -n replace -f -', stdin: POD, fails: true },
    { args: 'replace -n replace -f -', stdin: SERVICE.replace('9000', '9009') },
    { args: 'get svc web -n replace -o yaml' },
    { args: 'replace -n replace --force -f -', stdin: SERVICE },
    { args: 'expose svc web --name=again --port=8000 -n replace' },
    { args: 'run busy --image=registry.example/busy -n replace' },
    { args: 'get pod busy -n replace -o yaml' },
    { args: 'expose pod busy --port=80 -n replace' },
    { args: 'get svc -n replace' },
    { args: 'autoscale svc web --max=3 -n replace', fails: true },
  ],

  delete: [
    { args: 'create namespace delete' },
    { args: 'create -n delete -f -', stdin: `${POD}---${SERVICE}---${ENDPOINTS}` },
    { args: 'delete svc web -n delete' },
    { args: 'get svc,ep -n delete' },
    { args: 'delete svc web -n delete', fails: true },
    { args: 'delete svc web -n delete --ignore-not-found' },
    { args: 'delete pod web-1 -n delete --wait=false' },
    { args: 'get pods -n delete' },
    { args: 'delete pod web-1 -n delete --grace-period=0 --force' },
    { args: 'get pods -n delete' },
    { args: 'create -n delete -f -', stdin: `${SERVICE}---${SERVICE.replace('name: web', 'name: other')}` },
    { args: 'delete svc -l app=web -n delete' },
    { args: 'create -n delete -f -', stdin: SERVICE },
    { args: 'delete svc --all -n delete --dry-run=server' },
    { args: 'get svc -n delete' },
    { args: 'delete -n delete -f -', stdin: SERVICE },
    { args: 'delete namespace delete --wait=false' },
    { args: 'get ns delete' },
    { args: 'create -n delete -f -', stdin: SERVICE, fails: true },
    { args: 'delete namespace default', fails: true },
    {
      args: 'replace --raw /api/v1/namespaces/delete/finalize -f -',
      stdin: '{"metadata":{"name":"delete"},"spec":{}}',
    },
    { args: 'get ns delete', fails: true },
    { args: 'wait --for=delete ns/delete --timeout=60s' },
    { args: 'delete node node-a' },
  ],

  'wait and watch': [
    { args: 'create namespace watch' },
    { args: 'create -n watch -f -', stdin: POD },
    { args: 'wait --for=condition=Ready pod/web-1 -n watch --timeout=1s', fails: true },
    { args: `patch pod web-1 -n watch --subresource=status --type=merge -p '${READY_STATUS}'` },
    { args: 'wait --for=condition=Ready pod/web-1 -n watch --timeout=60s' },
    { args: "wait --for=jsonpath='{.status.podIP}'=10.1.0.1 pod/web-1 -n watch --timeout=60s" },
    { args: 'get pods -n watch -w --request-timeout=4s' },
    { args: 'get pods -n watch -w -o wide --output-watch-events --request-timeout=4s' },
    { args: 'get --raw /api/v1/namespaces/watch/pods?watch=1&timeoutSeconds=3' },
    { args: 'events -n watch' },
  ],

  explain: [
    { args: 'explain nothing', fails: true },
    { args: 'explain services.spec.nothing', fails: true },
  ],
};

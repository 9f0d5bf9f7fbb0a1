/** `npm run build:kube`: builds the programs that `npm run test:kube` needs, where they are neither given nor cached. */
import * as binaries from './binaries.ts';

await binaries.kubeBinaries();
await binaries.etcdutlBinary();
await binaries.helmBinary();
await binaries.kubeadmBinary();
await binaries.promtoolBinary();
await binaries.actionlintBinary();

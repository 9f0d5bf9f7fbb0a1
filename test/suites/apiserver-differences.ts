/**
 * Where the embedded API server does not do what a real one does, by the name of the case that shows it. The suite runs
 * these cases against the real server as all others, and demands that they fail against the embedded one: an entry that
 * has become wrong must go.
 */
export const DIFFERENCES: Readonly<Record<string, string>> = {
  'open: managedFields are kept': 'nobody in this project reads them, and keeping them costs more than the objects',
  'open: server-side apply creates and updates': 'needs managedFields; kubectl apply does not use it by default',
  'open: tables for kubectl get': 'comes with the kubectl commands of the demo; kubectl falls back to plain JSON',
  'open: YAML bodies': 'only people write YAML, and kubectl turns it into JSON',
  'open: aggregated discovery': 'the legacy documents serve every client that this project has',
  'open: a pod keeps fields that the protobuf tables skip': 'probes, volumes and the like have no part in endpoints',
  'open: dryRun writes nothing': 'no part of this project sends it',
  'open: openapi documents': 'kubectl create and apply need them; they come with the kubectl commands of the demo',
};

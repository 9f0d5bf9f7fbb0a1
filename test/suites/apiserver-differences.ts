/**
 * Where the embedded API server does not do what a real one does, by the name of the case that shows it. The suite runs
 * these cases against the real server as all others, and demands that they fail against the embedded one: an entry that
 * has become wrong must go.
 */
export const DIFFERENCES: Readonly<Record<string, string>> = {
  'open: managedFields are kept': 'nobody in this project reads them, and keeping them costs more than the objects',
  'open: server-side apply creates and updates':
    'needs managedFields; refused with 415. kubectl apply does not use it by default',
  'open: a pod keeps fields that the protobuf tables skip': 'probes, volumes and the like have no part in endpoints',
  'open: duplicate fields are warned of': 'JSON.parse does not tell of them; kubectl never sends any',
  'open: unknown fields of what the protobuf tables skip': 'probes, volumes and the like are kept as they come',
  'open: a forbidden change of a pod is shown': 'the real message ends with a difference of two Go structs',
  'open: quotas and limit ranges': 'kubectl describe namespace leaves out what is not served',
};

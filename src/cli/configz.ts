/**
 * /configz: the configuration in the shape of kube-controller-manager's own, for tools that read it there. Fields
 * without a meaning for endpointd are left out. What `endpointd tune` chooses of endpointd's own flags is a configuration
 * beside it. /flagz has every flag.
 */
import { goDuration } from '../lib/duration.ts';
import type { RunOptions } from './flags/flags.ts';

export function configz({ controller, election, serving, kubeconfig, controllers }: RunOptions): object {
  return {
    'kubecontrollermanager.config.k8s.io': {
      kind: 'KubeControllerManagerConfiguration',
      apiVersion: 'kubecontrollermanager.config.k8s.io/v1alpha1',
      Generic: {
        // kube-controller-manager still writes this field, of a port without TLS that it has no more. It is always 0.
        Port: 0,
        Address: '0.0.0.0',
        MinResyncPeriod: goDuration(controller.minResyncPeriodMs),
        ClientConnection: {
          kubeconfig,
          acceptContentTypes: '',
          contentType: 'application/vnd.kubernetes.protobuf',
          qps: controller.kubeApiQps,
          burst: controller.kubeApiBurst,
        },
        LeaderElection: leaderElection(election),
        Controllers: controllers,
        Debugging: { enableProfiling: serving.profiling, enableContentionProfiling: false },
      },
      EndpointController: {
        ConcurrentEndpointSyncs: controller.concurrentEndpointSyncs,
        EndpointUpdatesBatchPeriod: goDuration(controller.endpointUpdatesBatchPeriodMs),
      },
      EndpointSliceController: {
        ConcurrentServiceEndpointSyncs: controller.concurrentServiceEndpointSyncs,
        MaxEndpointsPerSlice: controller.maxEndpointsPerSlice,
        EndpointUpdatesBatchPeriod: goDuration(controller.endpointsliceUpdatesBatchPeriodMs),
      },
      EndpointSliceMirroringController: {
        MirroringConcurrentServiceEndpointSyncs: controller.mirroringConcurrentServiceEndpointSyncs,
        MirroringMaxEndpointsPerSubset: controller.mirroringMaxEndpointsPerSubset,
        MirroringEndpointUpdatesBatchPeriod: goDuration(controller.mirroringEndpointsliceUpdatesBatchPeriodMs),
      },
    },
    endpointd: {
      AdaptiveBatchPeriodMax: goDuration(controller.adaptiveBatchPeriodMaxMs),
      MaxWritesInFlight: controller.maxWritesInFlight,
    },
  };
}

function leaderElection(election: RunOptions['election']): object {
  if (election === null) return { leaderElect: false };
  return {
    leaderElect: true,
    leaseDuration: goDuration(election.leaseDurationMs),
    renewDeadline: goDuration(election.renewDeadlineMs),
    retryPeriod: goDuration(election.retryPeriodMs),
    resourceLock: 'leases',
    resourceName: election.name,
    resourceNamespace: election.namespace,
  };
}

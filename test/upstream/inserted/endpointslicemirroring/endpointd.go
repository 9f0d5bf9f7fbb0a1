package endpointslicemirroring

import (
	"context"
	"fmt"
	"time"

	coreinformers "k8s.io/client-go/informers/core/v1"
	discoveryinformers "k8s.io/client-go/informers/discovery/v1"
	clientset "k8s.io/client-go/kubernetes"

	"endpointd.dev/test/upstream/endpointd"
)

// NewController gives endpointd in place of the controller of this package.
func NewController(_ context.Context, _ coreinformers.EndpointsInformer, _ discoveryinformers.EndpointSliceInformer,
	_ coreinformers.ServiceInformer, maxEndpointsPerSubset int32, client clientset.Interface,
	batchPeriod time.Duration) *endpointd.Controller {
	return endpointd.New(client, "endpointslice-mirroring-controller", "mirroring-concurrent-service-endpoint-syncs",
		fmt.Sprintf("--mirroring-max-endpoints-per-subset=%d", maxEndpointsPerSubset),
		"--mirroring-endpointslice-updates-batch-period="+batchPeriod.String())
}

package endpoint

import (
	"context"
	"time"

	coreinformers "k8s.io/client-go/informers/core/v1"
	clientset "k8s.io/client-go/kubernetes"

	"endpointd.dev/test/upstream/endpointd"
)

// NewEndpointController gives endpointd in place of the controller of this package.
func NewEndpointController(_ context.Context, _ coreinformers.PodInformer, _ coreinformers.ServiceInformer,
	_ coreinformers.EndpointsInformer, client clientset.Interface, batchPeriod time.Duration) *endpointd.Controller {
	return endpointd.New(client, "endpoints-controller", "concurrent-endpoint-syncs",
		"--endpoint-updates-batch-period="+batchPeriod.String())
}

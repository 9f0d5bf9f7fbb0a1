package endpointslice

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/endpointslice/metrics"
	"k8s.io/klog/v2"

	"endpointd.dev/test/upstream/apiserver"
	"endpointd.dev/test/upstream/endpointd"
)

// A Service without a selector has no pods here.
const anySelector = "endpointd.dev/any"

// Reconcile lets endpointd sync the Service once, from its start to the moment when it has nothing to do.
func (r *Reconciler) Reconcile(_ klog.Logger, service *corev1.Service, pods []*corev1.Pod,
	existingSlices []*discovery.EndpointSlice, triggerTime time.Time) error {
	api := newTranslation(triggerTime)
	server := apiserver.New(r.client, api.restore)
	service = service.DeepCopy()
	service.CreationTimestamp = api.triggerTime
	if len(service.Spec.Selector) == 0 {
		service.Spec.Selector = map[string]string{anySelector: service.Name}
	}
	server.Add("services", service)
	for _, pod := range pods {
		pod = pod.DeepCopy()
		// Upstream's reconciler is given the pods that the selector has taken.
		pod.Labels = labels.Merge(pod.Labels, service.Spec.Selector)
		api.translatePod(pod)
		server.Add("pods", pod)
	}
	for i, slice := range existingSlices {
		slice = slice.DeepCopy()
		slice.Namespace = service.Namespace
		if slice.Name == "" {
			slice.Name = fmt.Sprintf("%sexisting-%d", slice.GenerateName, i)
		}
		// And the slices that these labels have taken.
		slice.Labels = labels.Merge(slice.Labels, map[string]string{
			discovery.LabelServiceName: service.Name,
			discovery.LabelManagedBy:   r.controllerName,
		})
		api.translateSlice(slice)
		server.Add("endpointslices", slice)
	}
	nodes, err := r.nodeLister.List(labels.Everything())
	if err != nil {
		return err
	}
	for _, node := range nodes {
		server.Add("nodes", node.DeepCopy())
	}
	samples := endpointd.Sync(context.Background(), server,
		"--controllers=endpointslice-controller",
		// Tests look at the order of writes.
		"--max-writes-in-flight=1",
		fmt.Sprintf("--max-endpoints-per-slice=%d", r.maxEndpointsPerSlice),
	)
	if unknown := server.Unknown(); len(unknown) > 0 {
		panic(fmt.Sprintf("endpointd has asked for what the server does not have: %v", unknown))
	}
	takeMetrics(samples)
	if warnings := server.Warnings(); len(warnings) > 0 {
		// What upstream returns as an error, endpointd tells by an Event object.
		return errors.New(strings.Join(warnings, "; "))
	}
	return nil
}

// takeMetrics gives what endpointd has counted to the metrics that the tests read.
func takeMetrics(samples endpointd.Samples) {
	const prefix = "endpoint_slice_controller_"
	metrics.DesiredEndpointSlices.WithLabelValues().Set(samples.Sum(prefix + "desired_endpoint_slices"))
	metrics.NumEndpointSlices.WithLabelValues().Set(samples.Sum(prefix + "num_endpoint_slices"))
	metrics.EndpointsDesired.WithLabelValues().Set(samples.Sum(prefix + "endpoints_desired"))
	metrics.EndpointsAddedPerSync.WithLabelValues().Observe(samples.Sum(prefix + "endpoints_added_per_sync_sum"))
	metrics.EndpointsRemovedPerSync.WithLabelValues().Observe(samples.Sum(prefix + "endpoints_removed_per_sync_sum"))
	for _, operation := range []string{"create", "update", "delete"} {
		metrics.EndpointSliceChanges.WithLabelValues(operation).Add(samples.Sum(prefix+"changes", "operation", operation))
	}
	for _, topology := range []string{"Auto", "Disabled"} {
		for _, distribution := range []string{"", "PreferClose", "PreferSameZone", "PreferSameNode"} {
			changed := samples.Sum(prefix+"endpointslices_changed_per_sync_sum",
				"topology", topology, "traffic_distribution", distribution)
			if changed > 0 {
				metrics.EndpointSlicesChangedPerSync.WithLabelValues(topology, distribution).Observe(changed)
			}
		}
	}
	for _, distribution := range []string{"PreferClose", "PreferSameZone", "PreferSameNode", "ImplementationSpecific"} {
		count := samples.Sum(prefix+"services_count_by_traffic_distribution", "traffic_distribution", distribution)
		// Upstream has no sample of what no Service has asked for.
		if count > 0 {
			metrics.ServicesCountByTrafficDistribution.WithLabelValues(distribution).Set(count)
		}
	}
}

package endpointslice

import (
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// translation stands between the values of a test and those that an API server can have, and back.
type translation struct {
	exact time.Time
	// Of a whole second, as the API has times.
	triggerTime metav1.Time
	// Addresses by the names of pods.
	ofPods map[string]string
}

func newTranslation(triggerTime time.Time) *translation {
	return &translation{
		exact:       triggerTime,
		triggerTime: metav1.NewTime(triggerTime.UTC().Truncate(time.Second)),
		ofPods:      map[string]string{},
	}
}

func (t *translation) translatePod(pod *corev1.Pod) {
	pod.Status.PodIP = t.address(pod.Status.PodIP)
	for i := range pod.Status.PodIPs {
		pod.Status.PodIPs[i].IP = t.address(pod.Status.PodIPs[i].IP)
	}
	t.ofPods[pod.Name] = pod.Status.PodIP
}

// address gives an address for what is none: tests count the last part of 1.2.3.4 beyond 255.
func (t *translation) address(said string) string {
	if _, err := netip.ParseAddr(said); err == nil || said == "" {
		return said
	}
	var a, b, c, d int
	if _, err := fmt.Sscanf(said, "%d.%d.%d.%d", &a, &b, &c, &d); err != nil {
		panic(fmt.Sprintf("no address can stand for %q", said))
	}
	return fmt.Sprintf("%d.%d.%d.%d", a, b, c+d/256, d%256)
}

// translateSlice gives endpoints the addresses of their pods where upstream has written them as no address.
func (t *translation) translateSlice(slice *discovery.EndpointSlice) {
	for _, endpoint := range slice.Endpoints {
		for i, said := range endpoint.Addresses {
			if _, err := netip.ParseAddr(said); err != nil && endpoint.TargetRef != nil {
				endpoint.Addresses[i] = t.ofPods[endpoint.TargetRef.Name]
			}
		}
	}
}

// restore gives back to a slice what the API could not hold.
func (t *translation) restore(slice *discovery.EndpointSlice) {
	// Protobuf does not tell an empty list from none.
	if slice.Ports == nil {
		slice.Ports = []discovery.EndpointPort{}
	}
	if slice.Endpoints == nil {
		slice.Endpoints = []discovery.Endpoint{}
	}
	// Its times have whole seconds.
	if slice.Annotations[corev1.EndpointsLastChangeTriggerTime] == t.triggerTime.Format(time.RFC3339Nano) {
		slice.Annotations[corev1.EndpointsLastChangeTriggerTime] = t.exact.UTC().Format(time.RFC3339Nano)
	}
}

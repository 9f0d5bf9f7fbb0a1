// Package apiserver is an API server just large enough for one sync of the EndpointSlices of one Service. Its objects
// come from a test, and its writes go to the client of that test.
package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
)

// Object is what the API has: with a kind and metadata.
type Object interface {
	runtime.Object
	metav1.Object
}

// The collections, by resource.
var kinds = map[string]schema.GroupVersionKind{
	"services":       {Version: "v1", Kind: "Service"},
	"pods":           {Version: "v1", Kind: "Pod"},
	"nodes":          {Version: "v1", Kind: "Node"},
	"endpointslices": {Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"},
}

// Server answers lists and watches from its objects.
type Server struct {
	client clientset.Interface
	// Changes a slice, before the client gets it, to what the test expects.
	restore func(*discovery.EndpointSlice)

	mu sync.Mutex
	// The version of the last write.
	version int
	// By resource, then by namespace and name.
	objects map[string]map[string]Object
	// Of slices: nothing else changes.
	watchers map[chan []byte]struct{}
	// Messages of Event objects of type Warning.
	warnings []string
	// Requests that the server does not know.
	unknown []string
}

// New gives a server without objects. Slices are written through the client, after restore has seen them.
func New(client clientset.Interface, restore func(*discovery.EndpointSlice)) *Server {
	s := &Server{client: client, restore: restore, version: 1000, objects: map[string]map[string]Object{},
		watchers: map[chan []byte]struct{}{}}
	for resource := range kinds {
		s.objects[resource] = map[string]Object{}
	}
	return s
}

// Add puts an object into a collection, with what a server gives to each.
func (s *Server) Add(resource string, object Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(resource, object)
}

// Warnings gives the messages of the Event objects of type Warning.
func (s *Server) Warnings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.warnings...)
}

// Unknown gives the requests that could not be answered.
func (s *Server) Unknown() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.unknown...)
}

func (s *Server) put(resource string, object Object) {
	s.version++
	object.SetResourceVersion(strconv.Itoa(s.version))
	if resource == "endpointslices" && object.GetUID() == "" {
		object.SetUID(types.UID("uid-" + object.GetName()))
	}
	object.GetObjectKind().SetGroupVersionKind(kinds[resource])
	s.objects[resource][keyOf(object.GetNamespace(), object.GetName())] = object
}

func keyOf(namespace, name string) string { return namespace + "/" + name }

// A request, by what its path says.
type target struct {
	resource, namespace, name string
}

func targetOf(path string) target {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if parts[0] == "api" {
		parts = parts[min(2, len(parts)):]
	} else {
		parts = parts[min(3, len(parts)):]
	}
	var t target
	if len(parts) > 2 && parts[0] == "namespaces" {
		t.namespace, parts = parts[1], parts[2:]
	}
	if len(parts) > 0 {
		t.resource = parts[0]
	}
	if len(parts) > 1 {
		t.name = parts[1]
	}
	return t
}

// ServeHTTP answers in JSON.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t := targetOf(r.URL.Path)
	_, known := kinds[t.resource]
	switch {
	case r.URL.Path == "/version":
		answer(w, http.StatusOK, version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.3"})
	case r.URL.Path == "/apis/discovery.k8s.io/v1":
		answer(w, http.StatusOK, resourcesOf("discovery.k8s.io/v1", "endpointslices"))
	case strings.HasPrefix(t.resource, "selfsubject") && r.Method == http.MethodPost:
		s.review(w, r)
	case t.resource == "events" && r.Method == http.MethodPost:
		s.takeEvent(w, r)
	case known && r.Method == http.MethodGet && r.URL.Query().Get("watch") != "":
		s.watch(w, r, t)
	case known && r.Method == http.MethodGet && t.name != "":
		s.get(w, t)
	case known && r.Method == http.MethodGet:
		s.list(w, r, t)
	case t.resource == "endpointslices":
		s.write(w, r, t)
	default:
		s.mu.Lock()
		s.unknown = append(s.unknown, r.Method+" "+r.URL.String())
		s.mu.Unlock()
		answerStatus(w, http.StatusNotFound, metav1.StatusReasonNotFound, "no such path")
	}
}

func resourcesOf(groupVersion, resource string) metav1.APIResourceList {
	return metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: groupVersion,
		APIResources: []metav1.APIResource{{Name: resource, Namespaced: true, Kind: kinds[resource].Kind}},
	}
}

// Who asks may do everything.
func (s *Server) review(w http.ResponseWriter, r *http.Request) {
	var review map[string]any
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		answerStatus(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	review["status"] = map[string]any{"allowed": true, "userInfo": map[string]any{"username": "test"}}
	answer(w, http.StatusCreated, review)
}

func (s *Server) get(w http.ResponseWriter, t target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object, found := s.objects[t.resource][keyOf(t.namespace, t.name)]
	if !found {
		answerStatus(w, http.StatusNotFound, metav1.StatusReasonNotFound, "not found")
		return
	}
	answer(w, http.StatusOK, object)
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, t target) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		answerStatus(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []Object{}
	for _, object := range s.objects[t.resource] {
		if t.namespace != "" && object.GetNamespace() != t.namespace {
			continue
		}
		if selector.Matches(labels.Set(object.GetLabels())) {
			items = append(items, object)
		}
	}
	kind := kinds[t.resource]
	answer(w, http.StatusOK, map[string]any{
		"kind":       kind.Kind + "List",
		"apiVersion": kind.GroupVersion().String(),
		"metadata":   map[string]string{"resourceVersion": strconv.Itoa(s.version)},
		"items":      items,
	})
}

func (s *Server) watch(w http.ResponseWriter, r *http.Request, t target) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	if t.resource != "endpointslices" {
		<-r.Context().Done()
		return
	}
	events := make(chan []byte, 1000)
	s.mu.Lock()
	s.watchers[events] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, events)
		s.mu.Unlock()
	}()
	for {
		select {
		case <-r.Context().Done():
			return
		case event := <-events:
			_, _ = w.Write(event)
			w.(http.Flusher).Flush()
		}
	}
}

func (s *Server) write(w http.ResponseWriter, r *http.Request, t target) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		answerStatus(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	slices := s.client.DiscoveryV1().EndpointSlices(t.namespace)
	ctx := context.Background()
	if r.Method == http.MethodDelete {
		object := s.objects[t.resource][keyOf(t.namespace, t.name)]
		if err := slices.Delete(ctx, t.name, metav1.DeleteOptions{}); err != nil || object == nil {
			answerStatus(w, http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprint(err))
			return
		}
		delete(s.objects[t.resource], keyOf(t.namespace, t.name))
		s.version++
		object.SetResourceVersion(strconv.Itoa(s.version))
		s.tell("DELETED", object)
		answerStatus(w, http.StatusOK, "", "")
		return
	}
	decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	slice, isSlice := decoded.(*discovery.EndpointSlice)
	if err != nil || !isSlice {
		answerStatus(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, fmt.Sprintf("no EndpointSlice: %v", err))
		return
	}
	restored := slice.DeepCopy()
	s.restore(restored)
	event, status := "ADDED", http.StatusCreated
	if r.Method == http.MethodPut {
		event, status = "MODIFIED", http.StatusOK
		_, err = slices.Update(ctx, restored, metav1.UpdateOptions{})
	} else {
		_, err = slices.Create(ctx, restored, metav1.CreateOptions{})
	}
	if err != nil {
		answerStatus(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, err.Error())
		return
	}
	s.put(t.resource, slice)
	s.tell(event, slice)
	answer(w, status, slice)
}

func (s *Server) tell(event string, object Object) {
	line, _ := json.Marshal(map[string]any{"type": event, "object": object})
	for watcher := range s.watchers {
		watcher <- append(line, '\n')
	}
}

func (s *Server) takeEvent(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var event struct {
		Type string `json:"type"`
		Note string `json:"note"`
		// Of the core API.
		Message string `json:"message"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		decoded, _, _ := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		asJSON, _ := json.Marshal(decoded)
		_ = json.Unmarshal(asJSON, &event)
		body = asJSON
	}
	s.mu.Lock()
	if event.Type == "Warning" {
		s.warnings = append(s.warnings, event.Message+event.Note)
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(body)
}

func answer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

func answerStatus(w http.ResponseWriter, status int, reason metav1.StatusReason, message string) {
	said := metav1.Status{Status: metav1.StatusFailure, Reason: reason, Message: message, Code: int32(status)}
	if status < 300 {
		said.Status = metav1.StatusSuccess
	}
	said.Kind, said.APIVersion = "Status", "v1"
	answer(w, status, said)
}

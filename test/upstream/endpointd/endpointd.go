// Package endpointd runs endpointd where one of Kubernetes' tests makes a controller of its own.
package endpointd

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// A process that ignores SIGTERM for so long is killed, and its test fails.
const stopTimeout = 20 * time.Second

// Controller stands in for a controller of Kubernetes: it has the one method that tests call.
type Controller struct {
	client clientset.Interface
	// As kube-controller-manager names it, with the flag that says how many syncs run at a time.
	name, syncsFlag string
	flags           []string
}

// New gives a controller that has not been started.
func New(client clientset.Interface, name, syncsFlag string, flags ...string) *Controller {
	return &Controller{client: client, name: name, syncsFlag: syncsFlag, flags: flags}
}

// Run runs endpointd with this controller alone until ctx ends. A process that cannot start, or ends by itself, is a
// panic: it must not look like a test that needs no controller.
func (c *Controller) Run(ctx context.Context, workers int) {
	if ctx.Err() != nil {
		return
	}
	proxy := startProxy(c.client)
	defer proxy.Close()
	args := append([]string{
		"run",
		"--master=http://" + proxy.Address,
		"--controllers=" + c.name,
		"--" + c.syncsFlag + "=" + strconv.Itoa(workers),
		"--leader-elect=false",
		"--secure-port=0",
	}, c.flags...)
	process := Start(args)
	select {
	case <-ctx.Done():
		process.Stop()
	case err := <-process.Ended:
		panic(fmt.Sprintf("endpointd ended before its test: %v", err))
	}
}

// Process is a running endpointd.
type Process struct {
	// Gets how the process ended.
	Ended   <-chan error
	command *exec.Cmd
}

// Start runs the command in $ENDPOINTD_COMMAND, a JSON array, with more arguments. It notes the start in the file
// $ENDPOINTD_STARTS, so that whoever runs the tests sees that endpointd took part in them.
func Start(args []string) *Process {
	var command []string
	if err := json.Unmarshal([]byte(os.Getenv("ENDPOINTD_COMMAND")), &command); err != nil || len(command) == 0 {
		panic(fmt.Sprintf("ENDPOINTD_COMMAND must be a JSON array with the command of endpointd: %v", err))
	}
	cmd := exec.Command(command[0], append(command[1:], args...)...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	// A test binary that dies takes endpointd with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		panic(fmt.Sprintf("endpointd cannot be started: %v", err))
	}
	noteStart(args)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return &Process{Ended: ended, command: cmd}
}

// Stop ends the process in order, as a signal from an operator would.
func (p *Process) Stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.Ended:
	case <-time.After(stopTimeout):
		_ = p.command.Process.Kill()
		<-p.Ended
		panic(fmt.Sprintf("endpointd did not end within %v of SIGTERM", stopTimeout))
	}
}

func noteStart(args []string) {
	file, err := os.OpenFile(os.Getenv("ENDPOINTD_STARTS"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(fmt.Sprintf("ENDPOINTD_STARTS: %v", err))
	}
	defer file.Close()
	line, _ := json.Marshal(args)
	if _, err := file.Write(append(line, '\n')); err != nil {
		panic(fmt.Sprintf("ENDPOINTD_STARTS: %v", err))
	}
}

// Proxy serves an API server on loopback with the credentials of a client.
type Proxy struct {
	Address string
	server  *http.Server
}

// A test hands its controllers a client, not the file that endpointd reads: what endpointd sends goes out through the
// client's own transport.
func startProxy(client clientset.Interface) *Proxy {
	restClient, ok := client.CoreV1().RESTClient().(*rest.RESTClient)
	if !ok {
		panic(fmt.Sprintf("a client of type %T has no transport to go through", client.CoreV1().RESTClient()))
	}
	target := restClient.Get().URL()
	proxy := httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) {
			request.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host})
		},
		Transport: restClient.Client.Transport,
		// Events of a watch go on at once.
		FlushInterval: -1,
	}
	return Serve(&proxy)
}

// Serve serves a handler on a port of loopback.
func Serve(handler http.Handler) *Proxy {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	server := &http.Server{Handler: handler}
	go func() { _ = server.Serve(listener) }()
	return &Proxy{Address: listener.Addr().String(), server: server}
}

// Close ends all connections.
func (p *Proxy) Close() { _ = p.server.Close() }

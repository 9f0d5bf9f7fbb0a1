package endpointd

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// From its start until it has nothing to do.
const syncTimeout = 60 * time.Second

const pollPeriod = 20 * time.Millisecond

// Samples are the lines of a page of metrics, without comments.
type Samples []string

// Sync runs endpointd on a server until all services are synced, and gives its metrics of that time. What does not end
// in time, or ends by itself, is a panic.
func Sync(ctx context.Context, handler http.Handler, flags ...string) Samples {
	proxy := Serve(handler)
	defer proxy.Close()
	metrics := freeAddress()
	process := Start(append([]string{
		"run",
		"--master=http://" + proxy.Address,
		"--leader-elect=false",
		"--watch-list=false",
		"--secure-port=0",
		"--metrics-bind-address=" + metrics,
	}, flags...))
	defer process.Stop()
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	for {
		select {
		case err := <-process.Ended:
			panic(fmt.Sprintf("endpointd ended before its sync: %v", err))
		case <-ctx.Done():
			panic(fmt.Sprintf("endpointd has not synced within %v", syncTimeout))
		case <-time.After(pollPeriod):
		}
		samples := scrape(ctx, "http://"+metrics+"/metrics")
		if samples.Sum("endpoint_slice_controller_syncs") > 0 && samples.Sum("workqueue_depth") == 0 &&
			samples.Sum("workqueue_unfinished_work_seconds") == 0 {
			return samples
		}
	}
}

// Sum adds up the samples of a name that have the labels, given as names and values.
func (s Samples) Sum(name string, labels ...string) float64 {
	sum := 0.0
	for _, line := range s {
		series, value, _ := strings.Cut(line, " ")
		rest, found := strings.CutPrefix(series, name)
		if !found || (rest != "" && rest[0] != '{') {
			continue
		}
		all := true
		for i := 0; i < len(labels); i += 2 {
			all = all && strings.Contains(rest, labels[i]+`="`+labels[i+1]+`"`)
		}
		number, err := strconv.ParseFloat(value, 64)
		if all && err == nil {
			sum += number
		}
	}
	return sum
}

// Nothing is there before endpointd serves.
func scrape(ctx context.Context, url string) Samples {
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil
	}
	return strings.Split(string(body), "\n")
}

func freeAddress() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

//go:build never

// Package upstream names what the tests import, so that go.sum has it.
package upstream

import (
	_ "go.uber.org/goleak"
	_ "k8s.io/kubernetes/test/e2e"
	_ "k8s.io/kubernetes/test/integration/framework"
)

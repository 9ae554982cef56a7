package discoveryapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery"
)

func TestABindingSaysWhyNoSamplesArrive(t *testing.T) {
	for name, c := range map[string]struct {
		info discovery.Info
		want string
	}{
		"all is well":               {discovery.Info{LinkOpen: true}, ""},
		"a short cut of the link":   {discovery.Info{}, ""},
		"it answers, without link":  {discovery.Info{Down: true}, "the bridge answers, but does not open its link: the check engine-connectivity of its /health says why"},
		"the link opens again":      {discovery.Info{Down: true, LinkOpen: true}, ""},
		"it does not answer":        {discovery.Info{Down: true, Problem: "connection refused"}, "connection refused"},
		"offline since the restart": {discovery.Info{Binding: discovery.Binding{Offline: true}, Down: true}, ""},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, statusOf(&c.info).LastError) })
	}
}

package vda5050

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/paho"
	"github.com/stretchr/testify/require"
)

func TestBrokenMessagesDoNotFloodTheLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	now := time.Now()
	f := &Fleet{opts: Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time { return now }},
		topics: map[string]*vehicle{"m/1": {}, "m/2": {}}}
	for range 20 {
		for _, serial := range []string{"1", "2"} {
			_, err := f.received(paho.PublishReceived{Packet: &paho.Publish{Topic: "uagv/v2/m/" + serial + "/state", Payload: []byte("{")}})
			require.NoError(t, err)
		}
	}
	require.Equal(t, 2, strings.Count(log.String(), "\n"), log.String())
	now = now.Add(10 * time.Second)
	_, err := f.received(paho.PublishReceived{Packet: &paho.Publish{Topic: "uagv/v2/m/1/state", Payload: []byte("{")}})
	require.NoError(t, err)
	require.Equal(t, 3, strings.Count(log.String(), "\n"))
}

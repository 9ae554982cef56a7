package main

import (
	"bytes"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/teamchat"
)

func TestMessagesOfTheChannelArePrinted(t *testing.T) {
	var out bytes.Buffer
	server := httptest.NewServer(room(&out))
	defer server.Close()
	c, err := teamchat.New(teamchat.Options{URL: server.URL + "/hook"})
	require.NoError(t, err)
	require.NoError(t, c.Send(t.Context(), alerting.Notification{Title: "[Critical] oven: too hot", Body: "Firing\nlook at the fan"}))
	require.Equal(t, "[Critical] oven: too hot\n    Firing\n    look at the fan\n", out.String())
}

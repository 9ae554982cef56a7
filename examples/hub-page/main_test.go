package main

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThePageKnowsTheEngine(t *testing.T) {
	h, err := handler("https://engine.example:5001/", "main.go")
	require.NoError(t, err)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
	require.Equal(t, 200, w.Code)
	require.Contains(t, w.Header().Get("Content-Type"), "text/html")
	require.Contains(t, w.Body.String(), `const engine = "https://engine.example:5001";`)
	require.Contains(t, w.Body.String(), `hub.on("ReceiveAlarm"`)
	script := httptest.NewRecorder()
	h.ServeHTTP(script, httptest.NewRequestWithContext(t.Context(), "GET", "/signalr.js", nil))
	require.Equal(t, 200, script.Code)
	for _, bad := range []string{"", "engine:5001", "javascript:alert(1)", "://"} {
		_, err := handler(bad, "main.go")
		require.Error(t, err, bad)
	}
}

package main_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/openapi/client"
)

// On a full disk an operator logs in, changes the configuration and acknowledges, also after a restart.
func TestReserveOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	data := filepath.Join(disk, "data")
	env := with(known, []string{"Storage__Reserve=2000000"})
	e := start(t, env, "-demo", "-data", data)
	s := e.admin()
	s.good("sim.counter")
	reserve := filepath.Join(data, "reserve")
	for _, half := range []string{reserve, reserve + "-vital"} {
		eventually(t, "no reserve is made", func() bool { info, err := os.Stat(half); return err == nil && info.Size() == 1_000_000 })
	}

	free := fill(t, disk)
	eventually(t, "the reserve is not released for a change of the configuration", func() bool {
		answer := s.bulk(item("full.first"))
		if answer.JSON200 == nil {
			require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode(), "%s", answer.Body)
			require.Contains(t, string(answer.Body), `"STORAGE_FULL"`)
		}
		_, err := os.Stat(reserve) // a small change may find space before
		return answer.JSON200 != nil && errors.Is(err, fs.ErrNotExist)
	})
	for i := range 5 {
		require.Equal(t, http.StatusOK, e.admin().status())
		require.NotNil(t, s.bulk(item(fmt.Sprintf("full.tag%d", i))).JSON200)
	}
	eventually(t, "health does not describe the shortage", func() bool {
		h := e.health()
		return h.Status != client.Healthy && strings.Contains(fmt.Sprint(h.Results), "disk space low")
	})
	require.NoFileExists(t, reserve)
	eventually(t, "no sample waits", func() bool { return e.health().Results["history"].Status == client.Degraded })
	e.signal(syscall.SIGTERM)
	require.Equal(t, 1, e.exit(), "samples are lost")
	require.Regexp(t, `failed to store tag history at shutdown" samples=[1-9]`, e.log.String())

	e = start(t, env, "-demo", "-data", data)
	require.Equal(t, http.StatusOK, e.admin().status())
	free()
	eventually(t, "the reserve is not made again", func() bool { _, err := os.Stat(reserve); return err == nil })
	eventually(t, "the engine does not recover", func() bool { return e.health().Status == client.Healthy })
	require.Contains(t, e.admin().configured(), "full.tag4")
}

// Large writes are refused when they have used half of the reserve, so that operators still log in and acknowledge.
func TestAcknowledgementsOutlastLargeWritesOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	data := filepath.Join(disk, "data")
	e := start(t, with(known, []string{"Storage__Reserve=2000000"}), "-demo", "-data", data)
	s := e.admin()
	s.good("sim.counter")
	for i := range 60 {
		s.addRule(rules.Rule{ID: fmt.Sprintf("full%d", i), Tag: "sim.counter", Kind: rules.High, Limit: -1, Severity: alarms.Critical, Enabled: true,
			Message: fmt.Sprintf("alarm number %d", i)})
	}
	eventually(t, "not all alarms are raised", func() bool { return len(s.critical()) == 60 })
	eventually(t, "no reserve is made", func() bool { _, err := os.Stat(filepath.Join(data, "reserve")); return err == nil })

	free := fill(t, disk)
	large := strings.Repeat("x", 50_000)
	write := func(ctx context.Context) *client.WriteTagResponse {
		answer, err := s.WriteTagWithResponse(ctx, "sim", "recipe", nil, client.WriteRequest{Value: &large})
		if ctx.Err() == nil {
			require.NoError(t, err)
		}
		return answer
	}
	var refused *client.WriteTagResponse
	eventually(t, "a full disk refuses no write", func() bool { refused = write(t.Context()); return refused.JSON200 == nil })
	require.Equal(t, http.StatusServiceUnavailable, refused.StatusCode(), "%s", refused.Body)
	require.Contains(t, string(refused.Body), `"STORAGE_FULL"`)

	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for ctx.Err() == nil {
				write(ctx)
			}
		})
	}
	for id := range s.critical() {
		require.Equal(t, http.StatusOK, s.acknowledge(id, strings.Repeat("seen ", 100)))
		require.Equal(t, http.StatusOK, e.admin().status())
	}
	require.Contains(t, fmt.Sprint(e.health().Results), "only sessions, alarms and acknowledgements are stored")
	stop()
	writers.Wait()
	free()
	eventually(t, "writes are refused for ever", func() bool { return write(t.Context()).JSON200 != nil })
	eventually(t, "the engine does not recover", func() bool { return e.health().Status == client.Healthy })
}

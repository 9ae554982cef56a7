package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

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
	eventually(t, "no reserve is made", func() bool { info, err := os.Stat(reserve); return err == nil && info.Size() == 2_000_000 })

	free := fill(t, disk)
	for i := range 5 {
		require.Equal(t, http.StatusOK, e.admin().status())
		require.NotNil(t, s.bulk(item(fmt.Sprintf("full.tag%d", i))).JSON200)
	}
	eventually(t, "health tells nothing", func() bool { return e.health().Status != client.Healthy })
	require.Contains(t, fmt.Sprint(e.health().Results), "disk space low")
	require.NoFileExists(t, reserve)
	e.signal(syscall.SIGTERM)
	require.Contains(t, []int{0, 1}, e.exit(), "1 when samples could not be stored")

	e = start(t, env, "-demo", "-data", data)
	require.Equal(t, http.StatusOK, e.admin().status())
	free()
	eventually(t, "the reserve is not made again", func() bool { _, err := os.Stat(reserve); return err == nil })
	eventually(t, "the engine does not recover", func() bool { return e.health().Status == client.Healthy })
	require.Contains(t, e.admin().configured(), "full.tag4")
}

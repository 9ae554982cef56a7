package demo

import (
	"context"
	"strings"
	"time"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/netcompliance"
)

// NetworkFacts returns the result of a simulated scan of the plant's network.
func NetworkFacts(_ context.Context, shell *aas.Shell) (netcompliance.Facts, bool, error) {
	built := func(year int) time.Time { return time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC) }
	switch strings.TrimPrefix(shell.ID, shellPrefix) {
	case "ReactorR101":
		return netcompliance.Facts{Encryption: "1.3", Authentication: "certificate", Zone: "cell-1", OpenPorts: []int{4840}, Updated: built(2026)}, true, nil
	case "PumpP102":
		return netcompliance.Facts{Encryption: "none", Authentication: "none", Zone: "cell-1", OpenPorts: []int{502}}, true, nil
	case "FillingLineL201":
		return netcompliance.Facts{Encryption: "1.2", Authentication: "password", Zone: "cell-2", OpenPorts: []int{443}}, true, nil
	}
	return netcompliance.Facts{}, false, nil
}

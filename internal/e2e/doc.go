// Package e2e tests the programs engine and bridge together: as processes, with what happens to machines, networks and disks. It counts
// samples at both ends.
package e2e

package history

import "github.com/otkit/otkit/fault"

// ErrNotFound is returned for an unknown id.
var ErrNotFound = fault.New(fault.NotFound, "ALERT_NOT_FOUND", "alert record not found")

// ErrNoStatistics is returned for statistics if the store does not implement [Statistics].
var ErrNoStatistics = fault.New(fault.NotFound, "STATISTICS_NOT_SUPPORTED", "the store of this server has no statistics")

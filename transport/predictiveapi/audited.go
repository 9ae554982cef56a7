package predictiveapi

import "github.com/otkit/otkit/transport/audited"

// Audited describes the operations on trainings and records to the audit log.
func Audited() map[string]audited.Description {
	return map[string]audited.Description{}
}

package engineconfig

import (
	"time"

	"github.com/otkit/otkit/transport/auditapi/auditpart"
)

// Audit is about the audit log.
type Audit struct {
	MaxAge     time.Duration `key:"maxAge" default:"9600h" rule:"720h.." doc:"Retention of entries."`
	MaxEntries int64         `key:"maxEntries" default:"10000000" rule:"10000.." doc:"Entries beyond which the oldest are removed. An act has two entries, of about 0.5 KB each."`
}

func (a Audit) options() auditpart.Options {
	return auditpart.Options{MaxAge: a.MaxAge, MaxEntries: a.MaxEntries}
}

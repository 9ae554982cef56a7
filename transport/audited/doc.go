// Package audited describes the operations of a domain to the audit log: which objects a call changes, and what their
// values were. Package transport/recorder uses the descriptions. It imports neither gRPC nor a login, so that the REST API
// of a domain can have its descriptions beside its handlers.
package audited

// Package recorder records the calls that change something in the audit log, at the edge where they are authorized.
//
// A [Recorder] is given to auth.GuardOptions. The guard puts it around the handler of each operation whose
// auth.Operation is recorded, so a new operation is recorded without code of its own. For each call the recorder stores
// the intent with caller, address, operation, objects and values, calls the handler, and records the outcome. If the
// intent cannot be stored, the call is answered with audit.ErrUnavailable and the handler is not called; operations
// marked AuditOptional, such as acknowledging an alarm, and calls that audited.Description.Optional selects, such as an
// emergency stop, are recorded after the act instead.
//
// An audited.Description has what the recorder cannot know of an operation: the objects it changes and their values
// before.
package recorder

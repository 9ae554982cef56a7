// Package audit records who did what: from where, to which object, with the values before and after, and with which
// outcome.
//
// A [Log] stores entries in a [Store]. An act has two entries: its intent, which is durable before the act begins, and its
// outcome. If the intent cannot be stored, [Log.Begin] returns [ErrUnavailable] and the caller must not act. An act whose
// process stopped before the outcome was stored is listed as [Unknown]. [Log.Record] stores an event that must not wait
// for the log, such as the acknowledgement of an alarm, in one entry.
//
// Concurrent entries share one transaction of the store (group commit). The store may be shared by several processes.
//
// # Tamper evidence
//
// Entries are numbered without gaps and chained: each hash covers the entry and the hash before it (see [Entry.Seal]).
// [Log.Verify] walks the chain and reports the first entry that was changed, removed or inserted. Retention removes the
// oldest entries and keeps the last removed hash as the anchor of the chain; each removal is an entry of the log itself.
//
// The hashes have no key: who can write to the database can compute a new chain. Therefore keep the head ([Log.Head]) in
// another place from time to time, and pass it to Verify. The log writes it to its logger every hour.
//
// # Secrets
//
// [JSON] replaces the values of members such as password or token. Before and after should be made by it.
package audit

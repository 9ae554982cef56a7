package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// Outcome is what became of an act.
type Outcome string

// The outcomes.
const (
	Pending   Outcome = "pending"   // the act is in progress; never stored
	Succeeded Outcome = "succeeded" // the act was done
	Failed    Outcome = "failed"    // the act was tried and failed
	Refused   Outcome = "refused"   // the act was not allowed or not valid, and nothing changed
	Unknown   Outcome = "unknown"   // it is not known whether the act was done, or its outcome was never stored
)

// Valid reports whether o is one of the outcomes.
func (o Outcome) Valid() bool {
	switch o {
	case Pending, Succeeded, Failed, Refused, Unknown:
		return true
	}
	return false
}

// Stored reports whether o may be stored: all outcomes but [Pending].
func (o Outcome) Stored() bool { return o.Valid() && o != Pending }

// Act is what somebody does.
type Act struct {
	Actor     string   // name of the account or user, for people; "anonymous" without a token, "system" for the process
	Principal string   // issuer and subject of the token, for programs; may be empty
	Role      string   // role at that time; may be empty
	Session   string   // session of the token; may be empty
	Address   string   // network address of the caller; may be empty
	Via       string   // interface: rest, grpc, command or internal
	Action    string   // operation, such as writeTag
	Objects   []string // names of what is changed; empty for none
	Before    string   // values before the act as JSON, see JSON; may be empty
	After     string   // values asked for as JSON; may be empty
}

// Result is the end of an act.
type Result struct {
	Outcome Outcome
	Code    string // error code, or status; may be empty
	Detail  string // text of the error, or further facts; may be empty
}

// Entry is one link of the chain: the intent of an act, the outcome of an intent, or an event with both.
type Entry struct {
	Seq    int64     // position in the chain from 1, without gaps; set by the store
	Time   time.Time // in microseconds, UTC
	Intent int64     // Seq of the intent that this is the outcome of; 0 for intents and events
	Act              // empty for an outcome
	Result           // empty for an intent
	Hash   Hash      // set by the store
}

// Hash is the SHA-256 of an entry and of the hash before it.
type Hash [sha256.Size]byte

// String returns the hash in hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText implements encoding.TextMarshaler.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// ParseHash reads what String returned.
func ParseHash(text string) (Hash, bool) {
	var h Hash
	n, err := hex.Decode(h[:], []byte(text[:min(len(text), 2*len(h))]))
	return h, err == nil && n == len(h) && len(text) == 2*len(h)
}

// Link is a position of the chain. The zero Link is the position before the first entry.
type Link struct {
	Seq  int64
	Hash Hash
}

// Seal returns the entry that follows a link: with its number, its time in whole microseconds, and its hash.
//
// The hash is SHA-256 over the previous hash (32 bytes), the number, the time in microseconds since 1970 and the number of
// the intent (8 bytes each, big endian), and then, each after its length in bytes (8 bytes, big endian): actor, principal,
// role, session, address, via, action, before, after, outcome, code, detail, and every object.
func (e Entry) Seal(previous Link) Entry {
	e.Seq = previous.Seq + 1
	e.Time = e.Time.UTC().Truncate(time.Microsecond)
	buf := make([]byte, 0, 512+len(e.Before)+len(e.After))
	buf = append(buf, previous.Hash[:]...)
	buf = binary.BigEndian.AppendUint64(buf, uint64(e.Seq))
	buf = binary.BigEndian.AppendUint64(buf, uint64(e.Time.UnixMicro()))
	buf = binary.BigEndian.AppendUint64(buf, uint64(e.Intent))
	for _, text := range [...]string{e.Actor, e.Principal, e.Role, e.Session, e.Address, e.Via, e.Action, e.Before, e.After,
		string(e.Outcome), e.Code, e.Detail} {
		buf = appendText(buf, text)
	}
	for _, object := range e.Objects {
		buf = appendText(buf, object)
	}
	e.Hash = sha256.Sum256(buf)
	return e
}

func appendText(buf []byte, text string) []byte {
	buf = binary.BigEndian.AppendUint64(buf, uint64(len(text)))
	return append(buf, text...)
}

// Link returns the entry's position.
func (e Entry) Link() Link { return Link{e.Seq, e.Hash} }

// Record is an act with its outcome, as lists show it.
type Record struct {
	ID   int64     // Seq of the intent or event
	Time time.Time // of the intent or event
	Act
	Result
	EndedAt time.Time // when the outcome was stored; zero without one
	Hash    Hash      // of the intent or event
}

package accounts

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/google/uuid"
)

// Options of a [Service]. The zero value works.
type Options struct {
	Now    func() time.Time // default time.Now
	NewID  func() string    // ids of sessions, 1 to 64 of letters, digits, _@-; default UUIDv7
	Rand   io.Reader        // secrets and salts; default crypto/rand
	Logger *slog.Logger     // default: discards

	// RefreshTTL is the life of a session without a refresh. Each refresh restarts it. Default 7 days, at least a minute.
	RefreshTTL time.Duration
	// MaxStaleness is the time for which [Service.SessionInfo] trusts what it read of a session. A change made by
	// another process is seen after this time at the latest. Default 5 s.
	MaxStaleness time.Duration
	// OnLogin is called after each login, successful or not. It must not block. Default: nil.
	OnLogin func(ctx context.Context, e LoginEvent)
	// OnAttempt is called with each attempt that is to be counted by the other services of the store, see [Service.Note]. It must not block. Default:
	// nil.
	OnAttempt func(Attempt)
	// OnSignOut is called after SignOut has ended a session. It must not block. Default: nil.
	OnSignOut func(ctx context.Context, e LoginEvent)

	Hash     HashParams
	Throttle Throttle
}

// LoginEvent is the end of a login, or of a session that its holder ended.
type LoginEvent struct {
	Account string // name as stored; empty if the name is unknown, because it may be a mistyped password
	Role    Role   // of a successful login
	Address string // network address of the caller
	Session string // id of the opened session; empty if the login failed
	Err     error  // nil, or what Login returned
}

// HashParams are the costs of argon2id (RFC 9106). A stored hash contains its own parameters. If they differ, the hash is
// renewed at the next login of its account.
type HashParams struct {
	MemoryKiB uint32 // default 19456 (19 MiB), 8..1048576
	Passes    uint32 // default 2, 1..64
	Threads   uint8  // lanes; default 1, at most 64
	// MaxConcurrent is the number of passwords that are hashed concurrently. Each takes MemoryKiB. Default 2.
	MaxConcurrent int
	// MaxQueued is the number of logins that wait for their turn. More are refused with [ErrTooManyLogins]. Default 128.
	MaxQueued int
}

// Throttle slows repeated failures of one account from one address. IPv6 addresses count by their /64.
type Throttle struct {
	FreeAttempts int           // failures without a delay; default 5
	Delay        time.Duration // wait after the first failure beyond FreeAttempts; doubles with each; default 1 s
	MaxDelay     time.Duration // default 5 min
	ResetAfter   time.Duration // time after the last failure at which failures are forgotten; default 30 min, above MaxDelay
	MaxEntries   int           // remembered pairs of account and address; default 10000
}

func (o Options) withDefaults() (Options, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.OnLogin == nil {
		o.OnLogin = func(context.Context, LoginEvent) {}
	}
	if o.OnAttempt == nil {
		o.OnAttempt = func(Attempt) {}
	}
	if o.OnSignOut == nil {
		o.OnSignOut = func(context.Context, LoginEvent) {}
	}
	orDefault(&o.RefreshTTL, 7*24*time.Hour)
	orDefault(&o.MaxStaleness, 5*time.Second)
	orDefault(&o.Hash.MemoryKiB, 19*1024)
	orDefault(&o.Hash.Passes, 2)
	orDefault(&o.Hash.Threads, 1)
	orDefault(&o.Hash.MaxConcurrent, 2)
	orDefault(&o.Hash.MaxQueued, 128)
	orDefault(&o.Throttle.FreeAttempts, 5)
	orDefault(&o.Throttle.Delay, time.Second)
	orDefault(&o.Throttle.MaxDelay, 5*time.Minute)
	orDefault(&o.Throttle.ResetAfter, 30*time.Minute)
	orDefault(&o.Throttle.MaxEntries, 10_000)
	return o, o.validate()
}

func (o Options) validate() error {
	for _, rule := range []struct {
		ok   bool
		text string
	}{
		{o.RefreshTTL >= time.Minute, "RefreshTTL must be at least 1m"},
		{o.MaxStaleness > 0, "MaxStaleness must be above 0"},
		{o.Hash.MemoryKiB >= 8*uint32(o.Hash.Threads) && o.Hash.MemoryKiB <= maxMemoryKiB, "Hash.MemoryKiB must be 8 (per thread) to 1048576"},
		{o.Hash.Passes <= maxPasses, "Hash.Passes must be 1 to 64"},
		{o.Hash.Threads <= maxThreads, "Hash.Threads must be 1 to 64"},
		{o.Hash.MaxConcurrent > 0, "Hash.MaxConcurrent must be above 0"},
		{o.Hash.MaxQueued > 0, "Hash.MaxQueued must be above 0"},
		{o.Throttle.FreeAttempts > 0, "Throttle.FreeAttempts must be above 0"},
		{o.Throttle.Delay > 0 && o.Throttle.Delay <= o.Throttle.MaxDelay, "Throttle.Delay must be above 0 and at most MaxDelay"},
		{o.Throttle.ResetAfter > o.Throttle.MaxDelay, "Throttle.ResetAfter must be above MaxDelay"},
		{o.Throttle.MaxEntries > 0, "Throttle.MaxEntries must be above 0"},
	} {
		if !rule.ok {
			return fmt.Errorf("accounts: Options.%s", rule.text)
		}
	}
	return nil
}

func orDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

package accounts

import (
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
	Logger *slog.Logger     // default: nothing is logged

	// RefreshTTL is how long a session lives without a refresh; each refresh starts it anew.
	// Default 7 days, at least a minute.
	RefreshTTL time.Duration
	// Recheck is for how long [Service.Live] trusts what it read of a session: the longest time for
	// which a change made by another process stays unseen. Default 5 s.
	Recheck time.Duration

	Hash     HashParams
	Throttle Throttle
}

// HashParams are the costs of argon2id (RFC 9106). A stored password hash names its own
// parameters; one with others is made anew at the next login of its account.
type HashParams struct {
	MemoryKiB uint32 // default 19456 (19 MiB), 8..1048576
	Passes    uint32 // default 2, 1..64
	Threads   uint8  // lanes; default 1, at most 64
	// Concurrent is how many passwords are hashed at the same time; each takes MemoryKiB. Default 2.
	Concurrent int
	// Waiting is how many logins may wait for their turn; more are refused with
	// [ErrTooManyLogins]. Default 128.
	Waiting int
}

// Throttle slows repeated failures of one account from one address. IPv6 addresses count by their /64.
type Throttle struct {
	Free     int           // failures that cost nothing; default 5
	Delay    time.Duration // wait after the first failure beyond Free; doubles with each; default 1 s
	MaxDelay time.Duration // default 5 min
	Forget   time.Duration // failures are forgotten this long after the last one; default 30 min, above MaxDelay
	Pairs    int           // pairs of account and address that are remembered; default 10000
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
	orDefault(&o.RefreshTTL, 7*24*time.Hour)
	orDefault(&o.Recheck, 5*time.Second)
	orDefault(&o.Hash.MemoryKiB, 19*1024)
	orDefault(&o.Hash.Passes, 2)
	orDefault(&o.Hash.Threads, 1)
	orDefault(&o.Hash.Concurrent, 2)
	orDefault(&o.Hash.Waiting, 128)
	orDefault(&o.Throttle.Free, 5)
	orDefault(&o.Throttle.Delay, time.Second)
	orDefault(&o.Throttle.MaxDelay, 5*time.Minute)
	orDefault(&o.Throttle.Forget, 30*time.Minute)
	orDefault(&o.Throttle.Pairs, 10_000)
	return o, o.check()
}

func (o Options) check() error {
	for _, rule := range []struct {
		ok   bool
		text string
	}{
		{o.RefreshTTL >= time.Minute, "RefreshTTL must be at least 1m"},
		{o.Recheck > 0, "Recheck must be above 0"},
		{o.Hash.MemoryKiB >= 8*uint32(o.Hash.Threads) && o.Hash.MemoryKiB <= maxMemoryKiB, "Hash.MemoryKiB must be 8 (per thread) to 1048576"},
		{o.Hash.Passes <= maxPasses, "Hash.Passes must be 1 to 64"},
		{o.Hash.Threads <= maxThreads, "Hash.Threads must be 1 to 64"},
		{o.Hash.Concurrent > 0, "Hash.Concurrent must be above 0"},
		{o.Hash.Waiting > 0, "Hash.Waiting must be above 0"},
		{o.Throttle.Free > 0, "Throttle.Free must be above 0"},
		{o.Throttle.Delay > 0 && o.Throttle.Delay <= o.Throttle.MaxDelay, "Throttle.Delay must be above 0 and at most MaxDelay"},
		{o.Throttle.Forget > o.Throttle.MaxDelay, "Throttle.Forget must be above MaxDelay"},
		{o.Throttle.Pairs > 0, "Throttle.Pairs must be above 0"},
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

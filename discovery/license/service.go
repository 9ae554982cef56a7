package license

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/atomicfile"
)

// Community is the edition without a license. Nothing is switched off in it.
const Community = "community"

// Errors of a Service.
var (
	// ErrNoVendor means that no public key is known that could check a license.
	ErrNoVendor = fault.New(fault.Conflict, "LICENSE_NO_VENDOR", "the license cannot be checked: no public key of a vendor is set (License__PublicKeys)")
	// ErrStore means that the key could not be stored. The license that was in force stays.
	ErrStore = fault.New(fault.Unavailable, "LICENSE_NOT_STORED", "the license key could not be stored")
)

// Options configure a Service. File and BridgeID are required.
type Options struct {
	File     string              // has the key that was activated
	BridgeID string              // of this bridge
	Vendors  []ed25519.PublicKey // whose keys are accepted
	Now      func() time.Time    // default: time.Now
	Logger   *slog.Logger        // default: discards
}

// Service holds the license of one bridge. Safe for concurrent use.
type Service struct {
	o Options

	mu      sync.Mutex
	license *License // signed and stored, perhaps not in force; nil for none
	problem error    // why the stored key is no license
}

// State is the license in force.
type State struct {
	License       // that of the community edition if Valid is false
	Valid   bool  // a license is in force
	Problem error // why the stored license is not in force; nil if it is, or if there is none
}

// New reads the key that was activated before, if there is one. A key that is not in force or that is damaged is no error: the bridge runs in
// the community edition, and State has the reason.
func New(o Options) (*Service, error) {
	switch {
	case o.File == "":
		return nil, errors.New("license: Options.File is required")
	case o.BridgeID == "":
		return nil, errors.New("license: Options.BridgeID is required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{o: o}
	key, err := readKey(o.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil:
		return nil, fmt.Errorf("license: %w", err)
	}
	l, err := Parse(key, o.Vendors)
	if err != nil {
		s.problem = err
	} else {
		s.license = &l
	}
	if now := s.State(); now.Problem != nil {
		o.Logger.Warn("license is not in force; the community edition runs", "error", now.Problem)
	}
	return s, nil
}

// readKey returns one byte more than a key may have of a file that is too long, which is refused then.
func readKey(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	raw, err := io.ReadAll(io.LimitReader(f, MaxKeyBytes+1+int64(len("\n"))))
	return strings.TrimSuffix(string(raw), "\n"), err
}

// State returns the license in force now.
func (s *Service) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	problem := s.problem
	if s.license != nil {
		if problem = s.license.Check(s.o.BridgeID, s.o.Now()); problem == nil {
			return State{License: *s.license, Valid: true}
		}
	}
	return State{License: License{Edition: Community}, Problem: problem}
}

// Activate checks a key, stores it and puts it in force. The errors are those of [Parse] and [License.Check], ErrNoVendor and ErrStore; the
// license that was in force stays then.
func (s *Service) Activate(ctx context.Context, key string) (State, error) {
	if len(s.o.Vendors) == 0 {
		return State{}, ErrNoVendor
	}
	l, err := Parse(key, s.o.Vendors)
	if err != nil {
		return State{}, err
	}
	if err := l.Check(s.o.BridgeID, s.o.Now()); err != nil {
		return State{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return State{}, err
	}
	if err := atomicfile.Write(s.o.File, []byte(strings.TrimSpace(key)+"\n")); err != nil {
		return State{}, ErrStore.Wrap(err)
	}
	s.license, s.problem = &l, nil
	s.o.Logger.Info("license activated", "licensee", l.Licensee, "edition", l.Edition)
	return State{License: l, Valid: true}, nil
}

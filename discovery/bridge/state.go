package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/otkit/otkit/internal/atomicfile"
)

// state is what a bridge must not forget. It is replaced as a whole.
type state struct {
	Version int `json:"version"`

	EngineID  string    `json:"engineId,omitempty"` // empty: the bridge is free
	EngineURL string    `json:"engineUrl,omitempty"`
	Pins      []string  `json:"pins,omitempty"`
	Token     string    `json:"token,omitempty"` // until there is a key
	Key       string    `json:"key,omitempty"`   // of the session; empty before the first link
	BoundAt   time.Time `json:"boundAt,omitzero"`

	EngineURLs []string `json:"engineUrls,omitempty"` // of the other engines of the plant

	Owner      string `json:"owner,omitempty"`      // id of the engine that the entries in the buffer are for
	DamageTold string `json:"damageTold,omitempty"` // the epoch whose damage was reported
}

const stateVersion = 1

func (s *state) bound() bool { return s.EngineID != "" }

// loadState reads a state file. A file that cannot be understood is put aside: damaged is then its new name. The bridge is free then.
func loadState(path string) (s state, damaged string, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, "", nil
	}
	if err != nil {
		return state{}, "", fmt.Errorf("state of the bridge: %w", err)
	}
	if err := json.Unmarshal(data, &s); err == nil {
		if s.Version > stateVersion {
			return state{}, "", fmt.Errorf("state of the bridge: %s was written by a newer version of the program", path)
		}
		if s.Version == stateVersion && (!s.bound() || s.Token != "" || s.Key != "") {
			return s, "", nil
		}
	}
	damaged = path + ".damaged"
	if err := os.Rename(path, damaged); err != nil {
		return state{}, "", fmt.Errorf("state of the bridge: %w", err)
	}
	return state{}, damaged, nil
}

// store replaces the state file. When it returns nil, the state survives a loss of power.
func (s state) store(path string) error {
	s.Version = stateVersion
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(path, append(data, '\n'))
}

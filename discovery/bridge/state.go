package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// state is what a bridge must not forget. It is replaced as a whole.
type state struct {
	Version int `json:"version"`

	EngineID  string    `json:"engineId,omitempty"` // empty: the bridge is free
	EngineURL string    `json:"engineUrl,omitempty"`
	Pins      []string  `json:"pins,omitempty"`
	Token     string    `json:"token,omitempty"` // until the key has been used
	Key       string    `json:"key,omitempty"`   // of the session; empty before the first link
	BoundAt   time.Time `json:"boundAt,omitzero"`

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

// store replaces the state file. When it returns nil, the state survives a loss of power; otherwise the file is as it was.
func (s state) store(path string) error {
	s.Version = stateVersion
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	temp := path + ".new" // one name, so that a process that is killed again and again leaves one behind
	if err := writeSynced(temp, append(data, '\n')); err != nil {
		return errors.Join(err, remove(temp))
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, remove(temp))
	}
	return syncDir(filepath.Dir(path))
}

func writeSynced(path string, data []byte) error {
	if err := remove(path); err != nil { // its mode may be another one
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncDir makes a rename durable. Windows has no such call and needs none.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

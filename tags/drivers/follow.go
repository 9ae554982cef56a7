package drivers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otkit/otkit/fault"
)

// Follow takes over what other engines that share the repository change, until ctx ends. It is for one goroutine.
func (s *Service) Follow(ctx context.Context) {
	ticker := time.NewTicker(s.opts.FollowInterval)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ticker.C:
		case <-s.look.C():
		case <-ctx.Done():
			return
		}
		err := s.follow(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			s.opts.Logger.Error("failed to read changes of drivers; retrying", "error", err)
		case err == nil && failing:
			s.opts.Logger.Info("reading changes of drivers resumed")
		}
		failing = err != nil
	}
}

// Look makes Follow look immediately: another engine has changed something.
func (s *Service) Look() { s.look.Set() }

func (s *Service) follow(ctx context.Context) error {
	version, err := s.repo.Version(ctx)
	if err != nil || version == s.version {
		return err
	}
	list, version, err := s.repo.Load(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	ids := slices.Collect(maps.Keys(s.all))
	s.mu.Unlock()
	for _, def := range list {
		ids = append(ids, def.ID)
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if err := s.followOne(ctx, id); err != nil {
			return err
		}
	}
	s.version = version
	return nil
}

// followOne lets a driver be as it is stored. It is read again, since a call may have changed it meanwhile.
func (s *Service) followOne(ctx context.Context, id string) error {
	leave, err := s.enter(ctx, id)
	if err != nil {
		return err
	}
	defer leave()
	stored, err := s.repo.Get(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound):
		if e, _ := s.known(id); e != nil {
			s.drop(ctx, e)
			s.opts.Logger.Info("driver removed by another engine", "driver", id)
		}
		return nil
	case err != nil:
		return err
	}
	s.adopt(ctx, stored)
	return nil
}

// ErrContradicts reports that the settings of this engine and the database have different drivers of an id.
var ErrContradicts = fault.New(fault.Conflict, "DRIVER_CONTRADICTS", "the settings and the database have different drivers")

// Declare stores the drivers of the settings, so that the engines that share the repository have them, too. Calls cannot change them. If one is stored already
// that is not the same, Declare returns ErrContradicts with the id and the member, and stores nothing. With replace, what was declared before is replaced, and
// removed if it is not among the definitions; a driver that a call has created contradicts all the same.
func (s *Service) Declare(ctx context.Context, list []Definition, replace bool) error {
	stored, _, err := s.repo.Load(ctx)
	if err != nil {
		return err
	}
	byID := make(map[string]*Definition, len(stored))
	for i := range stored {
		byID[stored[i].ID] = &stored[i]
	}
	declared := make(map[string]bool, len(list))
	for i := range list {
		def := &list[i]
		if t, ok := s.types.Find(def.Type); ok {
			def.Type = t.Name
		}
		def.Enabled, def.Declared, declared[def.ID] = true, true, true
		if err := def.validate(); err != nil {
			return err
		}
		if old := byID[def.ID]; old != nil && (!replace || !old.Declared) {
			if differs(old, def) != "" {
				return contradicts(old, def)
			}
		}
	}
	for i := range list {
		if err := s.declare(ctx, list[i], byID[list[i].ID]); err != nil {
			return err
		}
	}
	for id, old := range byID {
		if replace && old.Declared && !declared[id] {
			if err := s.repo.Delete(ctx, id, old.Revision); err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
		}
	}
	s.version = -1
	return s.follow(ctx)
}

func (s *Service) declare(ctx context.Context, def Definition, old *Definition) error {
	now := s.now()
	def.CreatedAt, def.UpdatedAt, def.Revision = now, now, now.UnixMicro()
	if old == nil {
		err := s.repo.Insert(ctx, def)
		if !errors.Is(err, ErrExists) {
			return err
		}
		there, err := s.repo.Get(ctx, def.ID) // another engine was faster
		if err != nil {
			return err
		}
		old = &there
		if differs(old, &def) != "" {
			return contradicts(old, &def)
		}
	}
	if differs(old, &def) == "" && old.Declared {
		return nil
	}
	def.CreatedAt, def.Revision = old.CreatedAt, max(old.Revision+1, def.Revision)
	return s.repo.Update(ctx, def, old.Revision)
}

// contradicts names the member in which a driver of the settings is not the stored one, and both values. Those of its own settings may be secret.
func contradicts(stored, declared *Definition) error {
	member := differs(stored, declared)
	err := ErrContradicts.On("driverId", declared.ID).With("member", member)
	if member == "settings" {
		return err.Because("its own settings differ")
	}
	return err.Because("%s is %s in the settings and %s in the database", member, declared.member(member), stored.member(member))
}

// member returns a member of a definition as text, by its name in the API.
func (d *Definition) member(name string) string {
	switch name {
	case "type":
		return d.Type
	case "enabled":
		return strconv.FormatBool(d.Enabled)
	case "ipAddress":
		return strconv.Quote(d.IPAddress)
	case "port":
		return strconv.Itoa(d.Port)
	case "pollIntervalMs":
		return strconv.FormatInt(d.PollInterval.Milliseconds(), 10)
	case "timeoutMs":
		return strconv.FormatInt(d.Timeout.Milliseconds(), 10)
	case "backoffMaxMs":
		return strconv.FormatInt(d.MaxBackoff.Milliseconds(), 10)
	}
	return strings.TrimPrefix(fmt.Sprint(d.Requires), "map")
}

// differs names a member in which two definitions differ, as it is called in the API; empty if they are the same.
func differs(a, b *Definition) string {
	switch {
	case a.Type != b.Type:
		return "type"
	case a.Enabled != b.Enabled:
		return "enabled"
	case a.IPAddress != b.IPAddress:
		return "ipAddress"
	case a.Port != b.Port:
		return "port"
	case a.PollInterval != b.PollInterval:
		return "pollIntervalMs"
	case a.Timeout != b.Timeout:
		return "timeoutMs"
	case a.MaxBackoff != b.MaxBackoff:
		return "backoffMaxMs"
	case !sameJSON(a.Settings, b.Settings):
		return "settings"
	case !maps.Equal(a.Requires, b.Requires):
		return "requires"
	}
	return ""
}

// sameJSON reports whether two texts are the same JSON, in whatever form.
func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

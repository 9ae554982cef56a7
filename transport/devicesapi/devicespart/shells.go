package devicespart

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/aas/tagmap"
	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/devicetags"
	"github.com/otkit/otkit/internal/runes"
	"github.com/otkit/otkit/transport/aasapi/aaspart"
)

const (
	shellPrefix = "urn:otkit:device:"
	assetPrefix = "urn:otkit:asset:device:"
)

// ShellID returns the id of the shell of a device.
func ShellID(deviceID string) string { return shellPrefix + deviceID }

// IsShell reports whether id is that of the shell of a device that is there.
func (d *Devices) IsShell(id string) bool {
	device, ok := strings.CutPrefix(id, shellPrefix)
	if !ok {
		return false
	}
	_, err := d.service.Get(device)
	return err == nil
}

// shells makes a shell for each device. What is there stays as it is: people may complete it.
type shells struct {
	service *repository.Service
	mapper  *tagmap.Mapper // nil without tags
	log     *slog.Logger

	made    map[string]bool           // which have their shell, or had it
	mapped  map[string]int            // how many tags of a device are in its shell
	pending map[string]devices.Device // which failed
	failed  string                    // why, as logged
}

// makeShells adds the job that makes the shells.
func (d *Devices) makeShells(a *aaspart.AAS, withTags bool) error {
	s := &shells{service: a.Service(), log: d.opts.Logger, made: map[string]bool{}, mapped: map[string]int{}, pending: map[string]devices.Device{}}
	if withTags {
		var err error
		s.mapper, err = tagmap.NewMapper(tagmap.Options{WithoutDefaults: true, Rules: []tagmap.Rule{
			{Name: "x", Target: tagmap.OperationalData, IDShort: "positionX"}, // an idShort has two characters
			{Name: "y", Target: tagmap.OperationalData, IDShort: "positionY"},
			{Target: tagmap.OperationalData},
		}})
		if err != nil {
			return err
		}
	}
	d.jobs = append(d.jobs, d.opts.Cluster.Once("device-shells", func(ctx context.Context) {
		follow(ctx, d.service, func(changed []devices.Device) { s.bring(ctx, changed) })
	}))
	return nil
}

// bring makes the shells of devices that have none, and tries again what failed.
func (s *shells) bring(ctx context.Context, changed []devices.Device) {
	for i := range changed {
		s.pending[changed[i].ID] = changed[i]
	}
	for id := range s.pending {
		d := s.pending[id]
		if d.State != devices.Decommissioned { // it keeps the shell that it has
			if err := s.sync(ctx, &d); err != nil {
				s.fail(ctx, id, err)
				if !errors.Is(err, aas.ErrInvalidRequest) {
					return // the store, most likely: the others would fail too
				}
			}
		}
		delete(s.pending, id)
	}
	s.failed = ""
}

func (s *shells) fail(ctx context.Context, id string, err error) {
	if ctx.Err() == nil && s.failed != err.Error() {
		s.failed = err.Error()
		s.log.Error("failed to make the shell of a device; retrying", "device", id, "error", err)
	}
}

func (s *shells) sync(ctx context.Context, d *devices.Device) error {
	if !s.made[d.ID] {
		if _, err := s.service.Shells.Create(ctx, shellOf(d)); err != nil && !errors.Is(err, repository.ErrShellExists) {
			return err
		}
		s.made[d.ID] = true
	}
	if s.mapper == nil {
		return nil
	}
	list := devicetags.Tags(*d)
	if len(list) <= s.mapped[d.ID] {
		return nil
	}
	for i := range list {
		list[i].Driver += "." + d.ID // so that elements are named after what is behind it
	}
	err := s.mapper.Sync(ctx, s.service, tagmap.Equipment{ShellID: ShellID(d.ID), Tags: list})
	if err != nil && !errors.Is(err, repository.ErrShellNotFound) { // a person has removed it
		return err
	}
	s.mapped[d.ID] = len(list)
	return nil
}

func shellOf(d *devices.Device) *aas.Shell {
	s := &aas.Shell{AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: assetPrefix + d.ID,
		SpecificAssetIDs: []aas.SpecificAssetID{{Name: "deviceId", Value: d.ID}}}}
	s.ID, s.IDShort = ShellID(d.ID), idShort(d.ID)
	s.DisplayName, s.Description = english(d.Name, 128), english(d.Description, 1023)
	return s
}

// english returns a text as the standard allows it: in characters of XML and not too long.
func english(text string, limit int) []aas.LangString {
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff {
			return -1
		}
		return r
	}, text)
	if text == "" {
		return nil
	}
	return []aas.LangString{{Language: "en", Text: runes.Cut(text, limit)}}
}

// idShort returns the id of a device by the rules of the standard: letters, digits, - and _, with a letter at the beginning.
func idShort(id string) string {
	text := strings.Map(func(r rune) rune {
		if r == '.' || r == ':' {
			return '_'
		}
		return r
	}, id)
	if c := text[0] | 0x20; c < 'a' || c > 'z' {
		text = "Device_" + text
	}
	text = strings.TrimRight(text[:min(len(text), 128)], "-")
	if len(text) < 2 {
		text = "Device_" + text
	}
	return text
}

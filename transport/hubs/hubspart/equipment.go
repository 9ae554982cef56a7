package hubspart

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"strings"
	"time"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/signalr"
)

// equipmentRegistered is what the demonstration hub sends of a new piece of equipment.
type equipmentRegistered struct {
	EquipmentID  string    `json:"equipmentId"`
	Name         string    `json:"name"`
	RegisteredAt time.Time `json:"registeredAt"`
}

// maxAnnounced is how many ids of equipment are remembered. Beyond it all are forgotten, and one that is
// registered in the other place too may be sent twice.
const maxAnnounced = 100_000

// announcer sends equipment to a hub: a shell that is made, or one that is registered by its descriptor.
type announcer struct {
	service *repository.Service
	hub     *signalr.Hub
	now     func() time.Time
	log     *slog.Logger
	// announced reports whether a shell is that of equipment which is announced itself.
	announced func(id string) bool

	seed maphash.Seed
	sent map[uint64]places // by the hash of the id
}

// places is where equipment is registered.
type places uint8

const (
	asShell places = 1 << iota
	asDescriptor
)

func (a *announcer) subscribe() (*repository.Subscription, error) {
	return a.service.Subscribe(repository.SubscribeOptions{Kinds: []repository.Kind{repository.KindShell, repository.KindShellDescriptor}})
}

// run sends events until ctx ends. Events beyond what its subscription holds are omitted.
func (a *announcer) run(ctx context.Context, sub *repository.Subscription) {
	for {
		var err error
		for err == nil {
			var events []repository.Event
			events, err = sub.Next(ctx, 1000)
			for i := range events {
				a.take(ctx, &events[i])
			}
		}
		sub.Close()
		if !errors.Is(err, repository.ErrSlowSubscriber) {
			return
		}
		a.log.Warn("equipment omitted from the hub: too many events")
		if sub, err = a.subscribe(); err != nil {
			return
		}
	}
}

func (a *announcer) take(ctx context.Context, e *repository.Event) {
	place := asShell
	if e.Kind == repository.KindShellDescriptor {
		place = asDescriptor
	}
	key := maphash.String(a.seed, e.ID)
	switch e.Type {
	case repository.Created:
		before := a.sent[key]
		if before == 0 && len(a.sent) >= maxAnnounced {
			clear(a.sent)
		}
		a.sent[key] = before | place
		if before == 0 && a.hub.Clients() > 0 && !a.announced(e.ID) {
			a.announce(ctx, e)
		}
	case repository.Deleted:
		if a.sent[key] &^= place; a.sent[key] == 0 {
			delete(a.sent, key)
		}
	}
}

func (a *announcer) announce(ctx context.Context, e *repository.Event) {
	name, err := a.name(ctx, e)
	gone := errors.Is(err, repository.ErrShellNotFound) || errors.Is(err, repository.ErrDescriptorNotFound)
	if err != nil && !gone && ctx.Err() == nil {
		a.log.Warn("failed to read the name of equipment", "id", e.ID, "error", err)
	}
	_ = a.hub.Broadcast("OnEquipmentRegistered", equipmentRegistered{ // it encodes
		EquipmentID: e.ID, Name: cmp.Or(name, e.ID), RegisteredAt: a.now().UTC()})
}

// name returns the name by which people know equipment; it is empty where there is none.
func (a *announcer) name(ctx context.Context, e *repository.Event) (string, error) {
	if e.Kind == repository.KindShellDescriptor {
		d, err := a.service.ShellDescriptors.Get(ctx, e.ID)
		if err != nil {
			return "", err
		}
		return cmp.Or(english(d.DisplayName), d.IDShort), nil
	}
	s, err := a.service.Shells.Get(ctx, e.ID)
	if err != nil {
		return "", err
	}
	return cmp.Or(english(s.DisplayName), s.IDShort), nil
}

// english returns the text in English, or else the first one.
func english(texts []aas.LangString) string {
	for _, t := range texts {
		if language, _, _ := strings.Cut(t.Language, "-"); strings.EqualFold(language, "en") {
			return t.Text
		}
	}
	if len(texts) > 0 {
		return texts[0].Text
	}
	return ""
}

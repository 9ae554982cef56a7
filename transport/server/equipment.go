package server

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"strings"
	"time"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/transport/signalr"
)

// equipmentRegistered is what the demonstration hub tells of a new piece of equipment.
type equipmentRegistered struct {
	EquipmentID  string    `json:"equipmentId"`
	Name         string    `json:"name"`
	RegisteredAt time.Time `json:"registeredAt"`
}

// maxAnnounced is how many ids of equipment are remembered. Beyond it all are forgotten, and one that is
// registered in the other place too may be told twice.
const maxAnnounced = 100_000

// announcer tells a hub of equipment: a shell that is made, or one that is registered by its descriptor.
type announcer struct {
	service *aas.Service
	hub     *signalr.Hub
	now     func() time.Time
	log     *slog.Logger

	seed maphash.Seed
	told map[uint64]places // by the hash of the id
}

// places is where equipment is registered.
type places uint8

const (
	asShell places = 1 << iota
	asDescriptor
)

// startAnnouncing tells the demonstration hub of what is registered from now on, until the server stops.
func (s *Server) startAnnouncing() {
	a := &announcer{service: s.shells.service, hub: s.room.demo, now: s.opts.Now, log: s.log,
		seed: maphash.MakeSeed(), told: make(map[uint64]places)}
	sub, err := a.subscribe()
	if err != nil {
		return // the service was closed: the server is stopping
	}
	s.wg.Go(func() { a.run(s.stopping, sub) })
}

func (a *announcer) subscribe() (*aas.Subscription, error) {
	return a.service.Subscribe(aas.SubscribeOptions{Kinds: []aas.Kind{aas.KindShell, aas.KindShellDescriptor}})
}

// run tells events until ctx ends. When more have come than can be told, the rest of them is left out.
func (a *announcer) run(ctx context.Context, sub *aas.Subscription) {
	for {
		var err error
		for err == nil {
			var events []aas.Event
			events, err = sub.Next(ctx, 1000)
			for i := range events {
				a.take(ctx, &events[i])
			}
		}
		sub.Close()
		if !errors.Is(err, aas.ErrSlowSubscriber) {
			return
		}
		a.log.Warn("browsers are not told of all equipment that was registered")
		if sub, err = a.subscribe(); err != nil {
			return
		}
	}
}

func (a *announcer) take(ctx context.Context, e *aas.Event) {
	place := asShell
	if e.Kind == aas.KindShellDescriptor {
		place = asDescriptor
	}
	key := maphash.String(a.seed, e.ID)
	switch e.Type {
	case aas.Created:
		before := a.told[key]
		if before == 0 && len(a.told) >= maxAnnounced {
			clear(a.told)
		}
		a.told[key] = before | place
		if before == 0 && listeners(a.hub) > 0 {
			a.announce(ctx, e)
		}
	case aas.Deleted:
		if a.told[key] &^= place; a.told[key] == 0 {
			delete(a.told, key)
		}
	}
}

func (a *announcer) announce(ctx context.Context, e *aas.Event) {
	name, err := a.name(ctx, e)
	gone := errors.Is(err, aas.ErrShellNotFound) || errors.Is(err, aas.ErrDescriptorNotFound)
	if err != nil && !gone && ctx.Err() == nil {
		a.log.Warn("the name of equipment cannot be read", "id", e.ID, "error", err)
	}
	_ = a.hub.Broadcast("OnEquipmentRegistered", equipmentRegistered{ // it encodes
		EquipmentID: e.ID, Name: cmp.Or(name, e.ID), RegisteredAt: a.now().UTC()})
}

// name gives the name by which people know equipment; it is empty where there is none.
func (a *announcer) name(ctx context.Context, e *aas.Event) (string, error) {
	if e.Kind == aas.KindShellDescriptor {
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

// english gives the text in English, or else the first one.
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

func listeners(h *signalr.Hub) int {
	s := h.Stats()
	return s.WebSockets + s.ServerSentEvents + s.LongPolling
}

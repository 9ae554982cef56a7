package derived_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/derived"
)

// gated is a driver whose writes wait.
type gated struct {
	pushed
	open    chan struct{}
	writing chan tags.WriteItem
}

func (g *gated) Write(ctx context.Context, items []tags.WriteItem, errs []error) error {
	for _, item := range items {
		g.writing <- item
	}
	<-g.open
	return g.pushed.Write(ctx, items, errs)
}

// A write that waits while its alias is given another target, or removed, goes neither to the new one nor to the old one.
func TestAQueuedWriteOfAnAliasThatChangesFails(t *testing.T) {
	for name, change := range map[string]func(p *plant) error{
		"another target": func(p *plant) error {
			_, err := p.service.Replace(t.Context(), derived.Definition{ID: "press", Target: "slow.other"}, false, nil)
			return err
		},
		"removed": func(p *plant) error { return p.service.Delete(t.Context(), "press", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlant(t, nil)
			slow := &gated{open: make(chan struct{}), writing: make(chan tags.WriteItem, 100)}
			of := func(name string) tags.Tag {
				return tags.Tag{Name: "slow." + name, Driver: "slow", Address: name, DataType: tags.Int, Access: tags.ReadWrite}
			}
			require.NoError(t, p.engine.AddDriver("slow", slow, tags.DriverOptions{Tags: []tags.Tag{of("first"), of("target"), of("other")}}))
			p.create(derived.Definition{ID: "press", Target: "slow.target"})
			p.create(derived.Definition{ID: "again", Target: "press"})
			write := func(name string) (w tags.Write) {
				require.Eventually(t, func() (ok bool) {
					var err error
					w, err = p.engine.Write(t.Context(), tags.WriteRequest{Tag: name, Text: "1"})
					return err == nil
				}, time.Minute, time.Millisecond)
				return w
			}
			write("slow.first")
			require.Equal(t, "first", (<-slow.writing).Point.Address)
			queued := write("again")
			plain := write("slow.target")
			require.NoError(t, change(p))
			close(slow.open)
			require.Eventually(t, func() bool {
				w, err := p.engine.GetWrite(t.Context(), plain.ID)
				return err == nil && w.State != tags.WriteQueued
			}, time.Minute, time.Millisecond)
			w, err := p.engine.GetWrite(t.Context(), queued.ID)
			require.NoError(t, err)
			require.Equal(t, tags.WriteFailed, w.State)
			require.Len(t, slow.writing, 1, "only the write of the target itself is sent")
			require.Equal(t, "target", (<-slow.writing).Point.Address)
		})
	}
}

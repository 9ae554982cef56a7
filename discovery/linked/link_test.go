package linked

import (
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/link"
)

func TestBatchesAreStoredInOrderAndThenAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer r.close()
		r.attach("a", "b", "c")
		p, w := r.open()
		require.Equal(t, "engine-1", w.EngineID)
		require.Zero(t, w.Position)
		p.send(batch(1, "a=1 b=2 !DriverOffline a=3", 0))
		p.acked(4)
		p.send(batch(5, "a=4 c=5", 1))
		p.acked(6)
		p.close()
		synctest.Wait()
		require.Equal(t, []string{"open true", "stored a=1", "stored b=2", "event DriverOffline", "stored a=3", "stored a=4 late", "stored c=5", "open false"},
			r.store.noted())
		require.Equal(t, uint64(6), r.store.positions["epoch-1"])
	})
}

// What is not acknowledged comes again on the next link, and what is stored is dropped, also within a batch and after a crash.
func TestWhatComesAgainIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newStore()
		r := newRig(t, m)
		r.attach("a", "b", "c")
		p, _ := r.open()
		p.send(batch(1, "a=1 a=2", 0))
		p.acked(2)
		p.send(batch(1, "a=1 a=2", 0))
		p.acked(2)
		p.close()
		r.close()

		r = newRig(t, m) // another process
		defer r.close()
		r.attach("a", "b", "c")
		p, w := r.open()
		require.Equal(t, uint64(2), w.Position)
		p.send(batch(1, "a=1 a=2 a=3", 0))
		p.acked(3)
		p.close()
		synctest.Wait()
		require.Equal(t, []string{"open true", "stored a=1", "stored a=2", "open false", "open true", "stored a=3", "open false"}, m.noted())
	})
}

// Nothing is acknowledged while it cannot be stored, for hours; the link stays open and the log has one line.
func TestAFullDiskDelaysTheAcknowledgement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer r.close()
		r.attach("a", "b", "c")
		p, _ := r.open()
		p.send(batch(1, "a=1", 0))
		p.acked(1)
		r.store.setFail(errors.New("disk full"))
		p.send(batch(2, "a=2", 0))
		p.send(batch(3, "!DriverOnline", 0))
		go func() {
			time.Sleep(3 * time.Hour)
			r.store.setFail(nil)
		}()
		begin := time.Now()
		p.acked(3)
		require.GreaterOrEqual(t, time.Since(begin), 3*time.Hour)
		require.Less(t, time.Since(begin), 3*time.Hour+time.Minute)
		require.Equal(t, []string{"open true", "stored a=1", "stored a=2", "event DriverOnline"}, r.store.noted())
		require.Equal(t, 1, strings.Count(r.log.String(), "retrying"))
		require.Equal(t, 1, strings.Count(r.log.String(), "stored again"))
		p.close()
	})
}

// A position is not stored before what follows from the samples is, such as the alarms of a replay.
func TestThePositionWaitsForWhatFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newStore()
		r := newRig(t, m)
		r.unsettled = errors.New("alarms wait")
		r.attach("a", "b", "c")
		p, _ := r.open()
		p.send(batch(1, "a=1", 0))
		time.Sleep(5 * time.Second)
		require.Equal(t, []string{"open true", "stored a=1"}, m.noted())
		require.Zero(t, m.positions["epoch-1"])
		require.Greater(t, r.settled.Load(), int64(1))
		p.close()
		r.close()

		r = newRig(t, m)
		defer r.close()
		r.attach("a", "b", "c")
		p, _ = r.open()
		p.send(batch(1, "a=1", 0))
		p.acked(1)
		require.Equal(t, int64(1), r.settled.Load())
		p.close()
	})
}

// What was stored before its position could be is not stored a second time by the same process, also on another link.
func TestALinkThatEndsBetweenSamplesAndPosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newStore()
		r := newRig(t, m)
		defer r.close()
		r.attach("a", "b", "c")
		p, _ := r.open()
		driver := r.hub.bridge("press-1")
		p.send(batch(1, "a=1", 0))
		p.acked(1)
		driver.mu.Lock()
		driver.through = 2 // as after a store of entry 2 whose position failed
		driver.mu.Unlock()
		p.close()
		p, w := r.open()
		require.Equal(t, uint64(1), w.Position, "what survives a crash")
		p.send(batch(2, "a=2 a=3", 0))
		p.acked(3)
		p.close()
		synctest.Wait()
		require.Equal(t, []string{"open true", "stored a=1", "open false", "open true", "stored a=3", "open false"}, m.noted())
	})
}

func TestMissingEntriesAreReportedBeforeTheAcknowledgement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer r.close()
		r.attach("a", "b", "c")
		p, _ := r.open()
		p.send(batch(5, "a=5", 0))
		p.acked(5)
		r.store.setFail(errors.New("disk full"))
		p.send(batch(10, "a=10", 0))
		before := make(chan []string, 1)
		go func() {
			time.Sleep(time.Minute)
			before <- r.store.noted()
			r.store.setFail(nil)
		}()
		p.acked(10)
		require.Equal(t, []string{"open true", "lost 4", "stored a=5"}, <-before)
		require.Equal(t, []string{"open true", "lost 4", "stored a=5", "lost 4", "stored a=10"}, r.store.noted())
		require.Equal(t, Link{Open: true, Since: r.hub.Link("press-1").Since, Peer: "pipe", Samples: 2, Lost: 8, Epoch: "epoch-1", Position: 10, Newest: noon}, r.hub.Link("press-1"))
		p.close()
	})
}

// Batches wait until the tag engine has a driver for the bridge. No more of them come than the window allows.
func TestBatchesWaitForTheTagEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer r.close()
		p, _ := r.open()
		p.send(batch(1, "a=1", 0))
		p.send(batch(2, "a=2", 0))
		go func() {
			time.Sleep(10 * time.Minute)
			r.attach("a", "b", "c")
		}()
		begin := time.Now()
		p.acked(2)
		require.Equal(t, 10*time.Minute, time.Since(begin))
		p.close()
	})
}

// A tag that the tag engine does not have delays the others for a moment once, and is counted.
func TestSamplesOfUnknownTagsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer r.close()
		r.attach("a")
		p, _ := r.open()
		begin := time.Now()
		p.send(batch(1, "a=1 b=2 a=3 c=4 z=5 a=6", 0))
		p.acked(6)
		require.Equal(t, 10*time.Second, time.Since(begin))
		p.send(batch(7, "b=7 c=8 a=9", 0))
		p.acked(9)
		require.Equal(t, 10*time.Second, time.Since(begin))
		require.Equal(t, []string{"open true", "stored a=1", "stored a=3", "stored a=6", "stored a=9"}, r.store.noted())
		require.Equal(t, uint64(5), r.hub.Link("press-1").Unknown)
		require.Equal(t, 1, strings.Count(r.log.String(), "dropped"))
		p.close()
	})
}

// A tag that is defined while its samples wait loses none of them.
func TestSamplesWaitForTheirTag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer r.close()
		r.attach()
		p, _ := r.open()
		p.send(batch(1, "a=1 b=2", 0))
		time.Sleep(5 * time.Second)
		r.stop()
		r.attach("a", "b")
		p.acked(2)
		noted := strings.Join(r.store.noted(), " ")
		require.Contains(t, noted, "stored a=1")
		require.Contains(t, noted, "stored b=2")
		require.Zero(t, r.hub.Link("press-1").Unknown)
		p.close()
	})
}

// A value that came ahead is current; those that it overtook are history, also where they were sent as current before.
func TestLiveValuesOvertakeBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer r.close()
		r.attach("a", "b", "c")
		p, _ := r.open()
		synctest.Wait()
		r.store.setFail(errors.New("slow disk"))
		p.send(batch(1, "a=1 b=2", 0))
		synctest.Wait()
		p.send(liveFrame("a=9 z=1"))
		synctest.Wait()
		require.Equal(t, []string{"open true", "live a=9"}, r.store.noted())
		r.store.setFail(nil)
		p.acked(2)
		p.send(batch(3, "a=9 b=4", 1))
		p.acked(4)
		// Entry 1 was handed to the store before a=9 came, so a=9 is shown again.
		require.Equal(t, []string{"open true", "live a=9", "stored a=1", "stored b=2", "live a=9", "stored a=9 late", "stored b=4"}, r.store.noted())
		p.close()
	})
}

func TestLiveOvertakesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer r.close()
		p, _ := r.open()
		p.send(batch(1, "a=1 b=2", 0))
		p.send(liveFrame("a=9"))
		synctest.Wait()
		r.attach("a", "b", "c")
		p.acked(2)
		synctest.Wait()
		p.close()
		noted := strings.Join(r.store.noted(), ", ")
		require.Contains(t, noted, "live a=9") // the subscription begins with what is known
		require.Contains(t, noted, "stored a=1 late, stored b=2")
	})
}

func TestASecondLinkEndsTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer r.close()
		r.attach("a", "b", "c")
		first, _ := r.open()
		second, _ := r.open()
		require.ErrorIs(t, <-first.ended, link.ErrReplaced)
		_, err := first.recv()
		require.ErrorIs(t, err, link.ErrReplaced)
		second.send(batch(1, "a=1", 0))
		second.acked(1)
		second.close()
		synctest.Wait()
		require.Equal(t, []string{"open true", "open true", "stored a=1", "open false"}, r.store.noted())
	})
}

func TestDisconnectAndClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		r.attach("a", "b", "c")
		p, _ := r.open()
		r.hub.Disconnect("press-1")
		r.hub.Disconnect("other")
		require.ErrorIs(t, <-p.ended, link.ErrEnded)

		p, _ = r.open()
		silent := r.dial() // has not said who it is
		r.close()
		require.ErrorIs(t, <-p.ended, link.ErrEnded)
		require.ErrorIs(t, <-silent.ended, link.ErrEnded)
		late := r.dial()
		require.ErrorIs(t, <-late.ended, link.ErrEnded)
		require.NoError(t, r.hub.Close(t.Context()), "again")
	})
}

// A bridge that is stopped, or whose network is gone, is noticed within 30 s; one that only has nothing to say is not.
func TestSilenceEndsALink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer r.close()
		p, _ := r.open()
		begin := time.Now()
		for time.Since(begin) < time.Hour {
			f, err := p.conn.Recv()
			require.NoError(t, err)
			p.send(link.FromBridge{Pong: &link.Pong{Time: f.Ping.Time}})
		}
		begin = time.Now()
		require.ErrorIs(t, <-p.ended, link.ErrSilent)
		require.LessOrEqual(t, time.Since(begin), link.SilenceLimit+link.SilenceLimit/10)
		require.False(t, r.hub.Link("press-1").Open)

		mute := r.dial()
		begin = time.Now()
		require.ErrorIs(t, <-mute.ended, link.ErrProtocol)
		require.Equal(t, link.HelloDeadline, time.Since(begin))
	})
}

func TestStrangersAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newStore()
		r := newRig(t, m)
		defer r.close()
		for _, h := range []link.Hello{{Token: "guess"}, {Key: "guess"}, {Key: "token-1"}} {
			p := r.dial()
			p.hello(h)
			_, err := p.recv()
			require.ErrorIs(t, err, link.ErrRefused)
			require.ErrorIs(t, <-p.ended, link.ErrRefused)
		}
		// A failure of the engine is not a refusal, which would make the bridge free.
		m.setFail(errors.New("disk SECRET"))
		p := r.dial()
		p.hello(link.Hello{Token: "token-1"})
		_, err := p.recv()
		require.NotErrorIs(t, err, link.ErrRefused)
		require.ErrorIs(t, err, link.ErrEnded)
		require.ErrorIs(t, <-p.ended, link.ErrEnded)
		require.NotContains(t, r.log.String(), "guess")
		require.Equal(t, 1, strings.Count(r.log.String(), "link of a bridge refused"), "not each attempt")
		time.Sleep(2 * time.Hour)
		m.setFail(nil)
		p = r.dial()
		p.hello(link.Hello{Key: "guess"})
		require.ErrorIs(t, <-p.ended, link.ErrRefused)
		require.Equal(t, 2, strings.Count(r.log.String(), "link of a bridge refused"))
	})
}

// Whatever happens between two steps, the bridge gets in with what it has stored, and the token is refused once the key was used.
func TestKeyHandOverSurvivesACrashBetweenAnyTwoSteps(t *testing.T) {
	for _, crash := range []string{"nowhere", "engine before Welcome", "bridge before it stores the key", "bridge after it stores the key",
		"engine before it confirms the key", "engine after it confirms the key"} {
		t.Run(crash, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newStore()
				r := newRig(t, m)
				key := "" // the bridge's durable state
				ctx, kill := context.WithCancel(t.Context())
				if crash == "engine before Welcome" {
					m.onOpen = kill
				}
				bridge, engine := link.Pipe()
				p := &peer{t: t, conn: bridge, ended: make(chan error, 1)}
				go func() {
					err := r.hub.Serve(ctx, engine)
					link.CloseEngine(engine, err)
					p.ended <- err
				}()
				p.hello(link.Hello{Token: "token-1"})
				f, err := p.conn.Recv()
				if crash != "engine before Welcome" {
					require.NoError(t, err)
				}
				if err == nil {
					if crash != "bridge before it stores the key" {
						key = f.Welcome.Key
					}
					if crash == "engine before it confirms the key" {
						m.setFail(errors.New("gone"))
					}
					if strings.HasPrefix(crash, "engine") || crash == "nowhere" {
						p.hello(link.Hello{Key: key})
						synctest.Wait()
					}
				}
				m.onOpen = nil
				m.setFail(nil)
				_ = p.conn.Close()
				<-p.ended //nolint:errcheck // it differs
				kill()
				r.close()

				r = newRig(t, m)
				r.attach("a", "b", "c")
				defer r.close()
				p = r.dial()
				h := link.Hello{Key: key}
				if key == "" {
					h = link.Hello{Token: "token-1"}
				}
				w := p.greet(h)
				if key == "" {
					require.Equal(t, "key-1", w.Key)
					p.hello(link.Hello{Key: w.Key})
				}
				p.send(link.FromBridge{Names: &link.Names{Names: []string{"a"}}})
				p.send(batch(1, "a=1", 0))
				p.acked(1)
				p.close()

				p = r.dial()
				p.hello(link.Hello{Token: "token-1"})
				_, err = p.recv()
				require.ErrorIs(t, err, link.ErrRefused)
				require.ErrorIs(t, <-p.ended, link.ErrRefused)
			})
		})
	}
}

// The key must be confirmed before anything else is taken.
func TestAKeyThatIsNotConfirmed(t *testing.T) {
	for name, next := range map[string]link.FromBridge{
		"batch":     batch(1, "a=1", 0),
		"names":     {Names: &link.Names{Names: []string{"a"}}},
		"wrong key": {Hello: &link.Hello{Protocol: link.Protocol, BridgeID: "press-1", Epoch: "epoch-1", Key: "key-2"}},
		"other id":  {Hello: &link.Hello{Protocol: link.Protocol, BridgeID: "press-2", Epoch: "epoch-1", Key: "key-1"}},
		"token":     {Hello: &link.Hello{Protocol: link.Protocol, BridgeID: "press-1", Epoch: "epoch-1", Token: "token-1"}},
		"nothing":   {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, newStore())
				defer r.close()
				p := r.dial()
				require.Equal(t, "key-1", p.greet(link.Hello{Token: "token-1"}).Key)
				if name != "nothing" {
					p.send(next)
				}
				go func() {
					for {
						if _, err := p.recv(); err != nil {
							return
						}
					}
				}()
				require.Error(t, <-p.ended)
				require.Equal(t, "token-1", r.store.token)
			})
		})
	}
}

func TestALyingBridgeIsCutOff(t *testing.T) {
	wide := link.FromBridge{Batch: &link.Batch{Block: link.Block{First: 1, Count: 1, Data: make([]byte, link.MaxData+1)}}}
	miscounted := batch(1, "a=1 a=2", 0)
	miscounted.Batch.Count = 3
	for name, frames := range map[string][]link.FromBridge{
		"nothing set":        {{}},
		"second Hello":       {{Hello: &link.Hello{Protocol: link.Protocol, BridgeID: "press-1", Epoch: "epoch-1", Key: "key-1"}}},
		"first is 0":         {batch(0, "a=1", 0)},
		"overflow":           {batch(math.MaxUint64, "a=1 a=2", 0)},
		"no entries":         {{Batch: &link.Batch{Block: link.Block{First: 1}}}},
		"too many entries":   {{Batch: &link.Batch{Block: link.Block{First: 1, Count: link.MaxCount + 1}}}},
		"more late":          {batch(1, "a=1", 2)},
		"late below 0":       {batch(1, "a=1", -1)},
		"giant batch":        {wide},
		"giant live":         {{Live: &link.Live{Data: make([]byte, link.MaxData+1)}}},
		"damaged live":       {{Live: &link.Live{Data: []byte("?")}}},
		"damaged batch":      {{Batch: &link.Batch{Block: link.Block{First: 1, Count: 1, Data: []byte("?")}}}},
		"wrong count":        {miscounted},
		"other manifest":     {{Manifest: &link.Manifest{BridgeID: "press-2"}}},
		"too many tags":      {{Manifest: &link.Manifest{BridgeID: "press-1", Tags: make([]link.ManifestTag, link.MaxNames+1)}}},
		"names not in order": {{Names: &link.Names{First: 4, Names: []string{"d"}}}},
		"names again":        {{Names: &link.Names{First: 0, Names: []string{"d"}}}},
		"too many names":     {{Names: &link.Names{First: 3, Names: make([]string, link.MaxNames)}}},
		"long name":          {{Names: &link.Names{First: 3, Names: []string{strings.Repeat("x", 257)}}}},
		"window":             {batch(1, "b=1", 0), batch(2, "b=1", 0), batch(3, "b=1", 0), batch(4, "b=1", 0), batch(5, "b=1", 0), batch(6, "b=1", 0), batch(7, "b=1", 0), batch(8, "b=1", 0), batch(9, "b=1", 0)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, newStore())
				defer r.close()
				r.attach("a") // batches of b wait
				p, _ := r.open()
				for _, f := range frames {
					if err := p.conn.Send(f); err != nil {
						require.ErrorIs(t, err, io.EOF)
					}
				}
				for {
					if _, err := p.recv(); err != nil {
						require.ErrorIs(t, err, link.ErrProtocol)
						break
					}
				}
				require.ErrorIs(t, <-p.ended, link.ErrProtocol)
				require.NotContains(t, strings.Join(r.store.noted(), " "), "stored")
				require.Contains(t, r.log.String(), "link of a bridge ended")
			})
		})
	}
}

func TestBadHello(t *testing.T) {
	good := link.Hello{Protocol: link.Protocol, BridgeID: "press-1", Epoch: "e", Key: "key-1"}
	for name, change := range map[string]func(*link.Hello){
		"protocol":  func(h *link.Hello) { h.Protocol = 2 },
		"no id":     func(h *link.Hello) { h.BridgeID = "" },
		"long id":   func(h *link.Hello) { h.BridgeID = strings.Repeat("x", 300) },
		"no epoch":  func(h *link.Hello) { h.Epoch = "" },
		"no secret": func(h *link.Hello) { h.Key = "" },
		"both":      func(h *link.Hello) { h.Token = "t" },
		"long key":  func(h *link.Hello) { h.Key = strings.Repeat("x", 2000) },
		"long hash": func(h *link.Hello) { h.ManifestHash = strings.Repeat("x", 2000) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, newStore())
				defer r.close()
				h := good
				change(&h)
				p := r.dial()
				p.send(link.FromBridge{Hello: &h})
				require.ErrorIs(t, <-p.ended, link.ErrProtocol)
			})
		})
	}
}

// The manifest is stored, and its tags are defined, before the batches that follow.
func TestManifestComesBeforeTheBatchesAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer r.close()
		r.attach("a", "b", "c")
		p := r.dial()
		m := &link.Manifest{BridgeID: "press-1", Tags: make([]link.ManifestTag, 3)}
		require.True(t, p.greet(link.Hello{Token: "token-1", ManifestHash: m.Hash()}).WantManifest)
		p.hello(link.Hello{Key: "key-1"})
		p.send(link.FromBridge{Manifest: m})
		p.send(link.FromBridge{Names: &link.Names{Names: []string{"a"}}})
		p.send(batch(1, "a=1", 0))
		p.acked(1)
		p.close()
		require.Equal(t, []string{"open true", "manifest of 3 tags", "stored a=1"}, r.store.noted()[:3])
		p = r.dial()
		require.False(t, p.greet(link.Hello{Key: "key-1", ManifestHash: m.Hash()}).WantManifest)
		p.close()
	})
}

func TestABridgeThatIsReleasedEndsItsLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, key := range []string{"", "key-1"} { // the key may not be confirmed yet
			r := newRig(t, newStore())
			hello := link.Hello{Token: "token-1"}
			if key != "" {
				r.store.key = key
				hello = link.Hello{Key: key}
			}
			p := r.dial()
			p.greet(hello)
			p.send(link.FromBridge{Released: &link.Released{}})
			_, err := p.recv()
			require.ErrorIs(t, err, link.ErrEnded)
			require.ErrorIs(t, <-p.ended, link.ErrEnded)
			synctest.Wait()
			require.Equal(t, []string{"open true", "released", "open false"}, r.store.noted())
			require.NotContains(t, r.log.String(), "WARN")
			r.close()
		}
	})
}

// A manifest of many tags costs the engine much more than the bridge.
func TestManifestsThatComeFastAreTakenOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer r.close()
		p, _ := r.open()
		for n := range 50 {
			p.send(link.FromBridge{Manifest: &link.Manifest{BridgeID: "press-1", Tags: make([]link.ManifestTag, n)}})
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(5 * time.Second)
		require.Equal(t, []string{"open true", "manifest of 0 tags", "manifest of 19 tags", "manifest of 39 tags", "manifest of 49 tags"}, r.store.noted())
		p.send(link.FromBridge{Manifest: &link.Manifest{BridgeID: "press-1"}})
		synctest.Wait()
		require.Len(t, r.store.noted(), 6, "after a pause there is no wait")
		p.close()
	})
}

// The process may stand still, so that both the timer of a manifest and the next manifest are there when it goes on.
func TestAManifestThatArrivesWhenTheOneBeforeIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer r.close()
		s := &session{hub: r.hub, ctx: t.Context(), log: r.hub.log, hello: link.Hello{BridgeID: "press-1"}, bridge: r.hub.bridge("press-1"), due: time.NewTimer(time.Hour)}
		defer s.due.Stop()
		for n := range 3 {
			require.NoError(t, s.takeManifest(&link.Manifest{BridgeID: "press-1", Tags: make([]link.ManifestTag, n)}))
			time.Sleep(time.Duration(n) * manifestInterval)
		}
		<-s.due.C
		require.NoError(t, s.updateManifest(s.next))
		require.Equal(t, []string{"manifest of 0 tags", "manifest of 2 tags"}, r.store.noted())
	})
}

func TestTheBridgeSaysHowMuchWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer r.close()
		p, _ := r.open()
		p.send(link.FromBridge{Pong: &link.Pong{Buffer: link.Buffer{Waiting: 7, Bytes: 100, MaxBytes: 500, Dropped: 2, OldestSeconds: 1.5}}})
		synctest.Wait()
		require.Contains(t, r.store.noted(), "press-1 has {Waiting:7 Bytes:100 MaxBytes:500 Dropped:2 OldestSeconds:1.5}")
		require.EqualValues(t, 7, r.hub.Link("press-1").Buffered)
		p.close()
		require.Zero(t, r.hub.Link("press-1").Buffered)
	})
}

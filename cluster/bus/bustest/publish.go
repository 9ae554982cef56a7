package bustest

import (
	"bytes"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster/bus"
)

// inOrder returns a handler that checks that numbers rise, and a channel that is closed after enough of them.
func (r rig) inOrder(enough int) (handle func([]byte), done <-chan struct{}) {
	all, last, n := make(chan struct{}), -1, 0
	return func(data []byte) {
		if next := numberOf(data); next <= last {
			r.Errorf("%d came after %d", next, last)
		} else {
			last = next
		}
		if n++; n == enough {
			close(all)
		}
	}, all
}

// count publishes rising numbers until done is closed.
func (r rig) count(on bus.Bus, subject string, done <-chan struct{}) {
	end := time.Now().Add(patience)
	for i := 0; time.Now().Before(end); i++ {
		select {
		case <-done:
			return
		default:
			_ = on.Publish(subject, number(i)) // one that is not taken is a gap
		}
		if i%100 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	r.Errorf("messages of %s do not arrive", subject)
}

func testOrder(r rig) {
	handle, done := r.inOrder(2000)
	defer r.subscribe(r.b, "values.a", handle)()
	r.count(r.a, "values.a", done)
}

func testSeveral(r rig) {
	var all sync.WaitGroup
	for _, subject := range []string{"values.1", "values.2"} {
		for _, from := range []bus.Bus{r.a, r.b} {
			to := map[bool]bus.Bus{true: r.b, false: r.a}[from == r.a]
			one, first := r.inOrder(500)
			two, second := r.inOrder(500)
			defer r.subscribe(to, subject, one)()
			defer r.subscribe(to, subject, two)()
			both := ended(func() { <-first; <-second })
			all.Go(func() { r.count(from, subject, both) })
		}
	}
	all.Wait()
}

func testLost(r rig) {
	began, release := make(chan struct{}), make(chan struct{})
	last, rising := -1, make(chan struct{})
	var goal atomic.Int64 // a number that comes after the gap
	goal.Store(1 << 62)
	cancel := r.subscribe(r.b, "values", func(data []byte) {
		next := numberOf(data)
		if last < 0 {
			close(began)
			<-release
		}
		if next <= last {
			r.Errorf("%d came after %d", next, last)
		}
		if last < int(goal.Load()) && next >= int(goal.Load()) {
			close(rising)
		}
		last = next
	})
	defer cancel()
	n := 0
	next := func() {
		n++
		_ = r.a.Publish("values", append(number(n), make([]byte, 8<<10)...))
	}
	end := time.Now().Add(patience)
	for r.b.Status().Lost == 0 {
		if next(); n%200 == 0 {
			time.Sleep(time.Millisecond)
			require.True(r, time.Now().Before(end), "nothing is lost after %d messages", n)
		}
	}
	r.wait(began, "the handler is not called")
	goal.Store(int64(n + 1))
	close(release)
	for {
		next()
		select {
		case <-rising:
			return
		case <-time.After(5 * time.Millisecond):
			require.True(r, time.Now().Before(end), "nothing arrives after a gap")
		}
	}
}

func testOwn(r rig) {
	var own atomic.Bool
	of := func(name string, done chan struct{}) func([]byte) {
		var once sync.Once
		return func(data []byte) {
			if string(data) == name {
				own.Store(true)
			} else {
				once.Do(func() { close(done) })
			}
		}
	}
	atA, atB := make(chan struct{}), make(chan struct{})
	defer r.subscribe(r.a, "values", of("a", atA))()
	defer r.subscribe(r.b, "values", of("b", atB))()
	r.until(atB, r.a, "values", []byte("a"))
	r.until(atA, r.b, "values", []byte("b"))
	require.False(r, own.Load(), "an engine has got its own message")
}

// longest is a subject of all the bytes that are allowed, of as many as are allowed.
var longest = strings.Repeat("abcdefghijklmnopqrstuvwxyz.ABCDEFGHIJKLMNOPQRSTUVWXYZ.0123456789-_.", 4)[:250]

func testSubjects(r rig) {
	var wrong atomic.Bool
	done := map[string]chan struct{}{}
	for _, subject := range []string{"values", "values.a", "values.a.b", "VALUES", "values_a", longest} {
		ch := make(chan struct{})
		done[subject] = ch
		var once sync.Once
		defer r.subscribe(r.b, subject, func(data []byte) {
			if string(data) != subject {
				wrong.Store(true)
			}
			once.Do(func() { close(ch) })
		})()
	}
	for subject, ch := range done {
		r.until(ch, r.a, subject, []byte(subject))
	}
	require.False(r, wrong.Load(), "a message came with another subject")
}

func testInvalid(r rig) {
	for _, subject := range []string{"", ".", ".a", "a.", "a..b", "a b", "a.*", "*", "a.>", ">", "ä", "a/b", "a\n", "a\x00", "$SYS.a", longest + "x"} {
		require.ErrorIs(r, r.a.Publish(subject, nil), bus.ErrSubject, "%q", subject)
		_, err := r.a.Subscribe(subject, func([]byte) {})
		require.ErrorIs(r, err, bus.ErrSubject, "%q", subject)
		_, err = r.a.Request(r.within(), subject, nil)
		require.ErrorIs(r, err, bus.ErrSubject, "%q", subject)
		_, err = r.a.Serve(subject, nil)
		require.ErrorIs(r, err, bus.ErrSubject, "%q", subject)
	}
}

func testNotKept(r rig) {
	var good, bad atomic.Int64
	done := make(chan struct{})
	defer r.subscribe(r.b, "values", func(data []byte) {
		if len(data) == 0 || len(bytes.Trim(data, "v")) > 0 {
			bad.Add(1)
		}
		if good.Add(1) == 100 {
			close(done)
		}
	})()
	data := make([]byte, 4<<10)
	for end := time.Now().Add(patience); time.Now().Before(end); {
		for i := range data {
			data[i] = 'v'
		}
		_ = r.a.Publish("values", data)
		clear(data) // the publisher uses it again
		select {
		case <-done:
			require.Zero(r, bad.Load(), "messages have the data that the publisher wrote later")
			return
		default:
			time.Sleep(100 * time.Microsecond)
		}
	}
	require.Fail(r, "messages do not arrive")
}

func testCancel(r rig) {
	began, release := make(chan struct{}), make(chan struct{})
	var calls atomic.Int64
	cancel := r.subscribe(r.b, "values", func([]byte) {
		if calls.Add(1) == 1 {
			close(began)
			<-release
		}
	})
	r.until(began, r.a, "values", nil)
	for range 10 {
		r.publish(r.a, "values", nil)
	}
	canceled := ended(cancel)
	r.running(canceled, "cancel does not wait for the handler")
	close(release)
	r.wait(canceled, "cancel does not return")
	after := calls.Load()
	cancel() // again

	// Who cancels in its handler is not waited for, and is not called again.
	var inside, others atomic.Int64
	var own func()
	ready, returned, enough := make(chan struct{}), make(chan struct{}), make(chan struct{})
	own = r.subscribe(r.b, "values", func([]byte) {
		<-ready
		inside.Add(1)
		own()
		close(returned)
	})
	close(ready)
	r.until(returned, r.a, "values", nil)
	defer r.subscribe(r.b, "values", func([]byte) {
		if others.Add(1) == 20 {
			close(enough)
		}
	})()
	r.until(enough, r.a, "values", nil)
	own()
	require.EqualValues(r, 1, inside.Load())
	require.Equal(r, after, calls.Load(), "a handler is called after its cancel")
}

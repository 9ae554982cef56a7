package signalr_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/signalr"
)

var errValveStuck = fault.New(fault.Conflict, "VALVE_STUCK", "the valve is stuck")

// methods are those of the hubs in tests.
func methods() map[string]signalr.Method {
	return map[string]signalr.Method{
		"Echo": func(_ context.Context, _ *signalr.Client, args signalr.Arguments) (any, error) {
			return args, nil
		},
		"Watch": func(_ context.Context, c *signalr.Client, args signalr.Arguments) (any, error) {
			var names []string
			var every int
			if err := args.Into(&names, &every); err != nil {
				return nil, err
			}
			m, err := signalr.NewMessage("ReceiveAlarm", names, every)
			if err == nil {
				c.Send(m)
			}
			return nil, err
		},
		"Stuck": func(context.Context, *signalr.Client, signalr.Arguments) (any, error) {
			return nil, fmt.Errorf("opening: %w", errValveStuck)
		},
		"Broken": func(context.Context, *signalr.Client, signalr.Arguments) (any, error) {
			return nil, errors.New("password of the database")
		},
		"Panics": func(context.Context, *signalr.Client, signalr.Arguments) (any, error) { panic("deliberate") },
		"Unsaid": func(context.Context, *signalr.Client, signalr.Arguments) (any, error) { return func() {}, nil },
		"Dismiss": func(_ context.Context, c *signalr.Client, _ signalr.Arguments) (any, error) {
			c.Dismiss("Read anew.")
			return nil, nil
		},
	}
}

func ask(id, target, args string) string {
	if id != "" {
		id = `"invocationId":"` + id + `",`
	}
	return `{"type":1,` + id + `"target":"` + target + `","arguments":` + args + "}\x1e"
}

func TestMethods(t *testing.T) {
	inBubble(t, signalr.Options{Methods: methods(), InvocationRate: 100}, func(t *testing.T, r *rig) {
		p := r.socket()
		other := r.socket()
		for _, c := range [][3]string{
			{"Echo", `["ü",1.50,{"a":[null]}]`, `"result":["ü",1.50,{"a":[null]}]`},
			{"Echo", `null`, `"result":null`},
			{"Stuck", `[]`, `"error":"VALVE_STUCK: the valve is stuck"`},
			{"Broken", `[]`, `"error":"INTERNAL_ERROR: the method failed"`},
			{"Panics", `[]`, `"error":"INTERNAL_ERROR: the method failed"`},
			{"Unsaid", `[]`, `"error":"HUB_MESSAGE_NOT_ENCODABLE: message cannot be encoded as JSON: Unsaid"`},
			{"echo", `[]`, `"error":"HUB_METHOD_NOT_FOUND: the hub has no such method"`},
			{"Watch", `[["a"]]`, `"error":"INVALID_REQUEST: request is not valid: the method has 2 arguments, not 1"`},
			{"Watch", `[["a"],1.5]`, `"error":"INVALID_REQUEST: request is not valid: argument 2 is not valid"`},
			{"Watch", `[null,1]`, `"error":"INVALID_REQUEST: request is not valid: argument 1 must not be null"`},
			{"Watch", `{"a":1}`, `"error":"INVALID_REQUEST: request is not valid: the arguments are not valid"`},
		} {
			p.send(ask("7", c[0], c[1]))
			require.Equal(t, `{"type":3,"invocationId":"7",`+c[2]+`}`, p.next(), c[0]+c[1])
		}
		p.send(ask("", "Watch", `[["a","b"],50]`))
		require.Equal(t, call(`["a","b"],50`), p.next(), "only this client gets it, and no answer")
		p.send(ask("8", "Watch", `[[],0]`))
		require.Equal(t, call(`[],0`), p.next())
		require.JSONEq(t, `{"type":3,"invocationId":"8"}`, p.next(), "nothing is returned")
		p.send(`{"type":4,"invocationId":"9","target":"Echo","arguments":[]}` + "\x1e")
		require.JSONEq(t, `{"type":3,"invocationId":"9","error":"The hub has no streams."}`, p.next())
		p.send(ask("", "Dismiss", `[]`))
		require.JSONEq(t, `{"type":7,"error":"Read anew.","allowReconnect":true}`, p.next())
		p.ended()
		require.NoError(t, r.Broadcast("ReceiveAlarm", 1))
		require.Equal(t, call("1"), other.next())
	})
}

func TestMethodsInMessagePack(t *testing.T) {
	inBubble(t, signalr.Options{Methods: methods(), InvocationRate: 100}, func(t *testing.T, r *rig) {
		p := r.packedSocket()
		p.sendPacked(pack(t, 1, nil, "1", "Echo", []any{"ü", 1, -1.5, uint64(1 << 63), []byte{1, 2}, nil, map[string]any{"a": []any{true}}}, []string{}))
		require.Equal(t, `[3,{},"1",3,["ü",1,-1.5,9223372036854775808,"AQI=",null,{"a":[true]}]]`, p.nextPacked())
		p.sendPacked(pack(t, 1, nil, "2", "Watch", []any{[]string{"a"}, 50}, []string{}))
		require.Equal(t, `[1,{},null,"ReceiveAlarm",[["a"],50],[]]`, p.nextPacked())
		require.Equal(t, `[3,{},"2",2]`, p.nextPacked())
		p.sendPacked(pack(t, 1, nil, "3", "Stuck", []any{}))
		require.Equal(t, `[3,{},"3",1,"VALVE_STUCK: the valve is stuck"]`, p.nextPacked())
		var deep any
		for range 100 {
			deep = []any{deep}
		}
		for _, bad := range []any{deep, map[int]int{1: 2}, "no array"} {
			p.sendPacked(pack(t, 1, nil, "4", "Echo", bad))
			require.Equal(t, `[3,{},"4",1,"INVALID_REQUEST: request is not valid: the arguments are not valid"]`, p.nextPacked())
		}
	})
}

func TestInvocationsAreCarriedOutInOrderAndBounded(t *testing.T) {
	release := make(chan struct{})
	var running, most, done int
	methods := map[string]signalr.Method{"Slow": func(ctx context.Context, _ *signalr.Client, args signalr.Arguments) (any, error) {
		running++
		most = max(most, running)
		defer func() { running--; done++ }()
		select {
		case <-release:
			return args[0], nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}}
	inBubble(t, signalr.Options{Methods: methods, MaxInvocations: 3, InvocationRate: 5}, func(t *testing.T, r *rig) {
		release = make(chan struct{}) // of the bubble
		p := r.socket()
		for i := range 7 {
			p.send(ask(fmt.Sprint(i), "Slow", fmt.Sprintf("[%d]", i)))
		}
		for i := 3; i < 7; i++ { // two for which there is no room, two that come too fast
			require.JSONEq(t, fmt.Sprintf(`{"type":3,"invocationId":"%d","error":"HUB_TOO_MANY_INVOCATIONS: the client invokes methods too fast"}`, i), p.next())
		}
		require.NoError(t, r.Broadcast("ReceiveAlarm"))
		require.Equal(t, call(""), p.next(), "what is slow holds nothing else up")
		close(release)
		for i := range 3 {
			require.JSONEq(t, fmt.Sprintf(`{"type":3,"invocationId":"%d","result":%d}`, i, i), p.next())
		}
		require.Equal(t, 1, most)

		time.Sleep(time.Second)
		release = make(chan struct{})
		p.send(strings.Repeat(ask("x", "Slow", "[1]"), 2))
		synctest.Wait()
		require.Equal(t, 1, running)
		p.leave()
		synctest.Wait()
		require.Zero(t, running, "it ends with the connection")
		require.Equal(t, 4, done, "and what waits is not begun")
	})
}

func TestAMethodEndsWhenTheHubIsClosed(t *testing.T) {
	began := make(chan struct{})
	methods := map[string]signalr.Method{"Endless": func(ctx context.Context, _ *signalr.Client, _ signalr.Arguments) (any, error) {
		close(began)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}}
	inBubble(t, signalr.Options{Methods: methods}, func(t *testing.T, r *rig) {
		began = make(chan struct{})
		p := r.socket()
		p.send(ask("1", "Endless", "[]"))
		<-began
		closed := make(chan error)
		go func() { closed <- r.Close(t.Context()) }()
		require.Equal(t, `{"type":7,"allowReconnect":true}`, p.next())
		p.ended()
		require.NoError(t, <-closed)
	})
}

func TestAClientIsSentToAtItsOwnPace(t *testing.T) {
	var client *signalr.Client
	methods := map[string]signalr.Method{"Begin": func(_ context.Context, c *signalr.Client, _ signalr.Arguments) (any, error) {
		client = c
		return nil, nil
	}}
	inBubble(t, signalr.Options{Methods: methods}, func(t *testing.T, r *rig) {
		p := r.socket()
		p.send(ask("1", "Begin", "[]"))
		require.JSONEq(t, `{"type":3,"invocationId":"1"}`, p.next())
		m, err := signalr.NewMessage("ReceiveAlarm", strings.Repeat("x", 1000))
		require.NoError(t, err)
		for range 3 { // the first is being written
			client.Send(m)
			synctest.Wait()
		}
		require.Greater(t, client.Queued(), 2000)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, client.WaitForRoom(ctx, 1500), context.DeadlineExceeded)
		waited := make(chan error)
		go func() { waited <- client.WaitForRoom(t.Context(), 1500) }()
		p.next()
		require.NoError(t, <-waited)
		go func() { waited <- client.WaitForRoom(t.Context(), -1) }()
		p.leave()
		require.Error(t, <-waited)
		<-client.Context().Done()
	})
}

package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/otkit/otkit/accounts"
	pb "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/tags"
)

func ms(n int32) *int32 { return &n }

// both opens each of the two subscriptions and gives a function that receives one batch of changes.
func (p *platform) both(names []string, throttle *int32) map[string]func() ([]*pb.TagChangeNotification, error) {
	p.t.Helper()
	api, ctx := p.rpc(accounts.Viewer)
	one, err := api.SubscribeTagChanges(ctx, &pb.SubscribeTagChangesRequest{TagNames: names, ThrottleMs: throttle})
	require.NoError(p.t, err)
	many, err := api.StreamTagChanges(ctx, &pb.StreamTagChangesRequest{TagNames: names, ThrottleMs: throttle})
	require.NoError(p.t, err)
	return map[string]func() ([]*pb.TagChangeNotification, error){
		"SubscribeTagChanges": func() ([]*pb.TagChangeNotification, error) {
			m, err := one.Recv()
			return []*pb.TagChangeNotification{m}, err
		},
		"StreamTagChanges": func() ([]*pb.TagChangeNotification, error) {
			m, err := many.Recv()
			return m.GetChanges(), err
		},
	}
}

func TestSubscriptionsBeginWithTheCurrentValues(t *testing.T) {
	t.Parallel()
	p := start(t)
	for method, receive := range p.both([]string{"line.count", "line.flag", "line.empty"}, ms(3_600_000)) {
		var got []*pb.TagChangeNotification
		for len(got) < 3 { // outside the throttle
			m, err := receive()
			require.NoError(t, err, method)
			got = append(got, m...)
		}
		require.Equal(t, "line.count", got[0].GetTagName())
		require.Equal(t, int64(9223372036854775806), got[0].GetNewValue().GetInt64Value())
		require.Equal(t, "Good", got[0].GetQuality())
		require.WithinDuration(t, time.Now(), got[0].GetTimestamp().AsTime(), time.Minute)
		require.Equal(t, "line.empty", got[2].GetTagName())
		require.Nil(t, got[2].GetNewValue())
		require.Equal(t, "Bad", got[2].GetQuality())
		require.Contains(t, []string{"WaitingForData", "ConfigError"}, got[2].GetQualityReason(), "before and after the first poll")
		require.Empty(t, got[0].GetQualityReason())
	}
}

func TestSubscriptionsKeepToTheThrottle(t *testing.T) {
	t.Parallel()
	const throttle = 200 * time.Millisecond
	for _, method := range []string{"SubscribeTagChanges", "StreamTagChanges"} {
		// Each has a platform of its own: what one changes would wait unread in the other.
		p := start(t)
		receive := p.both([]string{"line.count", "line.deaf"}, ms(200))[method]
		for n := 0; n < 2; {
			m, err := receive()
			require.NoError(t, err, method)
			n += len(m)
		}
		began, last := time.Now(), map[string]int64{}
		deliveries := 0 // they have each tag at most once
		for i := int64(1); last["line.count"] != 1000 || last["line.deaf"] != 1000; i++ {
			for v := 1000 - min(i*100, 1000); v <= 1000; v += 100 { // ends at 1000
				p.line.set("count", tags.IntValue(v))
				p.line.set("deaf", tags.IntValue(v))
			}
			m, err := receive()
			require.NoError(t, err, method)
			for _, c := range m {
				last[c.GetTagName()] = c.GetNewValue().GetInt64Value()
				if c.GetTagName() == "line.count" {
					deliveries++
				}
			}
		}
		require.Positive(t, deliveries, method)
		require.GreaterOrEqual(t, time.Since(began), time.Duration(deliveries-1)*throttle, method)
	}
}

func TestSubscriptionsWithoutThrottleTellEveryChangeAwaited(t *testing.T) {
	t.Parallel()
	p := start(t)
	for method, receive := range p.both([]string{"line.count"}, ms(0)) {
		_, err := receive()
		require.NoError(t, err)
		for i := int64(100); i < 150; i++ {
			p.line.set("count", tags.IntValue(i))
			for {
				m, err := receive()
				require.NoError(t, err, method)
				if m[0].GetNewValue().GetInt64Value() == i {
					break
				}
			}
		}
	}
}

func TestSubscriptionsRefuseBadRequests(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, c := range []struct {
		names    []string
		throttle *int32
		code     codes.Code
		reason   string
	}{
		{nil, nil, codes.InvalidArgument, "INVALID_REQUEST"},
		{[]string{"line.flag"}, ms(-1), codes.InvalidArgument, "INVALID_REQUEST"},
		{[]string{"line.flag", "line.absent"}, nil, codes.NotFound, "TAG_NOT_FOUND"},
	} {
		for _, receive := range p.both(c.names, c.throttle) {
			_, err := receive()
			info := requireStatus(t, err, c.code, c.reason)
			if c.code == codes.NotFound {
				require.Equal(t, "line.absent", info.GetMetadata()["tagName"])
			}
		}
	}
	api, ctx := p.rpc(accounts.Viewer)
	for _, r := range []*pb.StreamTagChangesRequest{{NamePatterns: []string{`\`}}, {TagNames: []string{"line.flag"}, Deadband: -1}} {
		stream, err := api.StreamTagChanges(ctx, r)
		require.NoError(t, err)
		_, err = stream.Recv()
		requireStatus(t, err, codes.InvalidArgument, "INVALID_REQUEST")
	}
}

func TestStreamTagChangesTakesPatternsAndADeadband(t *testing.T) {
	t.Parallel()
	p := start(t)
	api, ctx := p.rpc(accounts.Viewer)
	stream, err := api.StreamTagChanges(ctx, &pb.StreamTagChangesRequest{NamePatterns: []string{"LINE.le_el", "late.%"}, ThrottleMs: ms(0), Deadband: 5})
	require.NoError(t, err)
	next := func() string {
		m, err := stream.Recv()
		require.NoError(t, err)
		require.Len(t, m.GetChanges(), 1)
		return fmt.Sprint(m.GetChanges()[0].GetTagName(), " ", m.GetChanges()[0].GetNewValue().GetDoubleValue())
	}
	require.Equal(t, "line.level 21.5", next())
	p.line.set("level", tags.FloatValue(26))
	p.line.set("level", tags.FloatValue(27))
	require.Equal(t, "line.level 27", next())
	p.configure(map[string]any{"tagId": "late.one", "driverId": "nowhere", "dataType": "Float"})
	require.Equal(t, "late.one 0", next())
}

func TestASubscriptionEndsWithItsSession(t *testing.T) {
	t.Parallel()
	p := start(t)
	streams := p.both([]string{"line.flag"}, nil)
	for _, receive := range streams {
		_, err := receive()
		require.NoError(t, err)
	}
	require.Equal(t, 204, p.call(accounts.Viewer, http.MethodPost, "/api/v1/auth/logout", nil).status)
	for _, receive := range streams {
		_, err := receive()
		requireStatus(t, err, codes.Unauthenticated, "UNAUTHORIZED")
	}
}

func TestASnapshotOfLargeValuesFitsAClientsMessages(t *testing.T) {
	t.Parallel()
	p := start(t)
	var items []map[string]any
	for i := range 100 {
		items = append(items, map[string]any{"tagId": fmt.Sprintf("big.%03d", i), "driverId": "line", "address": "note", "dataType": "String"})
	}
	p.line.set("note", tags.StringValue(strings.Repeat("x", 100_000))) // 10 MB in all, and clients take 4 MiB
	p.configure(items...)
	require.Eventually(t, func() bool {
		s, err := p.Tags().Read("big.099")
		return err == nil && s.Sample.Quality == tags.Good
	}, patience, time.Millisecond)
	api, ctx := p.rpc(accounts.Viewer)
	stream, err := api.StreamTagChanges(ctx, &pb.StreamTagChangesRequest{NamePatterns: []string{"big.%"}})
	require.NoError(t, err)
	for n := 0; n < 100; {
		m, err := stream.Recv()
		require.NoError(t, err)
		n += len(m.GetChanges())
	}
}

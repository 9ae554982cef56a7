package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	pb "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/tags"
)

// brokenLog is a log of writes whose disk can fail.
type brokenLog struct {
	tags.WriteLog
	broken atomic.Bool
}

func (l *brokenLog) Put(ctx context.Context, writes []tags.Write) error {
	if l.broken.Load() {
		return errors.New("the disk is gone")
	}
	return l.WriteLog.Put(ctx, writes)
}

// pathOf encodes a name for a path. A name that a fixed route has taken is written with one more
// letter encoded, which stands for the same name (RFC 3986, section 6.2.2.2).
func pathOf(name string) string {
	if name == "stream" || name == "writes" {
		return fmt.Sprintf("%%%02X", name[0]) + name[1:]
	}
	return strings.ReplaceAll(url.PathEscape(name), "+", "%2B")
}

func TestEveryNameTravelsThroughEveryREST(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, name := range oddNames {
		var one struct{ Tag struct{ Name string } }
		a := p.callWrong(accounts.Viewer, http.MethodGet, "/api/v1/tags/"+pathOf(name), nil)
		require.Equal(t, 200, a.status, "%s: %s", name, a.body)
		a.into(t, &one)
		require.Equal(t, name, one.Tag.Name)

		var history struct{ TagName string }
		a = p.callWrong(accounts.Viewer, http.MethodGet, "/api/v1/tags/"+pathOf(name)+"/history", nil)
		require.Equal(t, 200, a.status, "%s: %s", name, a.body)
		a.into(t, &history)
		require.Equal(t, name, history.TagName)

		var many struct{ Tags []struct{ Name string } }
		p.call(accounts.Viewer, http.MethodPost, "/api/v1/tags:batchRead", map[string]any{"tagNames": []string{name}}).into(t, &many)
		require.Len(t, many.Tags, 1, name)
		require.Equal(t, name, many.Tags[0].Name)

		pattern := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(name)
		p.callWrong(accounts.Viewer, http.MethodGet, "/api/v1/tags?namePattern="+url.QueryEscape(pattern), nil).into(t, &many)
		require.Len(t, many.Tags, 1, name)
		require.Equal(t, name, many.Tags[0].Name)

		got := p.outcome(p.write(name, map[string]any{"value": "-5"}))
		require.Equal(t, name, got["tagName"])
		require.Equal(t, "Written", got["state"])
		a = p.call(accounts.Admin, http.MethodPost, "/api/v1/tags:batchWrite", map[string]any{"writes": []any{map[string]any{"tagName": name, "value": map[string]any{"int64Value": 1}}}})
		require.Equal(t, "1", jsonText(t, a.object(t)["successCount"]), name)
	}
	for _, absent := range []string{"a/b", "a b", "1 1=2", "a%2fb", "A.B", "überdruck/kühlwasser", "..", "."} {
		a := p.callWrong(accounts.Viewer, http.MethodGet, "/api/v1/tags/"+pathOf(absent), nil)
		require.Equal(t, 404, a.status, absent)
	}
}

func TestADriverIDIsDecodedOnce(t *testing.T) {
	t.Parallel()
	p := start(t)
	a := p.call(accounts.Admin, http.MethodPost, "/api/v1/tags/"+pathOf(oddDriver)+"/"+pathOf("a/ü %2F")+"/write", map[string]any{"value": "9"})
	require.Equal(t, 200, a.status, "%s", a.body)
	require.Equal(t, oddDriver+".a/ü %2F", p.outcome(a.object(t)["writeId"].(string))["tagName"])
}

func TestEveryNameTravelsThroughGRPC(t *testing.T) {
	t.Parallel()
	p := start(t)
	api, ctx := p.rpc(accounts.Admin)
	for _, name := range oddNames {
		r, err := api.ReadTag(ctx, &pb.ReadTagRequest{TagName: name})
		require.NoError(t, err, name)
		require.Equal(t, name, r.GetTag().GetName())
		w, err := api.WriteTag(ctx, &pb.WriteTagRequest{DriverId: "line", Address: name, Value: "3"})
		require.NoError(t, err, name)
		require.Equal(t, name, p.awaitWrite(w.GetWriteId()).GetTagName())
	}
	stream, err := api.StreamTagChanges(ctx, &pb.StreamTagChangesRequest{TagNames: oddNames})
	require.NoError(t, err)
	got := map[string]bool{}
	for len(got) < len(oddNames) {
		m, err := stream.Recv()
		require.NoError(t, err)
		for _, c := range m.GetChanges() {
			got[c.GetTagName()] = true
		}
	}
	for _, name := range oddNames {
		require.True(t, got[name], name)
	}
}

func TestEveryNameTravelsThroughTheEventStream(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, name := range oddNames {
		s := p.stream("?tagNames=" + url.QueryEscape(name))
		require.Equal(t, name, s.next()[0].TagName)
		s.stop()
	}
	var list []string
	for _, name := range oddNames {
		list = append(list, url.QueryEscape(name))
	}
	s := p.stream("?tagNames=" + strings.Join(list, ","))
	defer s.stop()
	var got []string
	for _, c := range s.next() {
		got = append(got, c.TagName)
	}
	require.Equal(t, oddNames, got)

	// A client that encodes the whole list, and patterns with a comma in them.
	for query, want := range map[string][]string{
		"?tagNames=" + url.QueryEscape("line.flag,line.count"):          {"line.flag", "line.count"},
		"?patterns=" + url.QueryEscape(`comma\,_omma,line.fl%`):         {"comma,comma", "line.flag"},
		"?patterns=" + url.QueryEscape(`back\\slash`) + ",line.coun_":   {`back\slash`, "line.count"},
		"?tagNames=line.note&patterns=line.note,line.f_ag&throttleMs=0": {"line.note", "line.flag"},
	} {
		s := p.stream(query)
		var got []string
		for _, c := range s.next() {
			got = append(got, c.TagName)
		}
		require.ElementsMatch(t, want, got, query)
		s.stop()
	}
}

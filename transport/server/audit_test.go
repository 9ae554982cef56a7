package server_test

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/engine"
	pb "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/transport/aasapi"
	"github.com/otkit/otkit/transport/auth"
)

// Every operation that may change something is in the audit log, or says why it is not. A new one is recorded without doing
// anything; one that is open to strangers cannot be.
func TestEveryChangeIsAudited(t *testing.T) {
	t.Parallel()
	all := append(operations(t), aasapi.Operations()...)
	audited, byMethod := 0, map[string]auth.Operation{}
	for _, op := range all {
		for _, method := range op.GRPC {
			byMethod[method] = op
		}
		changes := op.Method != http.MethodGet && op.Method != http.MethodHead
		switch {
		case !changes:
			require.Empty(t, op.Unaudited, "%s only reads", op.ID)
			require.False(t, op.Audited(), op.ID)
		case op.Unaudited != "":
			require.Greater(t, len(op.Unaudited), 5, "%s needs a reason", op.ID)
			require.False(t, op.AuditOptional, op.ID)
		default:
			require.NotEqual(t, auth.Open, op.Access, "%s is open: say in Unaudited where it is recorded", op.ID)
			require.True(t, op.Audited(), op.ID)
			audited++
		}
	}
	require.Greater(t, audited, 80)

	// What changes something over gRPC is on a row that is recorded. Reads are known by their names.
	reads := []string{"Get", "Read", "Search", "Subscribe", "Stream", "Check", "List", "Watch", "ServerReflectionInfo"}
	for method, op := range byMethod {
		name := method[strings.LastIndex(method, "/")+1:]
		if method == pb.BridgeLink_Connect_FullMethodName { // samples of a bridge, whose binding is recorded
			require.NotEmpty(t, op.Unaudited)
			continue
		}
		isRead := slices.ContainsFunc(reads, func(verb string) bool { return strings.HasPrefix(name, verb) })
		require.Equal(t, !isRead, op.Audited(), method)
	}
	var optional []string
	for _, op := range all {
		if op.AuditOptional {
			optional = append(optional, op.ID)
		}
	}
	require.ElementsMatch(t, []string{"acknowledgeAlarm", "acknowledgeAlarms", "acknowledgeAlarmCode", "logout"}, optional,
		"only these may be done while the log cannot be written")
}

type auditRecord struct {
	ID                                                             int64
	Time, EndedAt                                                  time.Time
	Actor, Principal, Role, Session, Address, Via, Action, Outcome string
	Objects                                                        []string
	Before, After                                                  json.RawMessage
	Code, Detail, Hash                                             string
}

func (p *platform) audit(query string) []auditRecord {
	p.t.Helper()
	a := p.call(accounts.Admin, http.MethodGet, "/api/v1/audit"+query, nil)
	require.Equal(p.t, 200, a.status, "%s", a.body)
	var page struct{ Items []auditRecord }
	a.into(p.t, &page)
	return page.Items
}

func TestAuditOverTheWire(t *testing.T) {
	t.Parallel()
	p := start(t)
	a := p.call(accounts.Admin, http.MethodPost, "/api/v1/tags/line/level/write", map[string]any{"value": "42.5"})
	require.Equal(t, 200, a.status, "%s", a.body)
	got := p.audit("?action=writeTag")
	require.Len(t, got, 1)
	r := got[0]
	require.Equal(t, "admin", r.Actor)
	require.Equal(t, "otkit admin", r.Principal)
	require.Equal(t, "Admin", r.Role)
	require.Equal(t, "127.0.0.1", r.Address)
	require.Equal(t, "rest", r.Via)
	require.NotEmpty(t, r.Session)
	require.Equal(t, []string{"line.level"}, r.Objects)
	require.Contains(t, string(r.Before), "21.5")
	require.JSONEq(t, `{"value":"42.5"}`, string(r.After))
	require.Equal(t, "succeeded", r.Outcome)
	require.Contains(t, r.Detail, "writeId")
	require.False(t, r.EndedAt.IsZero())

	// gRPC, a batch, a refusal by the domain, and one by the role.
	api, ctx := p.rpc(accounts.Admin)
	_, err := api.WriteTag(ctx, &pb.WriteTagRequest{DriverId: "line", Address: "count", Value: "7"})
	require.NoError(t, err)
	p.call(accounts.Admin, http.MethodPost, "/api/v1/tags:batchWrite", map[string]any{"writes": []any{
		map[string]any{"tagName": "line.flag", "value": map[string]any{"boolValue": true}}, map[string]any{"tagName": "line.note", "value": map[string]any{"stringValue": "x"}}}})
	require.Equal(t, 403, p.call(accounts.Viewer, http.MethodPost, "/api/v1/tags/line/level/write", map[string]any{"value": "1"}).status)
	require.Equal(t, 403, p.call(accounts.Admin, http.MethodPost, "/api/v1/tags/line/fixed/write", map[string]any{"value": "1"}).status)
	r = p.audit("?object=line.count")[0]
	require.Equal(t, "grpc", r.Via)
	require.Equal(t, "writeTag", r.Action)
	require.Contains(t, string(r.After), `"value":"7"`)
	require.Equal(t, []string{"line.flag", "line.note"}, p.audit("?object=line.note")[0].Objects)
	denied := p.audit("?actor=viewer&outcome=refused")
	require.Len(t, denied, 1)
	require.Equal(t, "FORBIDDEN", denied[0].Code)
	require.Equal(t, "READ_ONLY_TAG", p.audit("?object=line.fixed")[0].Code)

	// Configuration, rules, silences, shells.
	a = p.call(accounts.Admin, http.MethodPost, "/api/v1/alarm-rules", map[string]any{"id": "r1", "tagName": "line.level", "kind": "High", "limit": 90, "severity": "Warning"})
	require.Equal(t, 201, a.status, "%s", a.body)
	require.Equal(t, 204, p.call(accounts.Admin, http.MethodDelete, "/api/v1/alarm-rules/r1", nil).status)
	r = p.audit("?action=removeAlarmRule")[0]
	require.Equal(t, []string{"r1"}, r.Objects)
	require.Contains(t, string(r.Before), "line.level")
	p.configure(map[string]any{"tagId": "line.level", "driverId": "line", "dataType": "Float", "unit": "mm"})
	r = p.audit("?action=bulkTagConfig")[0]
	require.Equal(t, []string{"line.level"}, r.Objects)
	require.Contains(t, string(r.After), `"mm"`)
	require.NotContains(t, string(r.Before), `"mm"`)

	// An acknowledgement, which is recorded after the act.
	raised := p.raise("audit", alarms.Critical)
	require.Equal(t, 200, p.call(accounts.Operator, http.MethodPost, "/api/v1/alarms/"+raised.ID+"/acknowledge", map[string]any{}).status)
	r = p.audit("?action=acknowledgeAlarm")[0]
	require.Equal(t, "operator", r.Actor)
	require.Equal(t, []string{raised.ID}, r.Objects)

	one := p.call(accounts.Admin, http.MethodGet, "/api/v1/audit/1", nil)
	require.Equal(t, 200, one.status)
	require.Equal(t, 404, p.call(accounts.Admin, http.MethodGet, "/api/v1/audit/999999", nil).status)
	require.Equal(t, 404, p.call(accounts.Admin, http.MethodGet, "/api/v1/audit/x", nil).status)
	a = p.call(accounts.Admin, http.MethodGet, "/api/v1/audit?pageSize=2&page=2", nil)
	page := a.object(t)
	require.Len(t, page["items"], 2)
	require.Equal(t, strconv.Itoa(len(p.audit("?pageSize=500"))), page["totalCount"].(json.Number).String())
	for _, bad := range []string{"?pageSize=501", "?pageSize=0", "?page=0", "?outcome=done", "?start=2026-01-02T00:00:00Z&end=2026-01-01T00:00:00Z"} {
		require.Equal(t, 400, p.callWrong(accounts.Admin, http.MethodGet, "/api/v1/audit"+bad, nil).status, bad)
	}
}

func TestAuditOfLogins(t *testing.T) {
	t.Parallel()
	p := start(t)
	require.Equal(t, 200, p.login("operator", password).status)
	require.Equal(t, 401, p.login("operator", "wrong").status)
	require.Equal(t, 401, p.login("no such user", "wrong").status)
	got := p.audit("?action=login")
	require.Len(t, got, 4, "with the Admin who asks")
	require.Equal(t, []string{"admin", "unknown", "operator", "operator"}, []string{got[0].Actor, got[1].Actor, got[2].Actor, got[3].Actor})
	require.Equal(t, []string{"succeeded", "refused", "refused", "succeeded"}, []string{got[0].Outcome, got[1].Outcome, got[2].Outcome, got[3].Outcome})
	require.Equal(t, "127.0.0.1", got[2].Address)
	for _, r := range p.audit("?pageSize=500") {
		text, err := json.Marshal(r)
		require.NoError(t, err)
		require.NotContains(t, string(text), password)
		require.NotContains(t, string(text), "no such user", "it may be a password")
	}
}

func TestAuditExport(t *testing.T) {
	t.Parallel()
	p := start(t)
	for range 3 {
		require.Equal(t, 200, p.call(accounts.Admin, http.MethodPost, "/api/v1/tags/line/note/write", map[string]any{"value": "=1+1"}).status)
	}
	a := p.call(accounts.Admin, http.MethodGet, "/api/v1/audit/export?action=writeTag", nil)
	require.Equal(t, 200, a.status)
	rows, err := csv.NewReader(strings.NewReader(string(a.body))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 4)
	require.Equal(t, "id", rows[0][0])
	a = p.call(accounts.Admin, http.MethodGet, "/api/v1/audit/export?format=ndjson&action=writeTag&actor=admin", nil)
	require.Equal(t, "application/x-ndjson", a.header.Get("Content-Type"))
	lines := 0
	for s := bufio.NewScanner(strings.NewReader(string(a.body))); s.Scan(); lines++ {
		var r auditRecord
		require.NoError(t, json.Unmarshal(s.Bytes(), &r))
		require.Equal(t, "writeTag", r.Action)
	}
	require.Equal(t, 3, lines)
	a = p.call(accounts.Admin, http.MethodGet, "/api/v1/audit/export?action=writeTag&before="+rows[1][0], nil)
	older, err := csv.NewReader(strings.NewReader(string(a.body))).ReadAll()
	require.NoError(t, err)
	require.Equal(t, rows[2:], older[1:])
	for _, bad := range []string{"format=xml", "start=yesterday", "outcome=done", "before=x"} {
		require.Equal(t, 400, p.callWrong(accounts.Admin, http.MethodGet, "/api/v1/audit/export?"+bad, nil).status, bad)
	}

	a = p.call(accounts.Admin, http.MethodGet, "/api/v1/audit/verification", nil)
	report := a.object(t)
	require.Equal(t, true, report["intact"], "%s", a.body)
	head := report["head"].(map[string]any)
	known := "?seq=" + string(must(json.Marshal(head["seq"]))) + "&hash="
	require.Equal(t, true, p.call(accounts.Admin, http.MethodGet, "/api/v1/audit/verification"+known+head["hash"].(string), nil).object(t)["intact"])
	require.Equal(t, false, p.call(accounts.Admin, http.MethodGet, "/api/v1/audit/verification"+known+strings.Repeat("0", 64), nil).object(t)["intact"])
	require.Equal(t, 400, p.callWrong(accounts.Admin, http.MethodGet, "/api/v1/audit/verification?seq=1", nil).status)
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// stoppedStore is an audit store whose disk fills up.
type stoppedStore struct {
	*audit.Memory
	stopped atomic.Bool
}

func (s *stoppedStore) Append(ctx context.Context, entries []audit.Entry) (int64, error) {
	if s.stopped.Load() {
		return 0, errors.New("disk full")
	}
	return s.Memory.Append(ctx, entries)
}

func TestAuditStoreStops(t *testing.T) {
	t.Parallel()
	store := &stoppedStore{Memory: audit.NewMemory()}
	p := start(t, func(o *engine.Options) { o.Audit.Store = store })
	raised := p.raise("audit", alarms.Critical)
	p.token(accounts.Admin)
	store.stopped.Store(true)

	a := p.call(accounts.Admin, http.MethodPost, "/api/v1/tags/line/level/write", map[string]any{"value": "1"})
	require.Equal(t, 503, a.status)
	require.Equal(t, "AUDIT_UNAVAILABLE", a.object(t)["code"])
	require.Contains(t, a.object(t)["detail"], "audit log")
	api, ctx := p.rpc(accounts.Admin)
	_, err := api.WriteTag(ctx, &pb.WriteTagRequest{DriverId: "line", Address: "level", Value: "1"})
	require.Equal(t, codes.Unavailable, status.Code(err))
	got, err := p.Tags().Read("line.level")
	require.NoError(t, err)
	require.Equal(t, lineValues["level"], got.Sample.Value)

	require.Equal(t, 200, p.call(accounts.Operator, http.MethodPost, "/api/v1/alarms/"+raised.ID+"/acknowledge", map[string]any{}).status, "login and acknowledgement work")
	require.Equal(t, 200, p.call(accounts.Viewer, http.MethodGet, "/api/v1/tags", nil).status)
	store.stopped.Store(false)
	require.Eventually(t, func() bool { return len(p.audit("?action=acknowledgeAlarm&outcome=succeeded")) == 1 }, patience, 50*time.Millisecond)
}

func TestSessionsOverTheWire(t *testing.T) {
	t.Parallel()
	p := start(t)
	var mine, other grant
	p.login("operator", password).into(t, &mine)
	p.login("operator", password).into(t, &other)
	list := func(token, query string) (int, []map[string]any) {
		a := p.with(token, http.MethodGet, "/api/v1/auth/sessions"+query)
		var page struct{ Items []map[string]any }
		if a.status == 200 {
			a.into(t, &page)
		}
		return a.status, page.Items
	}
	code, own := list(mine.AccessToken, "")
	require.Equal(t, 200, code)
	require.Len(t, own, 2)
	require.Equal(t, "operator", own[0]["account"])
	require.Equal(t, "127.0.0.1", own[0]["address"])
	require.NotEqual(t, own[0]["current"], own[1]["current"])
	code, _ = list(mine.AccessToken, "?account=admin")
	require.Equal(t, 403, code)
	code, _ = list(mine.AccessToken, "?all=true")
	require.Equal(t, 403, code)
	admin := p.token(accounts.Admin)
	_, all := list(admin, "?all=true")
	require.Len(t, all, 3)
	_, of := list(admin, "?account=OPERATOR")
	require.Len(t, of, 2)

	adminSession := ""
	for _, s := range all {
		if s["account"] == "admin" {
			adminSession = s["id"].(string)
		}
	}
	path := "/api/v1/auth/sessions/"
	require.Equal(t, 404, p.with(mine.AccessToken, http.MethodDelete, path+adminSession).status, "not one's own")
	require.Equal(t, 404, p.with(admin, http.MethodDelete, path+"nothing").status)
	require.Equal(t, 403, p.with(mine.AccessToken, http.MethodDelete, "/api/v1/auth/sessions?account=admin").status)
	require.Equal(t, 204, p.with(mine.AccessToken, http.MethodDelete, "/api/v1/auth/sessions").status)
	require.Equal(t, 401, p.with(other.AccessToken, http.MethodGet, "/api/v1/tags").status)
	require.Equal(t, 200, p.with(mine.AccessToken, http.MethodGet, "/api/v1/tags").status)
	require.Equal(t, 204, p.with(admin, http.MethodDelete, "/api/v1/auth/sessions?account=operator").status)
	require.Equal(t, 401, p.with(mine.AccessToken, http.MethodGet, "/api/v1/tags").status)
	require.Equal(t, 401, p.refresh(mine.RefreshToken).status)
}

func TestChangePasswordOverTheWire(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.token(accounts.Operator)
	change := func(current, next string) answer {
		return p.call(accounts.Operator, http.MethodPost, "/api/v1/auth/password", map[string]any{"currentPassword": current, "newPassword": next})
	}
	for _, bad := range []answer{change("wrong", "a better choice"), change(password, "short"), change(password, "password2024"), change(password, "")} {
		require.Equal(t, 400, bad.status, "%s", bad.body)
	}
	require.Equal(t, 204, change(password, "a better choice").status)
	require.Equal(t, 401, p.login("operator", password).status)
	require.Equal(t, 200, p.login("operator", "a better choice").status)
	got := p.audit("?action=changePassword")
	require.Len(t, got, 5)
	for _, r := range got {
		require.Empty(t, r.After)
	}
	require.Equal(t, "succeeded", got[0].Outcome)
	require.Equal(t, "refused", got[4].Outcome)
}

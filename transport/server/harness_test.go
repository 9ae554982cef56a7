package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/internal/demo"
	"github.com/otkit/otkit/internal/pgtest"
	platformv1 "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/aasapi/aaspart"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests wait for most of their time.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	pgtest.Main(m, func() int {
		if err := goleak.Find(); err != nil {
			println(err.Error())
			return 1
		}
		return 0
	})
}

// password is the one of every account in these tests; an account's name is its role in lower case.
const password = "correct horse battery"

// platform is a running server with the demo plant and devices that a test can move.
type platform struct {
	t testing.TB
	*engine.Engine
	url    string
	dir    string       // the server's data directory
	client *http.Client // holds everything to the OpenAPI document
	line   *device      // driver line
	odd    *device      // driver oddDriver
	tokens map[accounts.Role]string
}

// oddDriver is a driver id that has to be encoded in a path.
const oddDriver = "plant 1:ü+%20#?"

var lineValues = map[string]tags.Value{
	"flag": tags.BoolValue(true), "count": tags.IntValue(math.MaxInt64 - 1), "level": tags.FloatValue(21.5),
	"note": tags.StringValue("häßlich \"quoted\" <b>"), "image": tags.BytesValue([]byte{0, 0xff, 0x10}),
	"fixed": tags.FloatValue(-0.25), "raw": tags.IntValue(100), "deaf": tags.IntValue(1),
}

func lineTags() []tags.Tag {
	rw := tags.ReadWrite
	return append([]tags.Tag{
		{Name: "line.flag", Address: "flag", DataType: tags.Bool, Access: rw},
		{Name: "line.count", Address: "count", DataType: tags.Int, Access: rw},
		{Name: "line.level", Address: "level", DataType: tags.Float, Access: rw, Unit: "%", Description: "Tank level", Min: tags.Ptr(0), Max: tags.Ptr(100)},
		{Name: "line.note", Address: "note", DataType: tags.String, Access: rw},
		{Name: "line.image", Address: "image", DataType: tags.Bytes, Access: rw},
		{Name: "line.fixed", Address: "fixed", DataType: tags.Float},
		{Name: "line.scaled", Address: "raw", DataType: tags.Float, Access: rw, Scale: 0.5, Offset: 10},
		{Name: "line.deaf", Address: "deaf", DataType: tags.Int, Access: rw},
		{Name: "line.empty", Address: "nowhere", DataType: tags.Float},
	}, oddTags("line")...)
}

// oddNames are tag names that a path, a query or a router could take for something else.
var oddNames = []string{
	"urn:example:tag:1", "https://example.com/tags/1?x=1&y=2#frag", "0173-1#02-AAO677#002", "100%", "a%2Fb", "a%20b",
	"1+1=2", "with blank", "semi;colon", "comma,comma", "Überdruck/Kühlwasser", "a/history", "history", "writes", "stream",
	"a:batchRead", "tags:batchRead", "a/b/write", "write", "drivers", "%", "?", "'\"<>", "日本", `back\slash`, "a//b", "tail/", "/head",
	"a.b", "...", "~_-", "%C3%28",
}

func oddTags(driver string) []tags.Tag {
	list := make([]tags.Tag, len(oddNames))
	for i, name := range oddNames {
		list[i] = tags.Tag{Name: name, Address: name, Driver: driver, DataType: tags.Int, Access: tags.ReadWrite}
	}
	return list
}

// start runs a platform until the test ends.
func start(t testing.TB, change ...func(*engine.Options)) *platform {
	t.Helper()
	p := &platform{t: t, line: newDevice(lineValues), odd: newDevice(map[string]tags.Value{"a/ü %2F": tags.IntValue(7)}), tokens: map[accounts.Role]string{}}
	for i, name := range oddNames {
		p.line.values[name] = tags.IntValue(int64(i))
	}
	plant, plantTags, err := demo.NewDriver(nil)
	require.NoError(t, err)
	away := newDevice(nil)
	away.down = true
	o := engine.Options{
		DataDir: t.TempDir(), Server: server.Options{Listen: "127.0.0.1:0", Version: "1.2.3"},
		AAS: aaspart.Options{Service: repository.Options{Now: func() time.Time { return time.UnixMicro(1) }}}, // versions of shells begin at 1
		Tags: tagspart.Options{Drivers: []tagspart.Driver{
			{ID: "line", Driver: p.line, Options: tags.DriverOptions{Type: "Scripted", ConfirmTimeout: 50 * time.Millisecond, Tags: lineTags()}},
			{ID: oddDriver, Driver: p.odd, Options: tags.DriverOptions{Tags: []tags.Tag{{Name: oddDriver + ".a/ü %2F", Address: "a/ü %2F", DataType: tags.Int, Access: tags.ReadWrite}}}},
			{ID: "away", Driver: away, Options: tags.DriverOptions{Tags: []tags.Tag{{Name: "away.valve", DataType: tags.Bool, Access: tags.ReadWrite}}}},
			{ID: demo.DriverID, Driver: plant, Options: tags.DriverOptions{Type: "Simulation", PollInterval: 50 * time.Millisecond, Tags: plantTags}},
		}},
	}
	o.Server.Access.RequestsPerPrincipal = -1 // tests and benchmarks ask as fast as they can
	o.Alarms.Drivers.Disabled = true          // away is down all the time: its alarm would come when a test takes long
	o.Accounts.Accounts, o.Accounts.Sessions = withAccounts(t)
	for _, c := range change {
		c(&o)
	}
	p.dir = o.DataDir
	p.Engine, err = engine.New(t.Context(), o)
	require.NoError(t, err)
	p.Start()
	p.url = "http://" + p.Addr().String()
	transport := &http.Transport{MaxIdleConnsPerHost: 8}
	p.client = &http.Client{Transport: judge(t, transport)}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		p.halt()
	})
	p.awaitValues(o)
	return p
}

// withAccounts returns stores with an account for each role, whose passwords cost little to check.
func withAccounts(t testing.TB) (accounts.Store, accounts.SessionStore) {
	t.Helper()
	memory := accounts.NewMemory()
	service, err := accounts.New(memory, memory, accounts.Options{Hash: accounts.HashParams{MemoryKiB: 8, Passes: 1}})
	require.NoError(t, err)
	for _, role := range []accounts.Role{accounts.Viewer, accounts.Operator, accounts.Admin} {
		require.NoError(t, service.Add(t.Context(), strings.ToLower(string(role)), password, role))
	}
	return memory, memory
}

// patience ends a wait that hangs. How long something takes says nothing on a loaded machine.
const patience = time.Minute

// halt stops the server, which must not need all of its time.
func (p *platform) halt() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(p.t, p.Close(ctx))
	require.NoError(p.t, ctx.Err())
}

// awaitValues waits until every tag that has a value has been read.
func (p *platform) awaitValues(o engine.Options) {
	p.t.Helper()
	for _, d := range o.Tags.Drivers {
		for _, tag := range d.Options.Tags {
			if d.ID == "away" || tag.Name == "line.empty" {
				continue
			}
			require.Eventually(p.t, func() bool {
				s, err := p.Tags().Read(tag.Name)
				return err == nil && s.Sample.Quality == tags.Good
			}, patience, time.Millisecond, tag.Name)
		}
	}
}

// nobody calls without a token.
const nobody accounts.Role = ""

// token logs an account of the role in, once.
func (p *platform) token(role accounts.Role) string {
	p.t.Helper()
	if role == nobody {
		return ""
	}
	if p.tokens[role] == "" {
		a := p.call(nobody, http.MethodPost, "/api/v1/auth/login", map[string]any{"username": strings.ToLower(string(role)), "password": password})
		require.Equal(p.t, http.StatusOK, a.status, "%s", a.body)
		p.tokens[role] = a.object(p.t)["accessToken"].(string)
	}
	return p.tokens[role]
}

// answer is a whole answer.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// object returns the body as an object; numbers stay as they were written.
func (a answer) object(t testing.TB) map[string]any {
	t.Helper()
	object, ok := decoded(t, a.body).(map[string]any)
	require.True(t, ok, "%s", a.body)
	return object
}

// into decodes the body.
func (a answer) into(t testing.TB, v any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(a.body, v), "%s", a.body)
}

func decoded(t testing.TB, body []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	require.NoError(t, dec.Decode(&v), "%s", body)
	return v
}

// call makes a request that keeps the contract. A body that is no string is sent as JSON.
func (p *platform) call(role accounts.Role, method, path string, body any) answer {
	p.t.Helper()
	return p.do(p.request(p.t.Context(), role, method, path, body))
}

// callWrong makes a request that breaks the contract on purpose.
func (p *platform) callWrong(role accounts.Role, method, path string, body any) answer {
	p.t.Helper()
	return p.do(p.request(wrong(p.t.Context()), role, method, path, body))
}

func (p *platform) request(ctx context.Context, role accounts.Role, method, path string, body any) *http.Request {
	p.t.Helper()
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		content = strings.NewReader(b)
	default:
		encoded, err := json.Marshal(b)
		require.NoError(p.t, err)
		content = bytes.NewReader(encoded)
	}
	r, err := http.NewRequestWithContext(ctx, method, p.url+path, content)
	require.NoError(p.t, err)
	if content != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if role != nobody {
		r.Header.Set("Authorization", "Bearer "+p.token(role))
	}
	return r
}

func (p *platform) do(r *http.Request) answer {
	p.t.Helper()
	resp, err := p.client.Do(r)
	require.NoError(p.t, err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	require.NoError(p.t, err)
	return answer{resp.StatusCode, resp.Header, body}
}

// requireProblem checks an error body as a client reads it, and gives it.
func requireProblem(t testing.TB, a answer, status int, code string) map[string]any {
	t.Helper()
	require.Equal(t, status, a.status, "%s", a.body)
	require.Equal(t, "application/problem+json", a.header.Get("Content-Type"))
	require.Equal(t, "nosniff", a.header.Get("X-Content-Type-Options"))
	body := a.object(t)
	require.Equal(t, "about:blank", body["type"])
	require.Equal(t, http.StatusText(status), body["title"])
	require.Equal(t, json.Number(jsonText(t, status)), body["status"])
	require.Equal(t, code, body["code"], "%s", a.body)
	require.NotEmpty(t, body["detail"])
	return body
}

func jsonText(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

// rpc connects by gRPC; calls carry the token of the role.
func (p *platform) rpc(role accounts.Role) (platformv1.PlatformApiClient, context.Context) {
	p.t.Helper()
	return platformv1.NewPlatformApiClient(p.conn()), p.as(p.t.Context(), role)
}

func (p *platform) conn(options ...grpc.DialOption) *grpc.ClientConn {
	p.t.Helper()
	conn, err := grpc.NewClient(p.Addr().String(), append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (p *platform) as(ctx context.Context, role accounts.Role) context.Context {
	p.t.Helper()
	if role == nobody {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+p.token(role))
}

package derived_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/derived"
)

// pushed is a driver whose readings tests push. What is written comes back.
type pushed struct {
	mu     sync.Mutex
	emit   func(i int, r tags.Reading)
	index  map[string]int
	newest map[string]tags.Reading
}

func (p *pushed) Unpolled()                     {}
func (p *pushed) Connect(context.Context) error { return nil }
func (p *pushed) Close() error                  { return nil }
func (p *pushed) Read(context.Context, []tags.Point, []tags.Reading) error {
	panic("it is not polled")
}

func (p *pushed) Write(_ context.Context, items []tags.WriteItem, _ []error) error {
	for _, item := range items {
		p.set(item.Point.Address, tags.Reading{Value: item.Value, Quality: tags.Good, Time: time.Now()})
	}
	return nil
}

func (p *pushed) Subscribe(ctx context.Context, points []tags.Point, emit func(int, tags.Reading)) error {
	p.mu.Lock()
	p.emit, p.index = emit, make(map[string]int)
	for i, point := range points {
		p.index[point.Address] = i
		if r, ok := p.newest[point.Address]; ok {
			emit(i, r)
		}
	}
	p.mu.Unlock()
	<-ctx.Done()
	p.mu.Lock()
	p.emit = nil
	p.mu.Unlock()
	return nil
}

func (p *pushed) set(address string, r tags.Reading) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.newest == nil {
		p.newest = make(map[string]tags.Reading)
	}
	p.newest[address] = r
	if i, ok := p.index[address]; ok && p.emit != nil {
		p.emit(i, r)
	}
}

// plant is a tag engine with a driver "plc" and derived tags.
type plant struct {
	t       *testing.T
	engine  *tags.Engine
	plc     *pushed
	service *derived.Service
	known   map[string]bool
	refuse  atomic.Bool // what comes to define
}

func newPlant(t *testing.T, repository derived.Repository) *plant {
	engine, err := tags.New(tags.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close(context.Background())) })
	p := &plant{t: t, engine: engine, plc: &pushed{}}
	of := func(name string, kind tags.DataType) tags.Tag {
		return tags.Tag{Name: "plc." + name, Address: name, DataType: kind, Access: tags.ReadWrite, Unit: "m"}
	}
	a := of("a", tags.Float)
	a.Max = tags.Ptr(1e18)
	require.NoError(t, engine.AddDriver("plc", p.plc, tags.DriverOptions{Tags: []tags.Tag{a, of("b", tags.Float), of("n", tags.Int),
		of("m", tags.Int), of("on", tags.Bool), of("s", tags.String), of("raw", tags.Bytes)}}))
	p.open(repository)
	return p
}

func (p *plant) open(repository derived.Repository) {
	var err error
	p.known = make(map[string]bool)
	p.service, err = derived.New(p.t.Context(), p.engine, derived.Options{Repository: repository, Interval: time.Millisecond, Define: p.define})
	require.NoError(p.t, err)
	require.NoError(p.t, p.engine.AddDriver(derived.DriverID, p.service.Driver(), tags.DriverOptions{}))
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { p.service.Follow(ctx) })
	p.t.Cleanup(func() { cancel(); wg.Wait(); p.service.Close() })
}

var errRefused = errors.New("refused")

func (p *plant) define(list []tags.Tag) error {
	if p.refuse.Load() {
		return errRefused
	}
	gone := p.known
	p.known = make(map[string]bool)
	for _, t := range list {
		p.known[t.Name] = true
		delete(gone, t.Name)
	}
	for name := range gone {
		p.engine.RemoveTags(name)
	}
	return p.engine.DefineTags(list...)
}

var start = time.Now().Add(-time.Hour).UTC().Truncate(time.Second)

// set makes a tag of the plc Good, at a second after start.
func (p *plant) set(name string, v tags.Value, second int) {
	p.plc.set(name, tags.Reading{Value: v, Quality: tags.Good, Time: start.Add(time.Duration(second) * time.Second)})
}

func (p *plant) bad(name string, second int) {
	p.plc.set(name, tags.Reading{Quality: tags.Bad, Reason: tags.ReasonTimeout, Time: start.Add(time.Duration(second) * time.Second)})
}

func (p *plant) create(d derived.Definition) derived.Stored {
	p.t.Helper()
	stored, err := p.service.Create(p.t.Context(), d, false)
	require.NoError(p.t, err)
	return stored
}

// becomes waits until a tag is "value quality reason".
func (p *plant) becomes(name, want string) tags.Sample {
	p.t.Helper()
	var got tags.Sample
	require.Eventually(p.t, func() bool {
		s, err := p.engine.Read(name)
		got = s.Sample
		return err == nil && show(got) == want
	}, time.Minute, time.Millisecond, "%s should be %q", name, want)
	return got
}

func show(s tags.Sample) string {
	return fmt.Sprintf("%s %s %s", s.Value, s.Quality, s.Reason)
}

func TestExpressionsFollowTheirInputs(t *testing.T) {
	p := newPlant(t, nil)
	p.set("a", tags.FloatValue(2), 1)
	p.set("b", tags.FloatValue(3), 2)
	p.becomes("plc.b", "3 Good ")
	stored := p.create(derived.Definition{ID: "line.sum", Expression: `tag("plc.a") + tag("plc.b") * 10`, Unit: "l"})
	require.Equal(t, tags.Float, stored.Kind)
	require.Equal(t, []string{"plc.a", "plc.b"}, stored.Inputs)
	require.EqualValues(t, 1, stored.Revision)
	sample := p.becomes("line.sum", "32 Good ")
	require.Equal(t, start.Add(2*time.Second), sample.SourceTime, "the time is that of the newest input")

	p.create(derived.Definition{ID: "line.twice", Expression: `tag("line.sum") * 2`})
	p.create(derived.Definition{ID: "line.high", Expression: `tag("line.twice") > 100 and tag("plc.a") < 20`})
	p.becomes("line.high", "false Good ")
	p.set("a", tags.FloatValue(19), 3)
	p.becomes("line.sum", "49 Good ")
	p.set("b", tags.FloatValue(4), 4)
	p.becomes("line.twice", "118 Good ")
	p.becomes("line.high", "true Good ")

	p.bad("b", 5)
	p.becomes("line.sum", "59 Bad Timeout")
	p.becomes("line.high", "true Bad Timeout")
	p.set("b", tags.FloatValue(5), 6)
	p.becomes("line.sum", "69 Good ")
	p.plc.set("b", tags.Reading{Value: tags.FloatValue(6), Quality: tags.Uncertain, Reason: tags.ReasonStale, Time: start.Add(7 * time.Second)})
	p.becomes("line.high", "true Uncertain Stale")

	p.engine.RemoveTags("plc.b")
	p.becomes("line.high", "true Bad ConfigError")
	stored, err := p.service.Get("line.sum")
	require.NoError(t, err)
	require.Equal(t, `tag "plc.b" does not exist`, stored.Message)
	require.NoError(t, p.engine.DefineTags(tags.Tag{Name: "plc.b", Driver: "plc", Address: "b", DataType: tags.Float}))
	p.set("b", tags.FloatValue(7), 8)
	p.becomes("line.high", "true Good ")
}

func TestWhatExpressionsGive(t *testing.T) {
	p := newPlant(t, nil)
	p.set("a", tags.FloatValue(2.5), 1)
	p.set("n", tags.IntValue(6), 1)
	p.set("m", tags.IntValue(1<<62), 1)
	p.set("on", tags.BoolValue(true), 1)
	p.set("s", tags.StringValue("Run"), 1)
	p.bad("b", 2)
	p.becomes("plc.s", "Run Good ")
	p.becomes("plc.b", " Bad Timeout")
	for expression, want := range map[string]string{
		`tag("plc.n") / 4`:                                        "1.5 Good ",
		`tag("plc.n") + 4`:                                        "10 Good ",
		`tag("plc.n") % 4`:                                        "2 Good ",
		`-tag("plc.n")`:                                           "-6 Good ",
		`tag("plc.n") / 0`:                                        " Bad TypeMismatch",
		`tag("plc.n") % 0`:                                        " Bad TypeMismatch",
		`tag("plc.m") + tag("plc.m")`:                             " Bad TypeMismatch",
		`tag("plc.m") * 2`:                                        " Bad TypeMismatch",
		`0 - tag("plc.m") - tag("plc.m")`:                         "-9223372036854775808 Good ",
		`tag("plc.m") * -2`:                                       "-9223372036854775808 Good ",
		`tag("plc.m") + 1 > tag("plc.m")`:                         "true Good ",
		`tag("plc.m") + 1 == float(tag("plc.m"))`:                 "false Good ",
		`tag("plc.a") ** 2`:                                       "6.25 Good ",
		`pow(tag("plc.a"), 10000)`:                                " Bad TypeMismatch",
		`sqrt(-tag("plc.a"))`:                                     " Bad TypeMismatch",
		`round(tag("plc.a"))`:                                     "3 Good ",
		`round(tag("plc.a") / 3, 2)`:                              "0.83 Good ",
		`floor(tag("plc.a")) + ceil(tag("plc.a"))`:                "5 Good ",
		`min(tag("plc.a"), tag("plc.n"), 4)`:                      "2.5 Good ",
		`max(tag("plc.n"), 4)`:                                    "6 Good ",
		`clamp(tag("plc.n"), 0, 5)`:                               "5 Good ",
		`abs(-tag("plc.a"))`:                                      "2.5 Good ",
		`scale(tag("plc.a"), 0, 10, 0, 100)`:                      "25 Good ",
		`bit(tag("plc.n"), 1) and not bit(tag("plc.n"), 0)`:       "true Good ",
		`tag("plc.on") ? "on" : "off"`:                            "on Good ",
		`lower(tag("plc.s")) + "ning"`:                            "running Good ",
		`tag("plc.s") == "Run" and tag("plc.s") matches "^R"`:     "true Good ",
		`1 < tag("plc.a") + 1 < 4`:                                "true Good ",
		`let x = tag("plc.a") * 2; x * x`:                         "25 Good ",
		`tag("plc.on") || tag("plc.b") > 1`:                       "true Good ",
		`!tag("plc.on") || tag("plc.b") > 1`:                      " Bad Timeout",
		`default(tag("plc.b"), 7)`:                                "7 Good ",
		`default("plc.a", 7)`:                                     "2.5 Good ",
		`default(tag("plc.a"), tag("plc.b"))`:                     "2.5 Good ",
		`default(tag("plc.b"), tag("plc.a"))`:                     "2.5 Good ",
		`default("plc.b", default("plc.b", tag("plc.a")))`:        "2.5 Good ",
		`1 < default("plc.b", tag("plc.a")) < 3`:                  "true Good ",
		`default(tag("plc.n"), 1.5) * 2`:                          "12 Good ",
		`default(tag("plc.n"), 1) * 2`:                            "12 Good ",
		`good("plc.b") ? tag("plc.b") : tag("plc.a")`:             "2.5 Good ",
		`quality("plc.b")`:                                        "Bad Good ",
		`delta("plc.a")`:                                          " Bad WaitingForData",
		`string(tag("plc.n")) + "/" + string(tag("plc.a"))`:       "6/2.5 Good ",
		`int(tag("plc.a")) + int("4")`:                            "6 Good ",
		`tag("plc.on") == true`:                                   "true Good ",
		`len(tag("plc.s"))`:                                       "3 Good ",
		`good("plc.raw")`:                                         "false Good ",
		`tag("plc.s") + tag("plc.s") contains "nRu"`:              "true Good ",
		`(tag("plc.on") ? 1 : tag("plc.a")) + 0.5`:                "1.5 Good ",
		`if tag("plc.n") > 5 { tag("plc.a") } else { float(0) } `: "2.5 Good ",
	} {
		result, err := p.service.Try(derived.Definition{Expression: expression})
		require.NoError(t, err, expression)
		require.Equal(t, want, show(result.Sample), "%s: %s", expression, result.Message)
	}
}

func TestExpressionsThatAreRefused(t *testing.T) {
	p := newPlant(t, nil)
	for expression, want := range map[string]string{
		`1 + 2`:                                  "uses no tag",
		`tag("plc.a") +`:                         "unexpected token",
		`default(tag("plc.a"), nil)`:             "nil is not supported",
		`tag("plc.s") * 2`:                       "a number is needed, not a String",
		`tag("plc.on") < 1`:                      "a Bool cannot be compared with a Int so",
		`tag("plc.a") ? 1 : 2`:                   "non-bool expression",
		`tag("plc.x")`:                           `tag "plc.x" does not exist`,
		`tag("plc." + "a")`:                      "needs the name of a tag as a text",
		`tag(plc.a)`:                             "are not supported",
		`map(1..1000000, # * 2)`:                 "not supported",
		`[1, 2, 3] == tag("plc.a")`:              "are not supported",
		`tag("plc.a") in 1..3`:                   "not supported",
		`reduce(1..9, #acc + #, 0)`:              "not supported",
		`now() > tag("plc.a")`:                   "the function now is not known",
		`$env + tag("plc.a")`:                    "$env is not known",
		`tag("plc.a") + $add(1)`:                 "is not known",
		`speed * tag("plc.a")`:                   "unknown name speed",
		`bit(tag("plc.a"), 1)`:                   "an Int is needed, not a Float",
		`abs(tag("plc.a"), 1)`:                   "needs 1 arguments, not 2",
		`round(abs(tag("plc.s")))`:               "a number is needed, not a String",
		`tag("plc.raw")`:                         "which expressions cannot use",
		`default(tag("plc.a"), "x")`:             "a String cannot stand for a Float",
		`default(tag("plc.a") + 1, 2)`:           "needs the name of a tag",
		`tag("plc.on") ? 1 : tag("plc.s")`:       "the type of the result is not known",
		`rate("plc.s")`:                          "needs a tag of type Int or Float",
		`tag("plc.s") matches "("`:               "missing closing",
		`tag("plc.a")` + strings(" + 1", 600):    "exceeds maximum",
		`tag("plc.a")` + strings(" + 1.0", 1200): "at most 4096",
	} {
		_, err := p.service.Try(derived.Definition{Expression: expression})
		require.ErrorIs(t, err, derived.ErrInvalid, expression)
		require.Contains(t, err.Error(), want, expression)
	}
	_, err := p.service.Create(t.Context(), derived.Definition{ID: "x", Expression: `tag("plc.a")`, DataType: tags.Int}, false)
	require.ErrorContains(t, err, "use round, floor, ceil or int")
	_, err = p.service.Create(t.Context(), derived.Definition{ID: "plc.a", Expression: `tag("plc.b")`}, false)
	require.ErrorIs(t, err, derived.ErrExists)
	_, err = p.service.Create(t.Context(), derived.Definition{ID: "x", Expression: `tag("plc.a")`, Target: "plc.a"}, false)
	require.ErrorIs(t, err, derived.ErrInvalid)
}

func strings(s string, n int) (all string) {
	for range n {
		all += s
	}
	return all
}

func TestCyclesAreRefused(t *testing.T) {
	p := newPlant(t, nil)
	p.create(derived.Definition{ID: "a", Expression: `tag("plc.a") + 1`})
	p.create(derived.Definition{ID: "b", Expression: `tag("a") + 1`})
	p.create(derived.Definition{ID: "c", Target: "b"})
	_, err := p.service.Replace(t.Context(), derived.Definition{ID: "a", Expression: `tag("c") + 1`}, false, nil)
	require.ErrorIs(t, err, derived.ErrCycle)
	require.Contains(t, err.Error(), "→")
	_, err = p.service.Create(t.Context(), derived.Definition{ID: "self", Expression: `tag("self")`}, true)
	require.ErrorIs(t, err, derived.ErrCycle)
	p.set("a", tags.FloatValue(1), 1)
	p.becomes("c", "3 Good ")
}

// Two engines that share the repository may each add a half of a cycle at the same time.
func TestACycleOfTwoEnginesEndsNeither(t *testing.T) {
	repository := derived.NewMemory()
	body := func(id, of string) []byte {
		return []byte(fmt.Sprintf(`{"id":%q,"expression":"tag(\"%s\") + 1.0","kind":"Float"}`, id, of))
	}
	_, err := repository.Change(t.Context(), []derived.Document{{Kind: derived.Kind, ID: "a", Revision: 1, Body: body("a", "b")},
		{Kind: derived.Kind, ID: "b", Revision: 1, Body: body("b", "a")}, {Kind: derived.Kind, ID: "c", Revision: 1, Body: body("c", "plc.a")}}, nil)
	require.NoError(t, err)
	p := newPlant(t, repository)
	p.set("a", tags.FloatValue(1), 1)
	p.becomes("c", "2 Good ")
	_, err = p.service.Get("a")
	require.ErrorIs(t, err, derived.ErrNotFound)
	require.NoError(t, p.service.Delete(t.Context(), "a", nil), "what is left out can be removed")
}

func TestDeltaAndRate(t *testing.T) {
	p := newPlant(t, nil)
	p.create(derived.Definition{ID: "delta", Expression: `delta("plc.n")`})
	p.create(derived.Definition{ID: "rate", Expression: `rate("plc.n")`})
	p.set("n", tags.IntValue(10), 1)
	p.becomes("plc.n", "10 Good ")
	p.becomes("rate", " Bad WaitingForData")
	p.set("n", tags.IntValue(16), 5)
	p.becomes("rate", "1.5 Good ")
	p.becomes("delta", "6 Good ")
	p.bad("n", 6)
	p.becomes("rate", "1.5 Bad Timeout")
	p.set("n", tags.IntValue(6), 10)
	p.becomes("rate", "-2 Good ")
	p.set("n", tags.IntValue(7), 3) // the clock of the device was set back
	p.becomes("delta", "1 Good ")
	p.becomes("rate", "-2 Bad WaitingForData")
	p.set("n", tags.IntValue(9), 4)
	p.becomes("rate", "2 Good ")
	p.becomes("delta", "2 Good ")
}

// A tag that gets another expression is another signal: its changes are not computed from values of the old one.
func TestDeltaBeginsAnewWithAnotherExpression(t *testing.T) {
	p := newPlant(t, nil)
	p.create(derived.Definition{ID: "x", Expression: `tag("plc.n")`})
	p.create(derived.Definition{ID: "delta", Expression: `delta("x")`})
	p.set("n", tags.IntValue(10), 1)
	p.becomes("x", "10 Good ")
	p.set("n", tags.IntValue(16), 5)
	p.becomes("delta", "6 Good ")
	_, err := p.service.Replace(t.Context(), derived.Definition{ID: "x", Expression: `tag("plc.n")`, Unit: "m"}, false, nil)
	require.NoError(t, err)
	p.becomes("delta", "6 Good ")
	_, err = p.service.Replace(t.Context(), derived.Definition{ID: "x", Expression: `tag("plc.n") * 1000`}, false, nil)
	require.NoError(t, err)
	p.becomes("x", "16000 Good ")
	p.becomes("delta", "6 Bad WaitingForData")
	p.set("n", tags.IntValue(17), 6)
	p.becomes("delta", "1000 Good ")
}

func TestAliases(t *testing.T) {
	p := newPlant(t, nil)
	stored := p.create(derived.Definition{ID: "press", Target: "plc.a"})
	require.Equal(t, tags.Float, stored.Kind)
	require.Equal(t, tags.ReadWrite, stored.Access)
	p.create(derived.Definition{ID: "again", Target: "press", Description: "an alias of an alias"})
	p.create(derived.Definition{ID: "bytes", Target: "plc.raw"})
	p.create(derived.Definition{ID: "computed", Expression: `tag("plc.a")`})
	p.set("a", tags.FloatValue(1), 1)
	p.becomes("again", "1 Good ")
	p.plc.set("raw", tags.Reading{Value: tags.BytesValue([]byte{1}), Quality: tags.Good})
	p.becomes("bytes", "AQ== Good ")
	again, err := p.engine.Read("again")
	require.NoError(t, err)
	require.Equal(t, "m", again.Tag.Unit)

	write, err := p.engine.Write(t.Context(), tags.WriteRequest{Tag: "again", Text: "70.5", Confirm: true})
	require.NoError(t, err)
	require.Equal(t, "plc.a", write.Tag)
	require.Eventually(t, func() bool {
		w, err := p.engine.GetWrite(t.Context(), write.ID)
		return err == nil && w.State == tags.WriteConfirmed
	}, time.Minute, time.Millisecond)
	p.becomes("again", "70.5 Good ")
	_, err = p.engine.Write(t.Context(), tags.WriteRequest{Tag: "again", Text: "2e18"})
	require.ErrorIs(t, err, tags.ErrInvalidValue)
	_, err = p.engine.Write(t.Context(), tags.WriteRequest{Tag: "computed", Text: "1"})
	require.ErrorIs(t, err, tags.ErrReadOnly)

	require.NoError(t, p.engine.DefineTags(tags.Tag{Name: "plc.a", Driver: "plc", Address: "n", DataType: tags.Int, Unit: "s"}))
	require.Eventually(t, func() bool {
		s, err := p.engine.Read("again")
		return err == nil && s.Tag.DataType == tags.Int && s.Tag.Access == tags.ReadOnly && s.Tag.Unit == "s"
	}, time.Minute, time.Millisecond, "the alias follows the definition of its target")
	_, err = p.engine.Write(t.Context(), tags.WriteRequest{Tag: "again", Text: "1"})
	require.ErrorIs(t, err, tags.ErrReadOnly)
}

func TestDefinitionsSurviveARestart(t *testing.T) {
	repository := derived.NewMemory()
	p := newPlant(t, repository)
	p.create(derived.Definition{ID: "b", Expression: `tag("plc.a") + 1`})
	p.create(derived.Definition{ID: "a", Expression: `tag("b") + 1`, Max: tags.Ptr(5)})
	p.create(derived.Definition{ID: "c", Target: "a"})
	p.create(derived.Definition{ID: "d", Expression: `tag("plc.a")`})
	_, err := p.service.Replace(t.Context(), derived.Definition{ID: "b", Expression: `tag("plc.a") + 2`}, false, func(revision int64) error {
		require.EqualValues(t, 1, revision)
		return nil
	})
	require.NoError(t, err)
	_, err = p.service.Replace(t.Context(), derived.Definition{ID: "b", Expression: `tag("plc.a") + 3`}, false, func(int64) error { return fault.New(fault.Conflict, "X", "x") })
	require.Error(t, err)
	require.NoError(t, p.service.Delete(t.Context(), "d", nil))
	require.ErrorIs(t, p.service.Delete(t.Context(), "d", nil), derived.ErrNotFound)

	again := newPlant(t, repository)
	again.set("a", tags.FloatValue(1), 1)
	again.becomes("c", "4 Good ")
	page, err := again.service.List(derived.ListQuery{PageSize: 2})
	require.NoError(t, err)
	require.Equal(t, 3, page.Total)
	require.Equal(t, []string{"a", "b"}, []string{page.Items[0].ID, page.Items[1].ID})
	require.EqualValues(t, 2, page.Items[1].Revision)
	require.Equal(t, []string{"a"}, again.service.Users("b"))

	// Another engine with the same repository changes something.
	require.NoError(t, p.service.Delete(t.Context(), "c", nil))
	p.create(derived.Definition{ID: "e", Expression: `tag("plc.a") * 10`})
	again.becomes("e", "10 Good ")
	require.Eventually(t, func() bool { _, err := again.engine.Read("c"); return err != nil }, time.Minute, time.Millisecond)
}

// A definition whose tag cannot be defined leaves what there was. A removal is carried out later.
func TestADefinitionThatCannotBeDefinedIsTakenBack(t *testing.T) {
	repository := derived.NewMemory()
	p := newPlant(t, repository)
	p.set("a", tags.FloatValue(2), 1)
	was := p.create(derived.Definition{ID: "x", Target: "plc.a"})
	p.refuse.Store(true)
	for _, d := range []derived.Definition{{ID: "x", Target: "plc.b", Unit: "km"}, {ID: "x", Expression: `tag("plc.a") * 2`, Unit: "km"}} {
		_, err := p.service.Replace(t.Context(), d, false, nil)
		require.ErrorIs(t, err, errRefused)
	}
	_, err := p.service.Create(t.Context(), derived.Definition{ID: "y", Expression: `tag("plc.a") * 2`}, false)
	require.ErrorIs(t, err, errRefused)
	now, err := p.service.Get("x")
	require.NoError(t, err)
	require.Equal(t, was.Definition, now.Definition)
	require.Equal(t, was.CreatedAt, now.CreatedAt)
	require.Greater(t, now.Revision, was.Revision)
	require.Equal(t, tags.ReadWrite, now.Access)
	_, err = p.service.Get("y")
	require.ErrorIs(t, err, derived.ErrNotFound)
	docs, err := repository.Documents(t.Context(), derived.Kind)
	require.NoError(t, err)
	require.Len(t, docs, 1)
	require.NotContains(t, string(docs[0].Body), "km")

	require.NoError(t, p.service.Delete(t.Context(), "x", nil))
	_, err = p.engine.Read("x")
	require.NoError(t, err)
	p.refuse.Store(false)
	require.Eventually(t, func() bool {
		_, err := p.engine.Read("x")
		return errors.Is(err, tags.ErrTagNotFound)
	}, time.Minute, time.Millisecond)
}

// What a newcomer writes wrong is answered in words of the page, not of Go.
func TestErrorsOfExpressionsSayHowToWriteThem(t *testing.T) {
	p := newPlant(t, nil)
	for text, want := range map[string]string{
		`tag(plc.a)`:                    `the name of a tag is a text in quotes: tag("line1.speed")`,
		`tag("plc.a") +`:                "the expression ends too early",
		`tag("plc.a") && tag("plc.on")`: "Float",
	} {
		_, err := p.service.Try(derived.Definition{Expression: text})
		require.ErrorIs(t, err, derived.ErrInvalid, text)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "float64")
		require.NotContains(t, err.Error(), "bool")
	}
}

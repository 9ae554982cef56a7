package silences_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/fault"
)

var noon = time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)

// clock is a time that tests set.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newSilences(t testing.TB, store silences.Store, now func() time.Time) *silences.Service {
	t.Helper()
	s, err := silences.New(store, silences.Options{Now: now})
	require.NoError(t, err)
	return s
}

func wanted() silences.Silence {
	return silences.Silence{
		SourceType: "Sensor", Pattern: "Line-*", Reason: "pump exchange", StartsAt: noon, EndsAt: noon.Add(time.Hour),
	}
}

func TestSilenceCreate(t *testing.T) {
	c := &clock{noon.Add(-time.Minute)}
	s := newSilences(t, silences.NewMemory(), c.now)
	in := wanted()
	in.ID, in.CreatedAt = "mine", noon.Add(time.Hour)
	in.StartsAt = noon.In(time.FixedZone("", 7200))
	got, err := s.Create(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, "Admin", got.CreatedBy)
	require.Equal(t, c.at, got.CreatedAt)
	require.Equal(t, noon, got.StartsAt)
	_, err = uuid.Parse(got.ID)
	require.NoError(t, err)
	all, err := s.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []silences.Silence{got}, all)
}

func TestSilenceCreateRefuses(t *testing.T) {
	s := newSilences(t, silences.NewMemory(), time.Now)
	for field, change := range map[string]func(*silences.Silence){
		"sourceType":      func(s *silences.Silence) { s.SourceType = "" },
		"sourceIdPattern": func(s *silences.Silence) { s.Pattern = " \t" },
		"reason":          func(s *silences.Silence) { s.Reason = strings.Repeat("ä", silences.MaxReason+1) },
		"createdBy":       func(s *silences.Silence) { s.CreatedBy = strings.Repeat("x", silences.MaxCreatedBy+1) },
		"startsAt":        func(s *silences.Silence) { s.EndsAt = s.StartsAt },
		"endsAt":          func(s *silences.Silence) { s.EndsAt = time.Time{} },
	} {
		in := wanted()
		change(&in)
		_, err := s.Create(t.Context(), in)
		require.ErrorIs(t, err, silences.ErrInvalid)
		e, _ := fault.From(err)
		require.Len(t, e.Fields, 1, field)
		require.Equal(t, field, e.Fields[0].Field)
	}
	_, err := s.Create(t.Context(), silences.Silence{})
	e, _ := fault.From(err)
	require.Len(t, e.Fields, 5, "every member that is missing is named")
}

func TestSilenceActivity(t *testing.T) {
	c := &clock{}
	s := newSilences(t, silences.NewMemory(), c.now)
	_, err := s.Create(t.Context(), wanted())
	require.NoError(t, err)
	for at, want := range map[time.Time]int{
		noon.Add(-time.Microsecond): 0, noon: 1, noon.Add(time.Hour - time.Microsecond): 1, noon.Add(time.Hour): 0,
	} {
		c.at = at
		active, err := s.Active(t.Context())
		require.NoError(t, err)
		require.Len(t, active, want, "at %v", at)
		index, err := s.Index(t.Context())
		require.NoError(t, err)
		_, found := index.Match("sensor", "Line-1", at)
		require.Equal(t, want == 1, found, "at %v", at)
	}
}

func TestSilenceDelete(t *testing.T) {
	s := newSilences(t, silences.NewMemory(), time.Now)
	made, err := s.Create(t.Context(), wanted())
	require.NoError(t, err)
	for _, id := range []string{"", "7", uuid.NewString(), "{" + made.ID + "}", "urn:uuid:" + made.ID} {
		require.ErrorIs(t, s.Delete(t.Context(), id), silences.ErrNotFound, id)
	}
	require.NoError(t, s.Delete(t.Context(), strings.ToUpper(made.ID)))
	require.ErrorIs(t, s.Delete(t.Context(), made.ID), silences.ErrNotFound)
}

func TestIndexSeesChanges(t *testing.T) {
	c := &clock{noon}
	store := silences.NewMemory()
	mine, other := newSilences(t, store, c.now), newSilences(t, store, c.now)
	silenced := func() bool {
		index, err := mine.Index(t.Context())
		require.NoError(t, err)
		_, found := index.Match("Sensor", "Line-1", noon)
		return found
	}
	require.False(t, silenced())
	made, err := mine.Create(t.Context(), wanted())
	require.NoError(t, err)
	require.True(t, silenced(), "own changes count at once")
	require.NoError(t, other.Delete(t.Context(), made.ID))
	c.at = noon.Add(time.Second)
	require.False(t, silenced(), "those of others after a moment")
}

func TestIndexNamesTheFirst(t *testing.T) {
	make := func(id, kind, pattern string) silences.Silence {
		return silences.Silence{ID: id, SourceType: kind, Pattern: pattern, StartsAt: noon, EndsAt: noon.Add(time.Hour)}
	}
	index := silences.NewIndex([]silences.Silence{
		make("ended", "*", "*"), make("b", "*", "*"), make("c", "Sensor", "Pump-1"), make("d", "SENSOR", "Pump-*"), make("e", "sensor", "*-1"),
	}[1:])
	got, ok := index.Match("sEnsor", "Pump-1", noon)
	require.True(t, ok)
	require.Equal(t, "b", got.ID)
	_, ok = silences.NewIndex([]silences.Silence{make("x", "Equipment", "*")}).Match("Sensor", "a", noon)
	require.False(t, ok)
}

// TestIndexAgrees compares the index with trying every silence.
func TestIndexAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	word := func(letters string, most int) string {
		var b strings.Builder
		for range r.IntN(most + 1) {
			b.WriteByte(letters[r.IntN(len(letters))])
		}
		return b.String()
	}
	var all []silences.Silence
	for i := range 300 {
		all = append(all, silences.Silence{
			ID: fmt.Sprint(i), SourceType: []string{"Sensor", "equipment", "*"}[r.IntN(3)], Pattern: word("ab*", 5),
			StartsAt: noon.Add(time.Duration(r.IntN(3)-1) * time.Hour), EndsAt: noon.Add(time.Hour),
		})
	}
	index := silences.NewIndex(all)
	require.Equal(t, 300, index.Len())
	for range 3000 {
		kind, source := []string{"sensor", "Equipment", "Robot"}[r.IntN(3)], word("abc", 6)
		want := ""
		for _, s := range all {
			if (s.SourceType == "*" || strings.EqualFold(s.SourceType, kind)) && s.ActiveAt(noon) && silences.CompilePattern(s.Pattern).Match(source) {
				want = s.ID
				break
			}
		}
		got, _ := index.Match(kind, source, noon)
		require.Equal(t, want, got.ID, "%s %s", kind, source)
	}
}

// BenchmarkSilences matches 20,000 alarms against 1,000 silences in each round.
func BenchmarkSilences(b *testing.B) {
	for _, form := range []string{"Line-%d-Pump", "Line-%d-*", "*-%d-Pump", "Line-*-%d-Pump", "*-%d-*"} {
		b.Run(form, func(b *testing.B) {
			var all []silences.Silence
			for i := range 1000 {
				all = append(all, silences.Silence{
					ID: fmt.Sprint(i), SourceType: "Equipment", Pattern: fmt.Sprintf(form, 100_000+i), EndsAt: noon.Add(time.Hour),
				})
			}
			sources := make([]string, 20_000)
			for i := range sources {
				sources[i] = fmt.Sprintf("Line-%d-Pump", i)
			}
			for b.Loop() {
				index := silences.NewIndex(all)
				for _, s := range sources {
					if _, ok := index.Match("equipment", s, noon); ok {
						b.Fatal("matches")
					}
				}
			}
		})
	}
}

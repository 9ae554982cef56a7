package predictive

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func hour(n int) time.Time { return epoch.Add(time.Duration(n) * time.Hour) }

// spans returns lives as hours: start (-1 for unknown), from, end, and how they ended.
func spans(lives []life) (list [][4]int) {
	for _, l := range lives {
		s := [4]int{-1, int(l.from.Sub(epoch).Hours()), int(l.end.Sub(epoch).Hours()), 0}
		if !l.start.IsZero() {
			s[0] = int(l.start.Sub(epoch).Hours())
		}
		switch {
		case l.failed:
			s[3] = 1
		case l.open:
			s[3] = 2
		}
		list = append(list, s)
	}
	return list
}

func TestLives(t *testing.T) {
	const censored, failed, open = 0, 1, 2
	fail := func(start, end int) Failure {
		f := Failure{Component: "Seal", Start: hour(start)}
		if end > 0 {
			f.End = hour(end)
		}
		return f
	}
	replace := func(at int, reason Reason) Replacement {
		return Replacement{Component: "Seal", At: hour(at), Reason: reason}
	}
	for name, test := range map[string]struct {
		records
		want [][4]int
	}{
		"nothing is known": {want: [][4]int{{-1, 0, 1000, open}}},
		"failure and repair": {records{failures: []Failure{fail(300, 310)}},
			[][4]int{{-1, 0, 300, failed}, {310, 310, 1000, open}}},
		"a preventive replacement is no failure": {records{replacements: []Replacement{replace(300, ReasonPreventive)}},
			[][4]int{{-1, 0, 300, censored}, {300, 300, 1000, open}}},
		"a replacement for a failure is one": {records{replacements: []Replacement{replace(300, ReasonFailure)}},
			[][4]int{{-1, 0, 300, failed}, {300, 300, 1000, open}}},
		"the replacement repairs the failure": {records{[]Failure{fail(300, 310)}, []Replacement{replace(312, ReasonFailure)}},
			[][4]int{{-1, 0, 300, failed}, {312, 312, 1000, open}}},
		"and one whose end is not known": {records{[]Failure{fail(300, 0)}, []Replacement{replace(350, ReasonFailure)}},
			[][4]int{{-1, 0, 300, failed}, {350, 350, 1000, open}}},
		"a later one ends another life": {records{[]Failure{fail(300, 310)}, []Replacement{replace(500, ReasonPreventive)}},
			[][4]int{{-1, 0, 300, failed}, {310, 310, 500, censored}, {500, 500, 1000, open}}},
		"an alarm that flutters is one failure": {records{failures: []Failure{fail(300, 301), {Component: "Seal", Start: hour(301).Add(5 * time.Minute), End: hour(303)}}},
			[][4]int{{-1, 0, 300, failed}, {303, 303, 1000, open}}},
		"an installation before the history": {records{replacements: []Replacement{replace(-50, ReasonPreventive)}},
			[][4]int{{-50, 0, 1000, open}}},
		"installed, failed, under repair": {records{[]Failure{fail(900, 1200)}, []Replacement{replace(10, ReasonPreventive)}},
			[][4]int{{-1, 0, 10, censored}, {10, 10, 900, failed}}},
		"overlapping failures": {records{failures: []Failure{fail(300, 400), fail(350, 380)}},
			[][4]int{{-1, 0, 300, failed}, {400, 400, 1000, open}}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, spans(livesOf("p", "Seal", test.events(), hour(0), hour(1000))))
		})
	}
}

func TestCurrentLifeIsThatOfTheComponent(t *testing.T) {
	r := records{failures: []Failure{{Start: hour(100), End: hour(101)}, {Component: "Seal", Start: hour(200), End: hour(201)}}}
	require.Equal(t, hour(201), r.current("pump", "Seal", hour(0), hour(500)).start)
	require.Equal(t, hour(101), r.current("pump", "Motor", hour(0), hour(500)).start, "no record names it")
}

func TestRoleOf(t *testing.T) {
	for _, test := range [][3]string{
		{"pump1", "pump1.pressure", "pressure"}, {"pump1", "line/pump1/pressure", "line/pressure"}, {"pump1", "pump10.pressure", "pump10.pressure"},
		{"pump1", "pressure", "pressure"}, {"pump1", "pump1", "pump1"}, {"", "a.b", "a.b"}, {"p", "pp.p.x", "pp.x"}, {"pump1", "xpump1.pump1.t", "xpump1.t"},
	} {
		require.Equal(t, test[2], RoleOf(test[0], test[1]), test)
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]ModelType{"RUL": RULModel, "rul": RULModel, "failureprediction": FailureModel, "FailurePrediction": FailureModel} {
		got, err := ParseModelType(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "RUL ", "../RUL", "anomaly"} {
		_, err := ParseModelType(text)
		require.ErrorIs(t, err, ErrModelType)
	}
	for text, want := range map[string]int{"": 0, "v1": 1, "12": 12} {
		got, err := ParseVersion(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"v0", "0", "-1", "v", "v01", "vv1", "1.0", "../../etc/passwd", "v99999999999999999999", "v1\x00", "+1"} {
		_, err := ParseVersion(text)
		require.ErrorIs(t, err, ErrModelVersion, text)
	}
}

package predictiveapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/transport/predictiveapi"
)

func (p *plant) csv(path, file string) answer {
	return p.call(p.t.Context(), http.MethodPost, path, file, "Content-Type", "text/csv; charset=utf-8")
}

func (p *plant) file(path string) answer {
	return p.call(p.t.Context(), http.MethodGet, path, "", "Accept", "text/csv")
}

func TestRecordsAreAddedAndRemoved(t *testing.T) {
	p := newPlant(t, options{})
	made := p.post("/failures", `{"equipmentId":"pump","component":"Seal","start":"2026-03-01T12:00:00.1234567+02:00","end":"2026-03-02T00:00:00Z","note":"leak"}`).json(201)
	require.Equal(t, "2026-03-01T10:00:00.123456Z", made["start"], "as it is stored")
	require.Equal(t, "manual", made["source"])
	require.NotContains(t, made, "noticed")
	require.Equal(t, "no equipment is known by the equipmentId pump; GET equipments lists those that are", made["warning"])
	delete(made, "warning")
	id := made["id"].(string)
	require.Len(t, id, 36)
	list := p.get("/failures").json(200)
	require.Equal(t, []any{made}, list["items"])
	require.EqualValues(t, 1, list["totalCount"])
	require.Equal(t, 204, p.call(t.Context(), http.MethodDelete, "/failures/"+id, "").status)
	p.call(t.Context(), http.MethodDelete, "/failures/"+id, "").refused(404, "RECORD_NOT_FOUND")
	require.Equal(t, []any{}, p.get("/failures").json(200)["items"])

	made = p.post("/replacements", `{"id":"r-1","equipmentId":"pump","component":"Seal","at":"2026-03-01T12:00:00Z","reason":"preventive"}`).json(201)
	require.Contains(t, made["warning"], "equipmentId pump;")
	list = p.get("/replacements").json(200)
	require.NotContains(t, list["items"].([]any)[0], "warning")
	list["items"].([]any)[0].(map[string]any)["warning"] = made["warning"]
	require.Equal(t, []any{made}, list["items"])
	require.Equal(t, made, p.post("/replacements", `{"id":"r-1","equipmentId":"pump","component":"Seal","at":"2026-03-01T13:00:00+01:00","reason":"preventive"}`).json(201),
		"a sender that repeats")
	p.post("/replacements", `{"id":"r-1","equipmentId":"pump","component":"Seal","at":"2026-03-01T12:00:00Z","reason":"failure"}`).refused(409, "RECORD_EXISTS")
	require.Len(t, p.get("/replacements").json(200)["items"], 1)
	require.Equal(t, 204, p.call(t.Context(), http.MethodDelete, "/replacements/r-1", "").status)
	p.call(t.Context(), http.MethodDelete, "/replacements/r-1", "").refused(404, "RECORD_NOT_FOUND")

	for body, wrong := range map[string]string{
		`{"start":"2026-03-01T12:00:00Z"}`:                                                                 "equipmentId is required",
		`{"equipmentId":"pump"}`:                                                                           "start is required",
		`{"equipmentId":" pump","start":"2026-03-01T12:00:00Z"}`:                                           "must not begin or end with a blank",
		`{"equipmentId":"pump","start":"2026-03-01T12:00:00Z","end":"2026-02-01T12:00:00Z"}`:               "end must not be before start",
		`{"equipmentId":"pump","start":"yesterday"}`:                                                       "RFC 3339",
		`{"equipmentId":"pump","start":"2026-03-01T12:00:00Z","note":"` + strings.Repeat("x", 5000) + `"}`: "note must have at most 4096 bytes",
	} {
		require.Contains(t, p.wrong(http.MethodPost, "/failures", body).refused(400, "INVALID_REQUEST"), wrong)
	}
	require.Contains(t, p.wrong(http.MethodPost, "/replacements", `{"equipmentId":"pump","component":"Seal","at":"2026-03-01T12:00:00Z","reason":"boredom"}`).refused(400, "INVALID_REQUEST"), "reason must be")
	p.wrong(http.MethodPost, "/failures", "<a/>", "Content-Type", "text/xml").refused(415, "UNSUPPORTED_MEDIA_TYPE")
	require.Empty(t, p.get("/failures").json(200)["items"])
}

func TestListsOfRecordsArePagedAndFiltered(t *testing.T) {
	p := newPlant(t, options{failures: 20})
	require.Equal(t, 200, p.csv("/failures", "equipmentId,component,start\nother,Motor,2026-01-02\nother,Seal,2026-01-03\n").status)
	ids := func(query string) (list []string, total int) {
		v := p.get("/failures" + query).json(200)
		for _, f := range v["items"].([]any) {
			list = append(list, f.(map[string]any)["id"].(string))
		}
		return list, int(v["totalCount"].(float64))
	}
	got, total := ids("?equipmentId=" + pumpPath + "&offset=3&limit=2")
	require.Equal(t, []string{"f03", "f04"}, got)
	require.Equal(t, 20, total)
	got, _ = ids("?equipmentId=" + pumpPath + "&start=2026-01-09T00:00:00Z&end=2026-01-18T00:00:00%2B00:00")
	require.Equal(t, []string{"f01", "f02", "f03"}, got)
	got, total = ids("?component=Motor")
	require.Len(t, got, 1)
	require.Equal(t, 1, total)
	for query, code := range map[string]string{
		"?limit=0": "INVALID_REQUEST", "?limit=1001": "PAGE_SIZE_EXCEEDED", "?offset=-1": "INVALID_REQUEST", "?limit=many": "INVALID_REQUEST", "?component=%FF": "INVALID_REQUEST",
		"?start=2026-01-02T00:00:00Z&end=2026-01-02T00:00:00Z": "INVALID_TIME_RANGE", "?start=soon": "INVALID_REQUEST",
	} {
		for _, path := range []string{"/failures", "/replacements"} {
			p.wrong(http.MethodGet, path+query, "").refused(400, code)
		}
	}
	file := p.file("/failures?component=Motor&limit=1&offset=1")
	require.Equal(t, 2, strings.Count(file.body, "\n"), "the header, and all that the filter selects")
	for accept, want := range map[string]string{
		"text/csv": "text/csv", "text/csv, */*;q=0.1": "text/csv", "text/csv;q=0.9, application/json;q=0.8": "text/csv", "application/json, text/csv": "application/json",
		"*/*": "application/json", "text/html, */*": "application/json", "text/csv;q=0": "application/json", "text/csv;q=0.5, application/*": "application/json",
	} {
		a := p.call(t.Context(), http.MethodGet, "/failures", "", "Accept", accept)
		require.Equal(t, want, strings.Split(a.header.Get("Content-Type"), ";")[0], accept)
		require.Equal(t, "Accept", a.header.Get("Vary"))
	}
}

// imported asserts how many records of a file were added and skipped.
func (a answer) imported(added, skipped int) {
	a.t.Helper()
	v := a.json(200)
	require.EqualValues(a.t, added, v["added"], a.body)
	require.EqualValues(a.t, skipped, v["skipped"], a.body)
}

func TestAFileIsImportedAgain(t *testing.T) {
	from := newPlant(t, options{failures: 20})
	from.csv("/failures", "equipmentId,start,end,code,source,note\n=1+1,2026-01-02 08:00,2026-01-02 09:00,-5,alarm,\"two\nlines\"\np,2026-01-31,,,,\n").imported(2, 0)
	from.csv("/replacements", "equipmentId;component;at;reason\np;Seal;2026-01-31;Failure\np;Seal;2026-02-28;preventive\n").imported(2, 0)
	to := newPlant(t, options{})
	for path, rows := range map[string]int{"/failures": 22, "/replacements": 2} {
		file := from.file(path)
		require.Equal(t, 200, file.status)
		require.Contains(t, file.header.Get("Content-Disposition"), path[1:]+".csv")
		from.csv(path, file.body).imported(0, rows)
		to.csv(path, file.body).imported(rows, 0)
		require.Equal(t, file.body, to.file(path).body)
		// A row more, and none of the others twice.
		more := file.body + map[string]string{"/failures": ",p,,,,2026-03-01,,,\r\n", "/replacements": ",p,Seal,2026-03-01,failure,,\r\n"}[path]
		to.csv(path, more).imported(1, rows)
		require.EqualValues(t, rows+1, to.get(path).json(200)["totalCount"])
	}
	// A row that was changed meanwhile is not overwritten, and nothing of its file is added.
	require.Contains(t, from.csv("/failures", "id,equipmentId,start\nnew,p,2026-01-31\nf00,other,2026-01-05 04:00\n").refused(409, "RECORD_EXISTS"), "f00; line 3, column id is that of a record with other content")
	require.Contains(t, from.csv("/failures", "id,equipmentId,start\n\nf00,"+pump+",2026-01-06\nnew,p,2026-01-31\n").refused(409, "RECORD_EXISTS"), "line 3")
	require.Contains(t, from.csv("/failures", "id,equipmentId,start\nnew,p,2026-01-31\nnew,p,2026-01-31\n").refused(409, "RECORD_EXISTS"),
		"line 3, column id is that of line 2")
	require.EqualValues(t, 22, from.get("/failures").json(200)["totalCount"])
}

func TestAFileMayBeSentTwiceAtTheSameTime(t *testing.T) {
	p := newPlant(t, options{})
	var file strings.Builder
	file.WriteString("id,equipmentId,start\n")
	for i := range 500 {
		fmt.Fprintf(&file, "%d,p,2026-01-31 %02d:%02d\n", i, i/60, i%60)
	}
	answers := make([]answer, 4)
	var calls sync.WaitGroup
	for i := range answers {
		calls.Go(func() { answers[i] = p.csv("/failures", file.String()) })
	}
	calls.Wait()
	var added, skipped int
	for _, a := range answers {
		v := a.json(200)
		added, skipped = added+int(v["added"].(float64)), skipped+int(v["skipped"].(float64))
	}
	require.Equal(t, []int{500, 1500}, []int{added, skipped})
	require.EqualValues(t, 500, p.get("/failures").json(200)["totalCount"])
}

func TestABadFileAddsNothing(t *testing.T) {
	p := newPlant(t, options{api: predictiveapi.Options{MaxRows: 200, MaxBody: 20_000}})
	const head = "equipmentId,start\n"
	text := p.csv("/failures", head+"p,2026-01-31\n,2026-01-31\np,31.01.2026\n").refused(400, "INVALID_CSV")
	require.Contains(t, text, "line 3, column equipmentId is required")
	require.Contains(t, text, "line 4, column start must be a time")
	require.Contains(t, p.csv("/failures", "equipmentId,begin\np,2026-01-31\n").refused(400, "INVALID_CSV"), "column begin is not known")
	require.Contains(t, p.csv("/replacements", head+"p,2026-01-31\n").refused(400, "INVALID_CSV"), "column at is missing")
	require.Contains(t, p.csv("/replacements", "\n").refused(400, "INVALID_CSV"), "it is empty")
	require.Equal(t, 100, strings.Count(p.csv("/failures", head+strings.Repeat("p,soon\n", 150)).refused(400, "INVALID_CSV"), "must be a time"))
	p.csv("/failures", head+strings.Repeat("p,2026-01-31\n", 201)).refused(413, "TOO_MANY_ROWS")
	note := strings.Repeat("x", 4000)
	require.Contains(t, p.csv("/failures", "equipmentId,start,note\n"+strings.Repeat("p,2026-01-31,"+note+"\n", 6)).refused(413, "BODY_TOO_LARGE"), "20000")
	require.Equal(t, 200, p.csv("/failures", "equipmentId,start,note\n").status)
	require.Empty(t, p.get("/failures").json(200)["items"])
	p.csv("/failures", head+strings.Repeat("p,2026-01-31\n", 200)).imported(200, 0)
}

// broken is a store that fails after so many pages.
type broken struct {
	predictive.MemoryRecords
	pages int
}

// Failures implements predictive.RecordReader.
func (b *broken) Failures(ctx context.Context, q predictive.RecordQuery) (predictive.Page[predictive.Failure], error) {
	if b.pages--; b.pages < 0 {
		return predictive.Page[predictive.Failure]{}, errors.New("the disk is gone")
	}
	return b.MemoryRecords.Failures(ctx, q)
}

func TestAFileThatIsNotWholeBreaksTheConnection(t *testing.T) {
	store := new(broken)
	p := newPlant(t, options{store: store})
	for i := range 3 {
		rows := make([]string, 1000)
		for j := range rows {
			rows[j] = fmt.Sprintf("p,2026-01-%02d %02d:%02d:%02d,%s", i+1, j/3600, j/60%60, j%60, strings.Repeat("n", 50))
		}
		require.Equal(t, 200, p.csv("/failures", "equipmentId,start,note\n"+strings.Join(rows, "\n")).status)
	}
	store.pages = 0
	p.file("/failures").refused(500, "INTERNAL_ERROR") // before the first byte it is an answer
	store.pages = 2
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+base+"/failures", nil)
	require.NoError(t, err)
	r.Header.Set("Accept", "text/csv")
	_, err = p.client.Do(r) // reads the whole body
	require.ErrorContains(t, err, "unexpected EOF")
	store.pages = 100
	require.Equal(t, 3001, strings.Count(p.file("/failures").body, "\n"))
}

func TestRecordsOfTheFutureAreRefused(t *testing.T) {
	now := start.Add(1000 * time.Hour)
	p := newPlant(t, options{api: predictiveapi.Options{Now: func() time.Time { return now }}})
	at := func(d time.Duration) string { return now.Add(d).UTC().Format(time.RFC3339) }
	body := func(begin, end time.Duration) string {
		return fmt.Sprintf(`{"equipmentId":%q,"start":%q,"end":%q}`, pump, at(begin), at(end))
	}
	require.Contains(t, p.post("/failures", body(time.Hour, 2*time.Hour)).refused(400, "INVALID_REQUEST"), "start must not be in the future; it is now "+at(0))
	require.Contains(t, p.post("/failures", body(-time.Hour, 24*time.Hour)).refused(400, "INVALID_REQUEST"), "end must not be in the future")
	require.Contains(t, p.post("/replacements", fmt.Sprintf(`{"equipmentId":%q,"component":"Seal","reason":"failure","at":%q}`, pump, at(time.Hour))).refused(400, "INVALID_REQUEST"),
		"at must not be in the future")
	require.Contains(t, p.csv("/failures", "equipmentId,start,end\n"+pump+","+at(-time.Hour)+","+at(0)+"\n"+pump+","+at(-time.Hour)+","+at(time.Hour)+"\n").refused(400, "INVALID_CSV"),
		"line 3, column end must not be in the future")
	require.Contains(t, p.csv("/replacements", "equipmentId,component,reason,at\n"+pump+",Seal,failure,"+at(time.Hour)+"\n").refused(400, "INVALID_CSV"), "line 2, column at")
	require.Empty(t, p.get("/failures").json(200)["items"])
	require.NotContains(t, p.post("/failures", body(-time.Hour, time.Minute)).json(201), "warning", "a clock that is ahead")
}

func TestAFileOfEquipmentThatIsNotKnown(t *testing.T) {
	p := newPlant(t, options{})
	require.JSONEq(t, `{"added":3,"skipped":0,"unknownEquipment":2,"warning":"no equipment is known by the equipmentId pomp; GET equipments lists those that are"}`,
		p.csv("/failures", "equipmentId,start\n"+pump+",2026-01-31\npomp,2026-01-31\npomp,2026-02-01\n").body)
	var rows strings.Builder
	for i := range 12 {
		fmt.Fprintf(&rows, "p%02d,Seal,failure,2026-01-31\n", i)
	}
	require.Contains(t, p.csv("/replacements", "equipmentId,component,reason,at\n"+rows.String()).json(200)["warning"], "p00, p01, p02, p03, p04, p05, p06, p07, p08, p09 and 2 more;")
}

// Stores keep an alarm once.
func TestAlarmsThatAreRecordedAlreadyAreSkipped(t *testing.T) {
	p := newPlant(t, options{})
	head := "id,equipmentId,code,source,start,note\n"
	one := "," + pump + ",7,alarm,2026-01-31,\n"
	require.JSONEq(t, `{"added":1,"skipped":1}`, p.csv("/failures", head+one+one).body, "twice in the file")
	require.JSONEq(t, `{"added":1,"skipped":2}`, p.csv("/failures", head+one+"other,"+pump+",7,alarm,2026-01-31,hot\n,"+pump+",8,alarm,2026-01-31,\n").body)
	require.EqualValues(t, 2, p.get("/failures").json(200)["totalCount"])
}

package aasapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/internal/dbbench"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/transport/aasapi"
)

// BenchmarkElements measures the calls on one element of a small and a large submodel by processor time: of this
// process, and of PostgreSQL's.
func BenchmarkElements(b *testing.B) {
	dbbench.EachDatabase(b, func(b *testing.B, db *storetest.DB, cpu func() time.Duration, ready func()) {
		service, err := repository.New(db.AAS(), repository.Options{})
		require.NoError(b, err)
		api, err := aasapi.New(service, aasapi.Options{})
		require.NoError(b, err)
		send := func(method, path, body string) int {
			q := &quiet{header: http.Header{}}
			api.ServeHTTP(q, httptest.NewRequest(method, v31+path, strings.NewReader(body)))
			return q.status
		}
		for _, elements := range []int{50, 100_000} {
			id := fmt.Sprintf("urn:bench:%d", elements)
			body := fmt.Sprintf(`{"modelType":"Submodel","id":%q,"idShort":"Bench","submodelElements":[%s]}`, id, benchElements(elements))
			status := send("POST", "/submodels", body)
			require.Equal(b, http.StatusCreated, status)
			submodel := "/submodels/" + b64(id)
			one := fmt.Sprintf("%s/submodel-elements/Value%06d", submodel, elements/2)
			if status = send("PATCH", one+"/$value", `"0"`); status >= 300 {
				b.Fatal(status)
			}
			ready()
			n := 0
			for _, c := range []struct {
				name, method, path string
				body               func() string
			}{
				{"get", "GET", one, nil},
				{"get-value", "GET", one + "/$value", nil},
				{"get-reference", "GET", one + "/$reference", nil},
				{"patch-value", "PATCH", one + "/$value", func() string { return fmt.Sprintf(`"%d"`, n) }},
				{"patch", "PATCH", one, func() string { return fmt.Sprintf(`{"modelType":"Property","valueType":"xs:double","value":"%d"}`, n) }},
				{"put", "PUT", one, func() string { return benchElement(elements/2, n) }},
				{"get-all", "GET", submodel, nil},
			} {
				measure(b, fmt.Sprintf("%d/%s", elements, c.name), cpu, func() error {
					body := ""
					if n++; c.body != nil {
						body = c.body()
					}
					if status := send(c.method, c.path, body); status >= 300 {
						return fmt.Errorf("%s %s: status %d", c.method, c.path, status)
					}
					return nil
				})
			}
			if elements == 50 {
				benchCallers(b, cpu, send)
			}
			measure(b, fmt.Sprintf("%d/post-and-delete", elements), cpu, func() error {
				n++
				if status := send("POST", submodel+"/submodel-elements", benchElement(900_000, n)); status >= 300 {
					return fmt.Errorf("POST: status %d", status)
				}
				if status := send("DELETE", submodel+"/submodel-elements/Value900000", ""); status >= 300 {
					return fmt.Errorf("DELETE: status %d", status)
				}
				return nil
			})
		}
	})
}

// benchCallers measures 8 callers who set values in 100 submodels.
func benchCallers(b *testing.B, cpu func() time.Duration, send func(method, path, body string) int) {
	b.Helper()
	const callers, submodels = 8, 100
	path := func(i int) string { return "/submodels/" + b64(fmt.Sprintf("urn:bench:callers:%d", i%submodels)) }
	for i := range submodels {
		require.Equal(b, http.StatusCreated, send("POST", "/submodels",
			fmt.Sprintf(`{"modelType":"Submodel","id":"urn:bench:callers:%d","submodelElements":[%s]}`, i, benchElements(50))))
	}
	b.Run("50/patch-value-by-8", func(b *testing.B) {
		report := processorTime(b, cpu)
		storetest.Callers(b, callers, func(i int) error {
			if status := send("PATCH", path(i)+"/submodel-elements/Value000025/$value", fmt.Sprintf(`"%d"`, i)); status >= 300 {
				return fmt.Errorf("status %d", status)
			}
			return nil
		})
		report()
	})
}

func benchElement(i, value int) string {
	return fmt.Sprintf(`{"modelType":"Property","idShort":"Value%06d","semanticId":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"0173-1#02-AAO%06d#002"}]},"valueType":"xs:double","value":"%d.5"}`, i, i, value)
}

func benchElements(count int) string {
	list := make([]string, count)
	for i := range list {
		list[i] = benchElement(i, i)
	}
	return strings.Join(list, ",")
}

// measure reports the processor time of a call in this process and in all.
func measure(b *testing.B, name string, cpu func() time.Duration, call func() error) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		for range 2 {
			require.NoError(b, call())
		}
		report := processorTime(b, cpu)
		for b.Loop() {
			if err := call(); err != nil {
				b.Fatal(err)
			}
		}
		report()
	})
}

// processorTime begins to measure; the function that it returns reports.
func processorTime(b *testing.B, cpu func() time.Duration) (report func()) {
	b.Helper()
	own := func() time.Duration {
		var u syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before, all := own(), cpu()
	return func() {
		mine := own() - before
		b.ReportMetric(float64(mine.Microseconds())/float64(b.N), "cpu-µs/op")
		b.ReportMetric(float64((cpu()-all-mine).Microseconds())/float64(b.N), "database-µs/op")
	}
}

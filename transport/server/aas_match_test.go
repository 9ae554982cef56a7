package server_test

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
)

func TestIfMatchKeepsTwoClientsApart(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, p *platform) {
		p.create(shells, shellBody("x", "X"))
		p.create(submodels, submodelBody("x", "X", property("v", "xs:int", "1")))
		p.create(concepts, object{"id": "x", "idShort": "X"})
		call := func(method, path, match string, body any) answer {
			r := p.request(t.Context(), accounts.Admin, method, path, body)
			r.Header.Set("If-Match", match)
			return p.do(r)
		}
		for path, body := range map[string]object{shells + "/x": shellBody("x", "Y"), submodels + "/x": submodelBody("x", "Y", property("v", "xs:int", "1")), concepts + "/x": {"idShort": "Y"}} {
			for _, match := range []string{`"2"`, `"0"`, `W/"1"`, `"x"`, "1", `"01"`} {
				requireAASError(t, call(http.MethodPut, path, match, body), 412, "VERSION_CHANGED")
				requireAASError(t, call(http.MethodDelete, path, match, nil), 412, "VERSION_CHANGED")
			}
			requireAASError(t, call(http.MethodPut, path, `W/"1", "2"`, body), 412, "VERSION_CHANGED")
			requireAASError(t, call(http.MethodPut, path, strings.Repeat(`"1",`, 101), body), 400, "INVALID_REQUEST")
			require.Equal(t, `"2"`, requireStatusCode(t, call(http.MethodPut, path, `"7", "1"`, body), 200).header.Get("ETag"))
			requireAASError(t, call(http.MethodPut, path, `"1"`, body), 412, "VERSION_CHANGED")
			body["idShort"] = "Z"
			require.Equal(t, `"3"`, requireStatusCode(t, call(http.MethodPut, path, "*", body), 200).header.Get("ETag"))
		}
		value := submodels + "/x/submodel-elements/v/value"
		requireAASError(t, call(http.MethodPut, value, `"2"`, "5"), 412, "VERSION_CHANGED")
		require.Equal(t, `"4"`, requireStatusCode(t, call(http.MethodPut, value, `"3"`, "5"), 204).header.Get("ETag"))
		requireStatusCode(t, call(http.MethodDelete, submodels+"/x", `"4"`, nil), 204)
		requireStatusCode(t, call(http.MethodDelete, shells+"/x", "*", nil), 204)
	})
}

func TestWhatTheCallerHasIsNotSentAgain(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, p *platform) {
		p.create(shells, shellBody("x", "X"))
		p.create(submodels, submodelBody("x", "X", property("v", "xs:int", "1")))
		p.create(concepts, object{"id": "x", "idShort": "X"})
		for _, path := range []string{shells + "/x", submodels + "/x", concepts + "/x"} {
			read := func(known string) answer {
				r := p.request(t.Context(), accounts.Viewer, http.MethodGet, path, nil)
				r.Header.Set("If-None-Match", known)
				return p.do(r)
			}
			tag := p.get(path).header.Get("ETag")
			for _, known := range []string{tag, "W/" + tag, `"7", ` + tag, "*"} {
				a := requireStatusCode(t, read(known), http.StatusNotModified)
				require.Empty(t, a.body)
				require.Equal(t, tag, a.header.Get("ETag"))
			}
			for _, known := range []string{"", `"7"`, "x"} {
				requireStatusCode(t, read(known), http.StatusOK)
			}
		}
	})
}

func TestWritersOfNeighboursDoNotOverwriteEachOther(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, p *platform) {
		const writers, rounds = 4, 10
		var elements []any
		for i := range writers {
			elements = append(elements, property("v"+strconv.Itoa(i), "xs:int", "0"))
		}
		p.create(submodels, submodelBody("m", "M", elements...))
		p.token(accounts.Admin)
		var wg sync.WaitGroup
		statuses := make(chan int, writers*rounds)
		for i := range writers {
			wg.Go(func() {
				for n := range rounds {
					statuses <- p.call(accounts.Admin, http.MethodPut, submodels+"/m/submodel-elements/v"+strconv.Itoa(i)+"/value", strconv.Itoa(n+1)).status
				}
			})
		}
		wg.Wait()
		close(statuses)
		for s := range statuses {
			require.Equal(t, 204, s)
		}
		a := p.get(submodels + "/m")
		require.Equal(t, strconv.Quote(strconv.Itoa(1+writers*rounds)), a.header.Get("ETag"))
		for _, e := range a.object(t)["submodelElements"].([]any) {
			require.Equal(t, strconv.Itoa(rounds), e.(object)["value"])
		}
	})
}

func TestAnEmptyPathOfAnElementIsSaidSo(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, p *platform) {
		p.create(submodels, submodelBody("x", "X", property("v", "xs:int", "1")))
		a := p.callWrong(accounts.Viewer, http.MethodGet, submodels+"/x/submodel-elements//value", nil)
		requireAASError(t, a, 400, "INVALID_REQUEST")
		require.Contains(t, string(a.body), "must not be empty")
	})
}

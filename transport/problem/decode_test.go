package problem

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/fault"
)

type order struct {
	Name  string `json:"name"`
	Count int8   `json:"count"`
	Lines []struct {
		Price float64   `json:"price"`
		When  time.Time `json:"when"`
		Raw   []byte    `json:"raw"`
	} `json:"lines"`
	Labels map[string]string `json:"labels"`
	Open   *bool             `json:"open"`
	Free   uint              `json:"free"`
	Choice choice            `json:"choice"`
}

type choice struct{}

var errChoice = fault.New(fault.Invalid, "INVALID_VALUE", "choice is not valid")

func (choice) UnmarshalJSON([]byte) error { return errChoice }

func TestFromDecode(t *testing.T) {
	tests := map[string]string{
		`{"name":3}`:                       "name must be a string, not a number",
		`{"count":"a"}`:                    "count must be a whole number, not a string",
		`{"count":1.5}`:                    "count must be a whole number in range, not 1.5",
		`{"count":300}`:                    "count must be a whole number in range, not 300",
		`{"free":-1}`:                      "free must be a whole number of 0 or more in range, not -1",
		`{"lines":{}}`:                     "lines must be an array, not an object",
		`{"lines":[{"price":true}]}`:       "lines.price must be a number, not true or false",
		`{"lines":[{"price":1e999}]}`:      "lines.price must be a number in range, not 1e999",
		`{"lines":[{"raw":1}]}`:            "lines.raw must be a base64 string, not a number",
		`{"lines":[{"raw":"%"}]}`:          "a value is not base64",
		`{"lines":[{"when":"yesterday"}]}`: `"yesterday" is not a time in the form of RFC 3339`,
		`{"lines":[{"when":5}]}`:           "body cannot be read",
		`{"labels":[]}`:                    "labels must be an object, not an array",
		`{"labels":{"a":1}}`:               "labels must be a string, not a number (near byte 16)",
		`{"open":"yes"}`:                   "open must be true or false, not a string",
		`[]`:                               "body must be an object, not an array",
		`{"name":}`:                        "malformed JSON at byte 9",
		`{"name":"a"`:                      "body ends too early",
		``:                                 "body is empty",
	}
	tests[`{"name":`+strings.Repeat("[", 10_001)] = "nested too deeply, at most 10000 levels"
	for body, want := range tests {
		t.Run(body[:min(len(body), 40)], func(t *testing.T) {
			var o order
			err := FromDecode(json.NewDecoder(strings.NewReader(body)).Decode(&o))
			require.ErrorIs(t, err, ErrInvalidRequest)
			f, _ := fault.From(err)
			require.Contains(t, Text(f), want)
			for _, goName := range []string{"order", "int8", "Go ", "float64", "uint", "json:", "time"} {
				require.NotContains(t, strings.ReplaceAll(Text(f), "a time in", ""), goName)
			}
		})
	}
}

func TestFromDecodeKeepsFaults(t *testing.T) {
	require.NoError(t, FromDecode(nil))
	var o order
	require.ErrorIs(t, FromDecode(json.Unmarshal([]byte(`{"choice":1}`), &o)), errChoice)

	body := http.MaxBytesReader(httptest.NewRecorder(), io.NopCloser(strings.NewReader(`{"name":"long"}`)), 4)
	err := FromDecode(json.NewDecoder(body).Decode(&o))
	require.Equal(t, 413, Lookup(err).Status)
	require.Contains(t, err.Error(), "at most 4 bytes")

	hidden := errors.New("read tcp 10.0.0.1:5001: connection reset")
	f, _ := fault.From(FromDecode(hidden))
	require.NotContains(t, Text(f), "10.0.0.1")
	require.ErrorIs(t, f, hidden)
}

// FuzzFromDecode checks that whatever a client sends is the client's fault and named as such.
func FuzzFromDecode(f *testing.F) {
	f.Add(`{"name":3}`)
	f.Add(`{"lines":[{"price":"x"}]}`)
	f.Add(`{`)
	f.Fuzz(func(t *testing.T, body string) {
		var o order
		err := FromDecode(json.Unmarshal([]byte(body), &o))
		if err != nil && Lookup(err).Status != http.StatusBadRequest {
			t.Fatalf("%q gives %v", body, err)
		}
	})
}

// How do I call the standard's AAS API from Go? Log in, page through the shells, read a value, and change
// it only if nobody else has: against the demo plant of a running engine.
//
//	OTKIT_PASSWORD=... go run ./examples/aas-client
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/openapi/client"
)

func main() {
	base := cmp.Or(os.Getenv("OTKIT_URL"), "http://localhost:5001")
	err := run(context.Background(), os.Stdout, base, cmp.Or(os.Getenv("OTKIT_USER"), "admin"), os.Getenv("OTKIT_PASSWORD"))
	if err != nil {
		log.Fatal(err)
	}
}

const (
	submodel = "https://demo.otkit.example/aas/ReactorR101/TechnicalData"
	element  = "TechnicalProperties.MaxTemperature"
)

func run(ctx context.Context, out io.Writer, base, user, password string) error {
	api, err := login(ctx, base, user, password)
	if err != nil {
		return err
	}
	for cursor := ""; ; {
		var page struct {
			Paging struct{ Cursor string } `json:"paging_metadata"`
			Result []aas.Shell
		}
		if _, err := api.call(ctx, "GET", "/shells?limit=2&cursor="+url.QueryEscape(cursor), nil, "", &page); err != nil {
			return err
		}
		for _, shell := range page.Result {
			fmt.Fprintln(out, shell.IDShort, shell.AssetInformation.GlobalAssetID, len(shell.Submodels), "submodels")
		}
		if cursor = page.Paging.Cursor; cursor == "" {
			break
		}
	}

	// The $ of a modifier needs no encoding; ids are base64url without padding.
	value := "/submodels/" + base64.RawURLEncoding.EncodeToString([]byte(submodel)) + "/submodel-elements/" + element + "/$value"
	var limit float64
	version, err := api.call(ctx, "GET", value, nil, "", &limit)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, element, "is", limit)
	if version, err = api.call(ctx, "PATCH", value, limit+5, version, nil); err != nil {
		return err // 412 when somebody has changed the submodel since it was read
	}
	if _, err = api.call(ctx, "PATCH", value, limit, version, nil); err != nil {
		return err
	}
	fmt.Fprintln(out, "raised and set back")
	return nil
}

// standard is a client of the standard's API.
type standard struct{ base, token string }

func login(ctx context.Context, base, user, password string) (*standard, error) {
	c, err := client.NewClientWithResponses(base)
	if err != nil {
		return nil, err
	}
	answer, err := c.LoginWithResponse(ctx, client.LoginRequest{Username: user, Password: password})
	if err != nil {
		return nil, err
	}
	if answer.JSON200 == nil {
		return nil, fmt.Errorf("login: %s", answer.Status())
	}
	return &standard{base + "/api/v3.1", answer.JSON200.AccessToken}, nil
}

// call makes a request and reads the answer into result. version is for If-Match, empty for any; the
// result is the version that the submodel has now.
func (s *standard) call(ctx context.Context, method, path string, body any, version string, result any) (string, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return "", err
		}
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, s.base+path, content)
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Content-Type", "application/json")
	if version != "" {
		r.Header.Set("If-Match", version)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode > 299 {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1000)) // a Result object with the messages
		return "", fmt.Errorf("%s %s: %s %s", method, path, answer.Status, text)
	}
	if result != nil {
		err = json.NewDecoder(answer.Body).Decode(result)
	}
	return answer.Header.Get("ETag"), err
}

package delegate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
)

// Failures of a [Handler].
var (
	ErrNotAllowed = fault.New(fault.Forbidden, "DELEGATION_NOT_ALLOWED", "the operation's URL is not among those that may be called")
	ErrPeerFailed = fault.New(fault.BadGateway, "DELEGATION_FAILED", "the peer has not carried the operation out")
)

// Options are the settings of a [Handler].
type Options struct {
	// Allow are URLs that may be called, with everything below their paths. Whoever may write submodels
	// chooses URLs, so that without a list the engine could be made to call anything it can reach.
	Allow    []string
	Client   *http.Client  // default: one that follows no redirects; redirects are never followed
	Timeout  time.Duration // of a call whose context has no deadline; default 30 s
	MaxBytes int64         // of an answer; default 4 MiB
}

// Handler is an [repository.OperationHandler] that posts the arguments, as a JSON array of operation variables,
// inputs first, and reads the result in the same form: values with the idShort of an in-output variable
// are that, all others outputs. Safe for concurrent use.
type Handler struct {
	allow  []*url.URL
	client *http.Client
	o      Options
}

// New makes a handler.
func New(o Options) (*Handler, error) {
	h := &Handler{o: o, client: &http.Client{}}
	for i, text := range o.Allow {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return nil, fault.Option("delegate", fmt.Sprintf("Options.Allow[%d]", i), "must be an http or https URL without user, query or fragment")
		}
		h.allow = append(h.allow, u)
	}
	if o.Timeout < 0 || o.MaxBytes < 0 {
		return nil, fault.Option("delegate", "Options.Timeout", "and MaxBytes must not be negative")
	}
	if o.Timeout == 0 {
		h.o.Timeout = 30 * time.Second
	}
	if o.MaxBytes == 0 {
		h.o.MaxBytes = 4 << 20
	}
	if o.Client != nil {
		*h.client = *o.Client
	}
	h.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return h, nil
}

// Invoke calls the URL of the operation. Its errors are [ErrNotAllowed] and [ErrPeerFailed].
func (h *Handler) Invoke(ctx context.Context, call repository.Invocation) (repository.InvocationResult, error) {
	target, err := h.target(call.Operation)
	if err != nil {
		return repository.InvocationResult{}, err
	}
	if _, ends := ctx.Deadline(); !ends {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, h.o.Timeout)
		defer cancel()
	}
	answer, err := h.post(ctx, target, variables(call.Input, call.Inoutput))
	if err != nil {
		return repository.InvocationResult{}, ErrPeerFailed.Wrap(err)
	}
	return read(answer, call.Operation)
}

func (h *Handler) target(op *aas.Operation) (string, error) {
	for i := range op.Qualifiers {
		q := &op.Qualifiers[i]
		if q.Type != repository.DelegationQualifier || q.Value == nil {
			continue
		}
		u, err := url.Parse(*q.Value)
		if err != nil || u.User != nil {
			return "", ErrNotAllowed
		}
		for _, a := range h.allow {
			if u.Scheme == a.Scheme && strings.EqualFold(u.Host, a.Host) && below(u.EscapedPath(), a.EscapedPath()) {
				return u.String(), nil
			}
		}
	}
	return "", ErrNotAllowed
}

// below reports whether a path is another one or beneath it. Paths that climb are not.
func below(path, base string) bool {
	for segment := range strings.SplitSeq(strings.ToLower(path), "/") {
		if s := strings.ReplaceAll(segment, "%2e", "."); s == "." || s == ".." || strings.Contains(s, "%2f") || strings.Contains(s, "%5c") {
			return false
		}
	}
	base = strings.TrimSuffix(base, "/")
	return path == base || strings.HasPrefix(path, base+"/")
}

func variables(lists ...[]aas.Element) []byte {
	body := []byte{'['}
	for _, list := range lists {
		for _, e := range list {
			if len(body) > 1 {
				body = append(body, ',')
			}
			body = append(aas.AppendElement(append(body, `{"value":`...), e), '}')
		}
	}
	return append(body, ']')
}

func (h *Handler) post(ctx context.Context, target string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	res, err := h.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, fmt.Errorf("the peer has answered %d", res.StatusCode)
	}
	answer, err := io.ReadAll(io.LimitReader(res.Body, h.o.MaxBytes+1))
	if err == nil && int64(len(answer)) > h.o.MaxBytes {
		err = fmt.Errorf("the answer has more than %d bytes", h.o.MaxBytes)
	}
	return answer, err
}

func read(answer []byte, op *aas.Operation) (repository.InvocationResult, error) {
	var (
		list   []struct{ Value json.RawMessage }
		result repository.InvocationResult
	)
	if len(bytes.TrimSpace(answer)) == 0 {
		return result, nil
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return result, ErrPeerFailed.Because("its answer is no array of operation variables").Wrap(err)
	}
	both := make(map[string]bool, len(op.InoutputVariables))
	for _, v := range op.InoutputVariables {
		both[v.Common().IDShort] = true
	}
	for i := range list {
		e, err := aas.DecodeElement(list[i].Value)
		if err != nil {
			return repository.InvocationResult{}, ErrPeerFailed.Because("value %d of its answer is no submodel element", i).Wrap(err)
		}
		if both[e.Common().IDShort] {
			result.Inoutput = append(result.Inoutput, e)
		} else {
			result.Output = append(result.Output, e)
		}
	}
	return result, nil
}

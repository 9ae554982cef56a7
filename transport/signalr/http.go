package signalr

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/otkit/otkit/transport/problem"
)

// ServeHTTP is [Hub.Negotiate] for a path that ends in /negotiate and [Hub.Connect] for any other.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/negotiate") {
		h.Negotiate(w, r)
		return
	}
	h.Connect(w, r)
}

type availableTransport struct {
	Transport       string   `json:"transport"`
	TransferFormats []string `json:"transferFormats"`
}

type negotiation struct {
	Version         int                  `json:"negotiateVersion"`
	ConnectionID    string               `json:"connectionId"`
	ConnectionToken string               `json:"connectionToken,omitempty"`
	Transports      []availableTransport `json:"availableTransports"`
}

// Negotiate serves POST of the path below the hub's that ends in /negotiate, and OPTIONS.
func (h *Hub) Negotiate(w http.ResponseWriter, r *http.Request) {
	if !allow(w, r, http.MethodPost) {
		return
	}
	version := 0
	if asked := r.URL.Query().Get("negotiateVersion"); asked != "" {
		var err error
		if version, err = strconv.Atoi(asked); err != nil || version < 0 {
			refuse(w, r, ErrInvalidRequest.Because("negotiateVersion must be a number, 0 or above"))
			return
		}
	}
	c, err := h.open(r.Context())
	if err != nil {
		refuse(w, r, err)
		return
	}
	answer := negotiation{Version: min(version, 1), ConnectionID: c.id, ConnectionToken: c.token}
	if answer.Version == 0 { // has one id only
		answer.ConnectionID, answer.ConnectionToken = c.token, ""
	}
	for _, t := range []transport{webSockets, serverSentEvents, longPolling} {
		formats := []string{"Text"} // first: some clients use the first
		if t != serverSentEvents {
			formats = append(formats, "Binary")
		}
		answer.Transports = append(answer.Transports, availableTransport{t.String(), formats})
	}
	body, err := json.Marshal(answer)
	if err != nil {
		refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(body) // a client that has gone is dropped after its timeout
}

// Connect serves the hub's path: GET opens a transport or polls, POST sends, DELETE ends.
func (h *Hub) Connect(w http.ResponseWriter, r *http.Request) {
	if !allow(w, r, http.MethodGet, http.MethodPost, http.MethodDelete) {
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	token := r.URL.Query().Get("id")
	upgrade := strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
	if r.Method == http.MethodGet && upgrade {
		h.connectWebSocket(w, r, token)
		return
	}
	c, err := h.find(r.Context(), token)
	if err != nil {
		refuse(w, r, err)
		return
	}
	switch {
	case r.Method == http.MethodPost:
		c.serveSend(w, r)
	case r.Method == http.MethodDelete:
		c.cancel(errClient)
		w.WriteHeader(http.StatusAccepted)
	case strings.Contains(r.Header.Get("Accept"), "text/event-stream"):
		c.serveEvents(w, r)
	default:
		c.servePoll(w, r)
	}
}

// serveSend receives what a client without a WebSocket sends.
func (c *conn) serveSend(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	t := c.transport
	c.mu.Unlock()
	if t == webSockets {
		refuse(w, r, ErrConnectionInUse)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(c.hub.opts.MaxMessageBytes)))
	if err != nil {
		refuse(w, r, problem.FromDecode(err))
		return
	}
	if err := c.receiveEarly(body); err != nil {
		refuse(w, r, problem.FromDecode(err))
		return
	}
	w.WriteHeader(http.StatusOK)
}

// allow answers methods that are not served, and OPTIONS.
func allow(w http.ResponseWriter, r *http.Request, methods ...string) bool {
	if slices.Contains(methods, r.Method) {
		return true
	}
	w.Header().Set("Allow", strings.Join(append(methods, http.MethodOptions), ", "))
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
	} else {
		refuse(w, r, problem.ErrMethodNotAllowed)
	}
	return false
}

// checkOrigin refuses web pages of other hosts, which a browser lets open any WebSocket. Other
// programs send no origin.
func (h *Hub) checkOrigin(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if origin == "" || slices.ContainsFunc(h.opts.AllowedOrigins, func(s string) bool { return s == "*" || strings.EqualFold(s, origin) }) {
		return nil
	}
	if u, err := url.Parse(origin); err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host) {
		return nil
	}
	return ErrOriginNotAllowed
}

func refuse(w http.ResponseWriter, r *http.Request, err error) {
	problem.Write(w, r, err, problem.FamilyOf(r.URL.Path))
}

// unlessUnsupported returns err, or nil if a ResponseWriter, as in some tests, lacks an optional ability.
func unlessUnsupported(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

package discovery

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// parseURL returns a base URL in its one form, or what is wrong with it.
func parseURL(text string) (base, problem string) {
	u, err := url.Parse(text)
	switch {
	case len(text) > 2000:
		return "", "must not be longer than 2000 bytes"
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Hostname() == "":
		return "", "must be like http://10.0.0.5:5100"
	case u.User != nil:
		return "", "must not have a user"
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", "must not have a path, query or fragment"
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "", "must have a port of 1 to 65535"
		}
	}
	return (&url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host)}).String(), ""
}

// endpoint returns the IP address, or the host name, and the port of a base URL.
func endpoint(base string) (host string, port int) {
	u, err := url.Parse(base)
	if err != nil {
		return "", 0
	}
	port, _ = strconv.Atoi(u.Port())
	switch {
	case port != 0:
	case u.Scheme == "https":
		port = 443
	default:
		port = 80
	}
	return u.Hostname(), port
}

// Endpoint returns the host and the port of BaseURL.
func (b *Binding) Endpoint() (host string, port int) { return endpoint(b.BaseURL()) }

// MaxIDBytes is the length limit of bridge ids.
const MaxIDBytes = 128

// checkBridgeID returns what is wrong with a bridge id; empty if nothing is.
func checkBridgeID(id string) string {
	switch {
	case id == "":
		return "is required"
	case len(id) > MaxIDBytes:
		return fmt.Sprintf("must not be longer than %d bytes", MaxIDBytes)
	case !utf8.ValidString(id) || clean(id) != id:
		return "must be valid UTF-8 without control characters"
	case id == "." || id == "..":
		return "must not be . or .."
	}
	return ""
}

func scheme(url string) string {
	name, _, _ := strings.Cut(url, ":")
	return name
}

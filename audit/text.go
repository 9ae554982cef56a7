package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of an entry, in bytes.
const (
	MaxValue   = 64 << 10  // of before and after each
	MaxObjects = 256 << 10 // of all objects together
	maxName    = 1024      // of one object and of the other texts
	maxDetail  = 4096
)

// JSON returns a value as JSON for [Act].Before and [Act].After, without secrets: the values of members whose name has
// password, secret, token, credential or authorization in it, or is apiKey, are replaced, and so are the user and password of a
// URL in a member whose name ends with url or urls. A []byte or a json.RawMessage is taken as JSON, and what is not JSON is
// described by its size. What exceeds [MaxValue] is replaced by its size and its SHA-256.
func JSON(v any) string {
	var raw []byte
	switch given := v.(type) {
	case nil:
		return ""
	case []byte:
		raw = given
	case json.RawMessage:
		raw = given
	default:
		var err error
		if raw, err = json.Marshal(v); err != nil {
			return `{"unreadable":true}`
		}
	}
	if len(raw) == 0 {
		return ""
	}
	if mayHoldSecret(raw) {
		clean, ok := withoutSecrets(raw)
		if !ok {
			return fmt.Sprintf(`{"bytes":%d}`, len(raw)) // the hash of a text with a password could be guessed
		}
		raw = clean
	}
	if !json.Valid(raw) {
		return digest(raw)
	}
	if len(raw) > MaxValue {
		return digest(raw)
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil || !utf8.Valid(b.Bytes()) {
		return digest(raw)
	}
	return b.String()
}

func withoutSecrets(raw []byte) ([]byte, bool) {
	var tree any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&tree) != nil || d.More() {
		return nil, false
	}
	redact(tree)
	clean, err := json.Marshal(tree)
	return clean, err == nil
}

func digest(raw []byte) string {
	sum := sha256.Sum256(raw)
	text, _ := json.Marshal(struct { // cannot fail: a number and a string
		Bytes  int    `json:"bytes"`
		SHA256 string `json:"sha256"`
	}{len(raw), hex.EncodeToString(sum[:])})
	return string(text)
}

var secretWords = [...]string{"password", "passwd", "secret", "token", "credential", "authorization", "apikey", "privatekey"}

// mayHoldSecret reports whether a text may have a member that isSecret is true of. A name may be written with escapes.
func mayHoldSecret(raw []byte) bool {
	if bytes.Contains(raw, []byte(`\u`)) {
		return true
	}
	lower := bytes.ToLower(raw)
	for _, word := range secretWords {
		if bytes.Contains(lower, []byte(word)) {
			return true
		}
	}
	return bytes.Contains(lower, []byte("api")) && bytes.Contains(lower, []byte("key")) ||
		bytes.Contains(lower, []byte("private")) || bytes.ContainsRune(lower, '@') && bytes.Contains(lower, []byte("url"))
}

func isSecret(name string) bool {
	name = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(name))
	for _, word := range secretWords {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// isURL reports whether the value of a member of this name is a URL.
func isURL(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), "s")
	return strings.HasSuffix(name, "url")
}

const redacted = "[redacted]"

// withoutUser removes the user and the password of a URL, which may have been typed without a scheme or without escapes.
func withoutUser(url string) string {
	at := strings.LastIndexByte(url, '@')
	if at < 0 {
		return url
	}
	begin := 0
	if i := strings.Index(url[:at], "://"); i >= 0 {
		begin = i + len("://")
	}
	return url[:begin] + redacted + url[at:]
}

// redactURLs removes the users of a URL, or of a list of them.
func redactURLs(value any) any {
	switch v := value.(type) {
	case string:
		return withoutUser(v)
	case []any:
		for i := range v {
			v[i] = redactURLs(v[i])
		}
	default:
		redact(v)
	}
	return value
}

func redact(tree any) {
	switch v := tree.(type) {
	case map[string]any:
		for name, value := range v {
			switch {
			case isSecret(name):
				v[name] = redacted
			case isURL(name):
				v[name] = redactURLs(value)
			default:
				redact(value)
			}
		}
	case []any:
		for _, value := range v {
			redact(value)
		}
	}
}

// plain returns a text that every database takes, of at most so many bytes.
func plain(text string, most int) string {
	if len(text) > most {
		text = text[:most]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", "")
}

func (a Act) bounded() Act {
	for _, text := range []*string{&a.Actor, &a.Principal, &a.Role, &a.Session, &a.Address, &a.Via, &a.Action} {
		*text = plain(*text, maxName)
	}
	if len(a.Before) > MaxValue {
		a.Before = digest([]byte(a.Before))
	}
	if len(a.After) > MaxValue {
		a.After = digest([]byte(a.After))
	}
	a.Before, a.After = plain(a.Before, MaxValue), plain(a.After, MaxValue)
	objects, size := make([]string, 0, len(a.Objects)), 0
	for _, o := range a.Objects {
		o = strings.ReplaceAll(plain(o, maxName), "\n", " ") // stores may keep one a line
		if size += len(o) + 1; size > MaxObjects {
			break
		}
		objects = append(objects, o)
	}
	a.Objects = objects
	return a
}

func (r Result) bounded() Result {
	r.Code, r.Detail = plain(r.Code, maxName), plain(r.Detail, maxDetail)
	if !r.Outcome.Stored() {
		r.Outcome = Unknown
	}
	return r
}

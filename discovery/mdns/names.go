package mdns

import (
	"fmt"
	"hash/fnv"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/miekg/dns"
)

const (
	maxLabel  = 63  // bytes of a label of a domain name
	maxString = 255 // bytes of one string of a TXT record

	// maxText is in bytes: one packet on every network, with room for the other records.
	maxText = 8000
)

// serviceType is the form of RFC 6335, section 5.1, as DNS-SD writes it.
var serviceType = regexp.MustCompile(`^_[A-Za-z0-9]([A-Za-z0-9-]{0,13}[A-Za-z0-9])?\._(tcp|udp)$`)

func validateType(name string) error {
	if !serviceType.MatchString(name) {
		return fmt.Errorf("mdns: service type %q, like _name._tcp is required", name)
	}
	return nil
}

// cut shortens s to at most limit bytes, between two characters.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// label returns name as one label in the form in which the library compares names: with the escapes of package dns.
func label(name string) (string, error) {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(name, "\uFFFD"))
	// The library removes dots at the ends, and so would break an escape.
	name = strings.Trim(cut(strings.Trim(name, ". "), maxLabel), ". ")
	if name == "" {
		return "", fmt.Errorf("mdns: the instance has no name")
	}
	escaped, _, err := dns.UnpackDomainName(append([]byte{byte(len(name))}, name+"\x00"...), 0)
	return strings.TrimSuffix(escaped, "."), err
}

// hostName returns the name under which the addresses of an instance are announced. Names of hosts are taken by whatever
// else announces on this machine, and two machines may have the same one: a name of our own disturbs nobody.
func hostName(instance string, port int) string {
	machine, err := os.Hostname()
	if err != nil || machine == "" {
		machine = "host"
	}
	machine, _, _ = strings.Cut(machine, ".")
	machine = strings.Trim(regexp.MustCompile(`[^A-Za-z0-9-]+`).ReplaceAllString(machine, "-"), "-")
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%s:%d", instance, port)
	return fmt.Sprintf("%s-%08x", cut(machine, maxLabel-9), h.Sum32())
}

// escapeText returns the strings of a TXT record as the library takes them.
func escapeText(text []string) ([]string, error) {
	total, escaped := 0, make([]string, len(text))
	for i, s := range text {
		s = cut(s, maxString)
		total += len(s) + 1
		escaped[i] = strings.ReplaceAll(s, `\`, `\\`)
	}
	if total > maxText {
		return nil, fmt.Errorf("mdns: the text has %d bytes, at most %d are allowed", total, maxText)
	}
	return escaped, nil
}

// unescape undoes the escapes of package dns: \. and \065. The result is valid UTF-8.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i+3 <= len(s) {
			if n, err := strconv.ParseUint(s[i:i+3], 10, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// attributes returns what the strings of a TXT record say, by the rules of RFC 6763, section 6: the first of several
// with one key counts, upper and lower case are the same, and a string without a key is ignored.
func attributes(text []string) map[string]string {
	if len(text) > maxAttributes {
		text = text[:maxAttributes]
	}
	found, seen := make(map[string]string, len(text)), make(map[string]bool, len(text))
	for _, s := range text {
		key, value, _ := strings.Cut(unescape(s), "=")
		if folded := strings.ToLower(key); key != "" && !seen[folded] {
			seen[folded], found[key] = true, value
		}
	}
	return found
}

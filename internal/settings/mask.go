package settings

import (
	"net/url"
	"regexp"
	"strings"
)

const masked = "****"

// mask returns what may be shown of a string with a secret tag.
func mask(secret, text string) string {
	switch {
	case text == "" || secret == "":
		return text
	case secret == "url" && urlScheme.MatchString(text):
		return maskURL(text)
	case secret == "url" && pairs.MatchString(text):
		return maskPairs(text)
	}
	return masked
}

// urlScheme distinguishes a URL from the key=value form, whose values may hold :// too.
var urlScheme = regexp.MustCompile(`^\s*[A-Za-z][A-Za-z0-9+.-]*://`)

// pairs is the key=value form of libpq as a whole. What is neither that nor a URL is masked whole.
var pairs = regexp.MustCompile(`(?is)^\s*(?:[a-z_]+\s*=\s*(?:'(?:\\.|[^'\\])*(?:'|$)|(?:\\.|\S)*)\s*)+$`)

// passwordPair finds passwords in the key=value form of libpq; a quoted value may hold blanks, and one
// whose quote is missing reaches to the end.
var passwordPair = regexp.MustCompile(`(?is)([a-z_]*pass[a-z_]*\s*=\s*)('(?:\\.|[^'\\])*(?:'|$)|(?:\\.|\S)+)`)

func maskPairs(text string) string { return passwordPair.ReplaceAllString(text, "${1}"+masked) }

// maskURL masks the password of the user and those among the query's members. What is uncertain,
// such as a password with an unescaped slash in it, is masked whole.
func maskURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") {
		return masked
	}
	members := strings.Split(u.RawQuery, "&")
	for i, member := range members {
		name, value, _ := strings.Cut(member, "=")
		if plain, err := url.QueryUnescape(name); value != "" && (err != nil || namesSecret(plain)) {
			members[i] = name + "=" + masked
		}
	}
	u.RawQuery = strings.Join(members, "&")
	if password, set := u.User.Password(); !set || password == "" {
		return u.String()
	}
	// The user's name is escaped, so that the first @ is the one after it.
	u.User = url.User(u.User.Username())
	return strings.Replace(u.String(), "@", ":"+masked+"@", 1)
}

// namesSecret reports whether a member of a free-form object, or of a query, holds a secret by its name.
func namesSecret(name string) bool {
	name = strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
	for _, word := range []string{"password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "apikey", "accesskey", "privatekey"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// maskFree masks the secrets in a free-form object: members with the name of a secret, whatever they have,
// and passwords in URLs.
func maskFree(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if namesSecret(name) && member != nil && member != "" {
				v[name] = masked
			} else {
				v[name] = maskFree(member)
			}
		}
	case []any:
		for i, item := range v {
			v[i] = maskFree(item)
		}
	case string:
		if strings.Contains(v, "://") && strings.ContainsAny(v, "@?") {
			return maskURL(v)
		}
	}
	return value
}

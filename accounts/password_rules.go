package accounts

import (
	_ "embed"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/otkit/otkit/fault"
)

// Rules of passwords.
const (
	MinPasswordLength      = 8    // characters
	MinAdminPasswordLength = 12   // characters, for the role Admin
	MaxPasswordBytes       = 1024 // bytes of UTF-8
)

// ValidatePassword returns nil if an account of this name and role may have the password, or [ErrInvalidAccount].
func ValidatePassword(name, password string, role Role) error {
	switch {
	case password == "":
		return passwordRule("must not be empty")
	case !utf8.ValidString(password):
		return passwordRule("must be valid UTF-8")
	}
	if err := validateLength(password, role); err != nil {
		return err
	}
	switch {
	case len(password) > MaxPasswordBytes:
		return passwordRule(fmt.Sprintf("must have at most %d bytes", MaxPasswordBytes))
	case isCommon(name, password):
		return passwordRule("is too easy to guess: it consists of common words, the user name, sequences or repetitions")
	}
	return nil
}

func validateLength(password string, role Role) error {
	switch n := utf8.RuneCountInString(password); {
	case role == Admin && n < MinAdminPasswordLength:
		return passwordRule(fmt.Sprintf("must have at least %d characters for the role Admin", MinAdminPasswordLength))
	case n < MinPasswordLength:
		return passwordRule(fmt.Sprintf("must have at least %d characters", MinPasswordLength))
	}
	return nil
}

func passwordRule(rule string) error {
	return ErrInvalidAccount.Invalid(fault.Field{Field: "password", Message: rule})
}

// commonWords are words that common passwords are made of. The list was written for this project and is under its
// licence.
//
//go:embed common_words.txt
var commonWords string

const (
	minUncommon = 4 // characters that must be left of a password without what is common in it
	maxTail     = 4 // digits and signs at the end that count as nothing: a year, "1!"
	minSequence = 3 // length of a run such as 123 or qwe that counts as nothing
)

// lookalikes are the signs that stand for letters.
var lookalikes = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i")

// isCommon reports whether little is left of a password without common words, the account's name, sequences, repetitions,
// and a few digits or signs at its end.
func isCommon(name, password string) bool {
	p := strings.ToLower(password)
	for _, form := range []string{p, lookalikes.Replace(p), lookalikes.Replace(withoutTail(p))} {
		if utf8.RuneCountInString(uncommon(FoldName(name), form)) < minUncommon {
			return true
		}
	}
	return false
}

// uncommon returns what is left of a password.
func uncommon(name, p string) string {
	words := strings.Fields(commonWords)
	if len(name) >= 3 {
		words = append([]string{name}, words...)
	}
	p = withoutTail(withoutWords(p, words))
	p = withoutWords(withoutSequences(p), words)
	return withoutSequences(strings.Map(func(r rune) rune {
		if strings.ContainsRune(" .,-_+*/!?#&=:;", r) {
			return -1
		}
		return r
	}, p))
}

func withoutWords(p string, words []string) string {
	for _, word := range words {
		p = strings.ReplaceAll(p, word, " ")
	}
	return p
}

func withoutTail(p string) string {
	for range maxTail {
		last, size := utf8.DecodeLastRuneInString(p)
		if size == 0 || last >= 'a' && last <= 'z' || last > 0x7f {
			break
		}
		p = p[:len(p)-size]
	}
	return p
}

// keyboard are the rows of keyboards, and the alphabets.
var keyboard = []string{"qwertyuiop", "qwertzuiop", "asdfghjkl", "zxcvbnm", "yxcvbnm", "azertyuiop", "1234567890", "abcdefghijklmnopqrstuvwxyz", "0123456789"}

// withoutSequences removes runs along a row of keys, in both directions, and shortens repetitions to one.
func withoutSequences(p string) string {
	runes := []rune(p)
	var b strings.Builder
	for i := 0; i < len(runes); {
		n := sequence(runes[i:])
		switch {
		case n >= minSequence:
			i += n
		default:
			if period := repetition(runes[:i+1]); period == 0 {
				b.WriteRune(runes[i])
			}
			i++
		}
	}
	return b.String()
}

// sequence returns the length of the run that s begins with.
func sequence(s []rune) int {
	longest := 1
	for _, row := range keyboard {
		for _, step := range []int{1, -1} {
			n := 1
			for n < len(s) {
				at, next := strings.IndexRune(row, s[n-1]), strings.IndexRune(row, s[n])
				if at < 0 || next < 0 || next-at != step {
					break
				}
				n++
			}
			longest = max(longest, n)
		}
	}
	return longest
}

// repetition returns the period, up to 4, after which the last of the runes repeats the ones before it, twice or more; 0
// for none.
func repetition(s []rune) int {
	last := len(s) - 1
	for period := 1; period <= 4 && 2*period <= len(s); period++ {
		same := true
		for i := range period {
			if s[last-i] != s[last-i-period] {
				same = false
				break
			}
		}
		if same {
			return period
		}
	}
	return 0
}

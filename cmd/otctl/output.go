package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/otkit/otkit/tags"
)

// show prints the answer of the API, or a table of it.
func (c *cli) show(raw []byte, table func() [][]string) error {
	if c.output == "json" {
		return c.json(raw)
	}
	_, err := c.out.WriteString(layout(table()))
	return err
}

// json prints a document of the API, indented.
func (c *cli) json(raw []byte) error {
	var indented bytes.Buffer
	if err := json.Indent(&indented, raw, "", "  "); err != nil {
		return fmt.Errorf("the answer is no JSON: %w", err)
	}
	indented.WriteByte('\n')
	_, err := c.out.Write(escaped(indented.Bytes()))
	return err
}

// jsonLine prints a document in one line, for outputs without an end.
func (c *cli) jsonLine(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = c.out.Write(append(escaped(raw), '\n'))
	return err
}

// escaped writes the characters that can control a terminal as escapes, which mean the same in JSON. JSON itself has them only
// in texts.
func escaped(raw []byte) []byte {
	if !bytes.ContainsFunc(raw, controlsInJSON) {
		return raw
	}
	out := make([]byte, 0, len(raw)+64)
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		if controlsInJSON(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, raw[:n]...)
		}
		raw = raw[n:]
	}
	return out
}

func controlsInJSON(r rune) bool { return r != '\n' && controls(r) && r < 0x10000 }

// controls reports whether a character could move the cursor, change colors or reorder what is on a terminal.
func controls(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// plain returns a text for a terminal: what could control it is shown as an escape.
func plain(s string) string {
	if !strings.ContainsFunc(s, controls) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if controls(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// layout returns rows as columns, the first row being the head.
func layout(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			row[i] = plain(cell)
			if row[i] == "" {
				row[i] = "-"
			}
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], width(row[i]))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-width(cell)+2))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// width is how many columns a text takes.
func width(s string) (n int) {
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Mn, r) || r == '\u200d':
		case wide(r):
			n += 2
		default:
			n++
		}
	}
	return n
}

// wide reports whether a character takes two columns (Unicode Standard Annex 11: Wide and Fullwidth).
func wide(r rune) bool {
	return r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf && r != 0x303f || r >= 0xac00 && r <= 0xd7a3 || r >= 0xf900 && r <= 0xfaff ||
		r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 || r >= 0x1f300 && r <= 0x1faff || r >= 0x20000 && r <= 0x3fffd)
}

// local returns a time for a table, in the zone of the machine.
func local(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05.000")
}

func localPtr(t *time.Time) string {
	if t == nil {
		return ""
	}
	return local(*t)
}

// valueText returns a value as tags set takes it.
func valueText(v tags.Value) string {
	switch {
	case v.IsZero():
		return ""
	case v.Type() == tags.Bytes:
		return base64.StdEncoding.EncodeToString(v.Bytes())
	case v.Type() == tags.String:
		return v.Text()
	}
	return v.String()
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// number returns a figure with four digits.
func number(v float64) string {
	if math.Abs(v) >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

package aas

import (
	"slices"
	"strings"
)

// skip reads over a value. With scanning it notes the model type of each object.
func (d *decoder) skip() {
	if d.err != nil {
		return
	}
	switch c := d.peek(); c {
	case '{':
		d.skipObject()
	case '[':
		for ok := d.openArray(); ok; ok = d.nextItem() {
			d.skip()
		}
	case '"':
		d.str()
	case 't', 'f':
		d.boolean()
	case 'n':
		if !strings.HasPrefix(d.text[d.pos:], "null") {
			d.malformed()
			return
		}
		d.pos += 4
	default:
		d.number()
	}
}

func (d *decoder) skipObject() {
	seen := objectHead{start: d.pos}
	var o object
	d.begin(&o)
	for {
		name, ok := d.nextName(&o)
		switch {
		case !ok:
			if d.scanning && (seen.kind != "" || seen.idShort != "") {
				d.ahead = append(d.ahead, seen)
			}
			return
		case d.scanning && name == "modelType" && d.peek() == '"':
			seen.kind = ElementKind(d.str())
		case d.scanning && name == "idShort" && d.peek() == '"':
			seen.idShort = d.str()
		default:
			d.skip()
		}
	}
}

// look returns the modelType and the idShort of the object at the position, which does not change. Each
// byte is looked at once more at most, and not once for each level around it.
func (d *decoder) look() objectHead {
	d.peek()
	start := d.pos
	if start >= d.aheadEnd {
		entries, depth := d.entries, len(d.path)
		d.ahead, d.scanning = d.ahead[:0], true
		d.skip()
		d.scanning, d.aheadEnd, d.entries = false, d.pos, entries
		if d.err != nil {
			d.path = d.path[:depth]
			return objectHead{}
		}
		d.pos = start
		slices.SortFunc(d.ahead, func(a, b objectHead) int { return a.start - b.start })
	}
	at, ok := slices.BinarySearchFunc(d.ahead, start, func(g objectHead, start int) int { return g.start - start })
	if !ok {
		return objectHead{}
	}
	return d.ahead[at]
}

// kindAhead returns the modelType of the object at the position, which does not change; empty when there
// is none.
func (d *decoder) kindAhead() ElementKind {
	d.peek()
	if kind, ok := d.kindFirst(); ok {
		return kind
	}
	if kind := d.kindNear(); kind != "" {
		return kind
	}
	return d.look().kind
}

// nearBytes bounds what kindNear looks at, since the objects within an object are looked at again.
const nearBytes = 1 << 10

// kindNear returns the modelType of the object at the position when it is within the next bytes, found by
// quotes and brackets alone. Whether that is right JSON is seen when the object is read.
func (d *decoder) kindNear() ElementKind {
	text := d.text[d.pos:min(d.pos+nearBytes, len(d.text))]
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return ""
			}
		case '"':
			start := i + 1
			i = closing(text, start)
			if i < 0 {
				return ""
			}
			if depth != 1 || text[start:i] != "modelType" {
				continue
			}
			rest, named := strings.CutPrefix(strings.TrimLeft(text[i+1:], " \n\r\t"), ":")
			rest, quoted := strings.CutPrefix(strings.TrimLeft(rest, " \n\r\t"), `"`)
			if end := closing(rest, 0); named && quoted && end >= 0 {
				return ElementKind(rest[:end])
			}
		}
	}
	return ""
}

// closing returns where the string ends that begins at start; -1 when it has an escape or no end.
func closing(text string, start int) int {
	end := strings.IndexByte(text[start:], '"')
	if end < 0 || strings.IndexByte(text[start:start+end], '\\') >= 0 {
		return -1
	}
	return start + end
}

// kindFirst returns the modelType when it is the first member.
func (d *decoder) kindFirst() (ElementKind, bool) {
	start := d.pos
	defer func() { d.pos = start }()
	d.pos++
	d.peek()
	const name = `"modelType"`
	if !strings.HasPrefix(d.text[min(d.pos, len(d.text)):], name) {
		return "", false
	}
	d.pos += len(name)
	if d.peek() != ':' {
		return "", false
	}
	d.pos++
	if d.peek() != '"' {
		return "", false
	}
	return ElementKind(d.str()), d.err == nil
}

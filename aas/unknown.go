package aas

import (
	"slices"
	"strconv"
	"strings"
)

// UnknownMembers returns the names of the members in a field Unknown, in their order.
func UnknownMembers(unknown string) []string {
	var names []string
	eachUnknown(unknown, func(name, _ string) { names = append(names, name) })
	return names
}

// eachUnknown calls fn for each member with its name and its text, such as "x":1.
func eachUnknown(unknown string, fn func(name, text string)) {
	if unknown == "" {
		return
	}
	d := decoder{text: "{" + unknown + "}"}
	var o object
	d.begin(&o)
	for {
		name, ok := d.nextName(&o)
		if !ok {
			return
		}
		from := d.nameAt
		d.skip()
		if d.err != nil {
			return
		}
		fn(name, d.text[from:d.pos])
	}
}

// maxUnknown is how many unknown members one object may have.
const maxUnknown = 64

// unknown keeps a member that the metamodel does not have here. A patch replaces the one of the same name.
func (d *decoder) unknown(o *object, members *string) {
	from, name := d.nameAt, d.path[max(len(d.path)-1, 0)].name
	d.skip()
	if d.err != nil {
		return
	}
	text := d.text[from:d.pos]
	switch {
	case slices.Contains(o.unknown, name):
		d.fail("is a duplicate")
		return
	case len(o.unknown) == maxUnknown:
		d.fail("is one of more than " + strconv.Itoa(maxUnknown) + " members that the metamodel does not have")
		return
	}
	o.unknown = append(o.unknown, name)
	if *members == "" {
		*members = text
		return
	}
	kept := make([]string, 0, maxUnknown)
	if d.merging {
		eachUnknown(*members, func(known, text string) {
			if known != name {
				kept = append(kept, text)
			}
		})
	} else {
		kept = append(kept, *members)
	}
	*members = strings.Join(append(kept, text), ",")
}

// refuse fails for a member that the metamodel does not have where none is kept.
func (d *decoder) refuse() {
	d.fail("is not a member of the metamodel")
}

// unknown appends the members of a field Unknown.
func (e *encoder) unknown(members string) {
	if members != "" && !e.omits() {
		e.item()
		e.buf = append(e.buf, members...)
	}
}

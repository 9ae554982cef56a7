package aas

import (
	"fmt"
	"net/url"
	"strings"
)

// FileNames finds stored files by how elements and thumbnails name them. The value of an element is a
// URI: it may have file: before it, percent-encoding, no slash at its start, or other case than the
// file (IDTA-01005 has names of parts compared as ECMA-376 part 2 does).
type FileNames struct {
	exact  map[string]bool
	folded map[string]string
}

// NewFileNames takes the names of the files. Where two differ by case alone and an element means
// neither exactly, the first is found.
func NewFileNames(names ...[]string) FileNames {
	f := FileNames{exact: make(map[string]bool), folded: make(map[string]string)}
	for _, list := range names {
		for _, name := range list {
			f.exact[name] = true
			if key := foldFileName(name); f.folded[key] == "" {
				f.folded[key] = name
			}
		}
	}
	return f
}

// Find returns the name of the file that a value means.
func (f FileNames) Find(value string) (name string, ok bool) {
	plain := FileName(value)
	for _, name := range []string{plain, value} {
		if f.exact[name] {
			return name, true
		}
	}
	name, ok = f.folded[foldFileName(plain)]
	return name, ok && value != ""
}

// FileName returns the absolute path of the file that the value of an element means.
func FileName(value string) string {
	if len(value) >= 5 && strings.EqualFold(value[:5], "file:") {
		value = value[5:]
	}
	if plain, err := url.PathUnescape(value); err == nil {
		value = plain
	}
	return "/" + strings.TrimLeft(value, "/")
}

func foldFileName(name string) string { return strings.ToLower("/" + strings.TrimLeft(name, "/")) }

// FileValue returns the value by which an element names a file: its name as a URI.
func FileValue(name string) string { return (&url.URL{Path: name}).EscapedPath() }

// KeepBlobs returns next with the values that before has for those of its Blobs that came without one: the default
// extent omits them from what is read, so that they are also missing from what is put back. next itself is not
// changed. If an entry of a list could be several of the stored ones, the error is ErrInvalidRequest.
func KeepBlobs(before, next *Submodel) (*Submodel, error) {
	filled := *next
	filled.Elements = copyElements(next.Elements)
	if err := keepNamedBlobs("submodelElements", before.Elements, filled.Elements); err != nil {
		return nil, err
	}
	return &filled, nil
}

// KeepElementBlobs is [KeepBlobs] for one element.
func KeepElementBlobs(before, next Element) (Element, error) {
	filled := copyElement(next)
	return filled, keepBlobsIn("", before, filled)
}

// LacksBlobs reports whether list has a Blob without a value whose RemoveValue is not set, at any depth.
func LacksBlobs(list []Element) (lacks bool) {
	EachElement(list, func(e Element) {
		b, ok := e.(*Blob)
		lacks = lacks || ok && b.Value == nil && !b.RemoveValue
	})
	return lacks
}

func keepBlobsIn(at string, before, next Element) error {
	if b, ok := next.(*Blob); ok {
		was, ok := before.(*Blob)
		if ok && b.Value == nil && !b.RemoveValue && b.ContentType == was.ContentType {
			b.Value = was.Value
		}
		return nil
	}
	_, list := next.(*List)
	if _, was := before.(*List); was != list {
		return nil // no path below is the same
	}
	members, stored := containerMembers(next), containers(before)
	for i, children := range containers(next) {
		if children == nil || stored[i] == nil || !LacksBlobs(*children) {
			continue
		}
		keep := keepNamedBlobs
		if list {
			keep = keepListedBlobs
		}
		if err := keep(memberOf(at, members[i]), *stored[i], *children); err != nil {
			return err
		}
	}
	return nil
}

func keepNamedBlobs(at string, before, next []Element) error {
	stored := finder{elements: before}
	for i, e := range next {
		if was, ok := stored.find(e.Common().IDShort); ok {
			if err := keepBlobsIn(entryOf(at, i), was, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepListedBlobs pairs the entries of a list with the stored ones. An entry that was moved is known by all
// that a reader was shown of it; a changed one by its index, which means the same entry only as long as the
// list has as many. Nothing is guessed: the value of another entry would be worse than an error.
func keepListedBlobs(at string, before, next []Element) error {
	if !hasBlobs(before) {
		return nil
	}
	shown := make(map[string][]int)
	for i, e := range before {
		form := string(AppendElementView(nil, e, View{}))
		shown[form] = append(shown[form], i)
	}
	for i, e := range next {
		if !LacksBlobs(next[i : i+1]) {
			continue
		}
		from := i
		if same := shown[string(AppendElementView(nil, e, View{}))]; len(same) == 1 {
			from = same[0]
		} else if len(before) != len(next) {
			return invalid(entryOf(at, i), fmt.Sprintf("has a Blob without a value, and it is not clear which of the %d stored entries it is: "+
				"send the value, or null to remove it", len(before)))
		}
		if err := keepBlobsIn(entryOf(at, i), before[from], e); err != nil {
			return err
		}
	}
	return nil
}

// hasBlobs reports whether some Blob has a value.
func hasBlobs(list []Element) (has bool) {
	EachElement(list, func(e Element) {
		b, ok := e.(*Blob)
		has = has || ok && b.Value != nil
	})
	return has
}

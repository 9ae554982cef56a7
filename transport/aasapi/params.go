package aasapi

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/problem"
)

func invalid(field, rule string) error {
	return problem.ErrInvalidRequest.Invalid(fault.Field{Field: field, Message: rule})
}

// encodeID returns an id as it stands in a path.
func encodeID(id string) string { return base64.RawURLEncoding.EncodeToString([]byte(id)) }

// decodeID reads text in base64url, with or without padding.
func decodeID(field, encoded string) (string, error) {
	const rule = "must be UTF-8 text in base64url"
	bare := strings.TrimRight(encoded, "=")
	if len(encoded)-len(bare) > 2 || strings.ContainsAny(bare, "\r\n") { // which the decoder would pass over
		return "", invalid(field, rule)
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(bare)
	if err != nil || len(data) == 0 || !utf8.Valid(data) {
		return "", invalid(field, rule)
	}
	return string(data), nil
}

// readQuery reads what every operation takes in the same way.
func (c *call) readQuery() error {
	if c.r.URL.RawQuery == "" {
		return nil
	}
	query, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return problem.ErrInvalidRequest.Because("the query is not encoded rightly").Wrap(err)
	}
	c.query = query
	switch query.Get("level") {
	case "", "deep":
	case "core":
		c.view.Level = aas.Core
	default:
		return invalid("level", "must be core or deep")
	}
	switch query.Get("extent") {
	case "", "withoutBlobValue":
	case "withBlobValue":
		c.view.Extent = aas.WithBlobValue
	default:
		return invalid("extent", "must be withBlobValue or withoutBlobValue")
	}
	return nil
}

// limit is how many entries a page has at most.
func (c *call) limit() (int, error) {
	given := c.query.Get("limit")
	if given == "" {
		return c.opts.PageSize, nil
	}
	digits := strings.TrimLeft(given, "0")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, invalid("limit", "must be a whole number of at least 1")
	}
	if n, err := strconv.Atoi(digits); err == nil && n < c.opts.MaxPageSize {
		return n, nil
	}
	return c.opts.MaxPageSize, nil
}

// encodeCursor makes a cursor of a place in a list. What it is a list of goes into the check, so that
// a cursor of another list is refused.
func encodeCursor(list, place string) string {
	data := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(list+"\x00"+place)))
	return base64.RawURLEncoding.EncodeToString(append(data, place...))
}

func decodeCursor(list, cursor string) (string, error) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || strings.ContainsAny(cursor, "\r\n") || len(data) <= 4 || !utf8.Valid(data[4:]) {
		return "", invalid("cursor", "is none that was given out")
	}
	place := string(data[4:])
	if binary.BigEndian.Uint32(data) != crc32.ChecksumIEEE([]byte(list+"\x00"+place)) {
		return "", invalid("cursor", "is none that was given out for this list")
	}
	return place, nil
}

// cursor returns the place after which a page begins; empty for the first page.
func (c *call) cursor(list string) (string, error) {
	given := c.query.Get("cursor")
	if given == "" {
		return "", nil
	}
	return decodeCursor(list, given)
}

// slice returns the bounds of the page that was asked for in a list of n entries with names, and the
// cursor of the next page. A cursor holds the number and the name of the last entry seen, so that
// entries that come or go before it do not shift the page.
func (c *call) slice(list string, n int, name func(i int) string) (from, to int, next string, err error) {
	limit, err := c.limit()
	if err != nil {
		return 0, 0, "", err
	}
	place, err := c.cursor(list)
	if err != nil {
		return 0, 0, "", err
	}
	if place != "" {
		number, last, _ := strings.Cut(place, " ")
		at, err := strconv.Atoi(number)
		if err != nil || at < 0 {
			return 0, 0, "", invalid("cursor", "is none that was given out")
		}
		from = min(at+1, n)
		if from == 0 || name(from-1) != last {
			from = min(at, n) // it has gone, so that what followed has moved up
			for i := range n {
				if name(i) == last {
					from = i + 1
					break
				}
			}
		}
	}
	to = min(from+limit, n)
	if to < n {
		next = encodeCursor(list, strconv.Itoa(to-1)+" "+name(to-1))
	}
	return from, to, next, nil
}

// truth reads a boolean member of the query.
func (c *call) truth(name string, ifAbsent bool) (bool, error) {
	switch strings.ToLower(c.query.Get(name)) { // True is what clients in Python send
	case "":
		return ifAbsent, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, invalid(name, "must be true or false")
}

// ids returns the base64url ids of a member of the query, which may be repeated.
func (c *call) ids(name string) ([]string, error) {
	var all []string
	for _, given := range c.query[name] {
		for one := range strings.SplitSeq(given, ",") {
			if one == "" {
				continue
			}
			id, err := decodeID(name, one)
			if err != nil {
				return nil, err
			}
			all = append(all, id)
		}
	}
	return all, nil
}

// maxAssetIDs bounds the asset ids of one search.
const maxAssetIDs = 64

// assetIDs returns the asset ids of the query, each a SpecificAssetId as JSON in base64url.
func (c *call) assetIDs() ([]aas.SpecificAssetID, error) {
	given, err := c.ids("assetIds")
	if err != nil {
		return nil, err
	}
	if len(given) > maxAssetIDs {
		return nil, invalid("assetIds", "are at most "+strconv.Itoa(maxAssetIDs))
	}
	links := make([]aas.SpecificAssetID, len(given))
	for i, text := range given {
		link, err := aas.Decode[aas.SpecificAssetID]([]byte(text))
		if err != nil {
			return nil, inField("assetIds", err)
		}
		links[i] = *link
	}
	return links, nil
}

// inField adds the member's name to an error in its text.
func inField(field string, err error) error {
	f, ok := fault.From(err)
	if !ok || f.Kind != fault.Invalid {
		return err
	}
	moved := *f
	moved.Fields = nil
	for _, one := range f.Fields {
		moved.Fields = append(moved.Fields, fault.Field{Field: strings.TrimSuffix(field+"."+one.Field, "."), Message: one.Message})
	}
	if len(moved.Fields) == 0 {
		moved.Fields = []fault.Field{{Field: field, Message: "is not valid"}}
	}
	return &moved
}

// semantic returns the value of the first key of the reference that a member of the query names, empty when
// there is none.
func (c *call) semantic(name string) (string, error) {
	ref, err := c.reference(name)
	if err != nil || ref == nil {
		return "", err
	}
	return ref.Keys[0].Value, nil
}

// reference returns the reference that a member of the query names, nil when there is none. A reference as
// JSON, a JSON string and the bare value are read, in base64url, because clients send all of them. The latter
// two are a reference with one key and without a type.
func (c *call) reference(name string) (*aas.Reference, error) {
	given := c.query.Get(name)
	if given == "" {
		return nil, nil
	}
	text, err := decodeID(name, given)
	if err != nil {
		return nil, err
	}
	var quoted string
	if json.Unmarshal([]byte(text), &quoted) == nil {
		if text = quoted; text == "" {
			return nil, nil
		}
	} else if strings.HasPrefix(strings.TrimSpace(text), "{") {
		ref, err := aas.Decode[aas.Reference]([]byte(text))
		if err != nil {
			return nil, inField(name, err)
		}
		if len(ref.Keys) == 0 {
			return nil, invalid(name, "has no key")
		}
		return ref, nil
	}
	return &aas.Reference{Keys: []aas.Key{{Value: text}}}, nil
}

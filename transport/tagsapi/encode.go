package tagsapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/tagsapi/internal/gen"
)

// The answers below are appended without reflection: for a batch of 500 tags encoding/json took most of
// the time of a request.

// tagSize is about what one encoded tag takes.
const tagSize = 320

// single has buffers for answers with one tag.
var single = sync.Pool{New: func() any { return new([]byte) }}

// tagAnswer is the schema TagAnswer.
type tagAnswer struct{ tag tags.Snapshot }

// VisitReadTagResponse implements gen.ReadTagResponseObject.
func (a tagAnswer) VisitReadTagResponse(w http.ResponseWriter) error {
	buffer := single.Get().(*[]byte)
	defer single.Put(buffer)
	body, err := appendTag(append((*buffer)[:0], `{"tag":`...), a.tag, allMembers)
	if err != nil {
		return err
	}
	*buffer = append(body, '}')
	return restapi.WriteJSON(w, http.StatusOK, *buffer)
}

// tagList is the schema TagList.
type tagList struct {
	tags   []tags.Snapshot
	total  int
	wanted members
}

// VisitListTagsResponse implements gen.ListTagsResponseObject.
func (l tagList) VisitListTagsResponse(w http.ResponseWriter) error {
	body, err := appendTags(append(make([]byte, 0, 40+len(l.tags)*tagSize), `{"tags":`...), l.tags, l.wanted)
	if err != nil {
		return err
	}
	body = strconv.AppendInt(append(body, `,"totalCount":`...), int64(l.total), 10)
	return restapi.WriteJSON(w, http.StatusOK, append(body, '}'))
}

// batchAnswer is the schema BatchReadAnswer.
type batchAnswer struct {
	tags   []tags.Snapshot
	errors []gen.BatchError
}

// VisitReadTagsResponse implements gen.ReadTagsResponseObject.
func (a batchAnswer) VisitReadTagsResponse(w http.ResponseWriter) error {
	failed, err := json.Marshal(a.errors)
	if err != nil {
		return err
	}
	body := append(make([]byte, 0, 40+len(failed)+len(a.tags)*tagSize), `{"errors":`...)
	body, err = appendTags(append(append(body, failed...), `,"tags":`...), a.tags, allMembers)
	if err != nil {
		return err
	}
	return restapi.WriteJSON(w, http.StatusOK, append(body, '}'))
}

func appendTags(dst []byte, list []tags.Snapshot, wanted members) ([]byte, error) {
	dst = append(dst, '[')
	var err error
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendTag(dst, list[i], wanted); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// members is a set of members of the schema Tag, by their places in memberNames.
type members uint32

const allMembers = ^members(0)

// memberNames are in the order of encoding/json for the generated type.
var memberNames = [...]string{"accessMode", "address", "currentValue", "dataType", "description", "driver", "lastUpdated", "maxValue",
	"minValue", "name", "quality", "qualityReason", "receivedAt", "unit"}

const (
	withAccessMode members = 1 << iota
	withAddress
	withCurrentValue
	withDataType
	withDescription
	withDriver
	withLastUpdated
	withMaxValue
	withMinValue
	withName
	withQuality
	withQualityReason
	withReceivedAt
	withUnit
)

// membersOf reads the query member fields.
func membersOf(names []string) (members, error) {
	if names == nil {
		return allMembers, nil
	}
	var wanted members
	for _, name := range names {
		i := slices.Index(memberNames[:], name)
		if i < 0 {
			return 0, tags.ErrInvalidRequest.Invalid(fault.Field{Field: "fields", Message: "must be of " + strings.Join(memberNames[:], ", ")})
		}
		wanted |= 1 << i
	}
	return wanted, nil
}

// appendTag appends the schema Tag, or those of its members that are wanted.
func appendTag(dst []byte, s tags.Snapshot, wanted members) ([]byte, error) {
	t, start := s.Tag, len(dst)
	if wanted&withAccessMode != 0 {
		dst = restapi.AppendString(append(dst, `,"accessMode":`...), string(t.Access))
	}
	if wanted&withAddress != 0 {
		dst = restapi.AppendString(append(dst, `,"address":`...), t.Address)
	}
	if wanted&withCurrentValue != 0 {
		var err error
		if dst, err = s.Sample.Value.AppendJSON(append(dst, `,"currentValue":`...)); err != nil {
			return nil, err
		}
	}
	if wanted&withDataType != 0 {
		dst = restapi.AppendString(append(dst, `,"dataType":`...), string(t.DataType))
	}
	if wanted&withDescription != 0 && t.Description != "" {
		dst = restapi.AppendString(append(dst, `,"description":`...), t.Description)
	}
	if wanted&withDriver != 0 {
		dst = restapi.AppendString(append(dst, `,"driver":`...), t.Driver)
	}
	if wanted&withLastUpdated != 0 {
		dst = restapi.AppendTime(append(dst, `,"lastUpdated":`...), s.Sample.SourceTime)
	}
	if wanted&withMaxValue != 0 && t.Max != nil {
		dst = restapi.AppendFloat(append(dst, `,"maxValue":`...), *t.Max)
	}
	if wanted&withMinValue != 0 && t.Min != nil {
		dst = restapi.AppendFloat(append(dst, `,"minValue":`...), *t.Min)
	}
	if wanted&withName != 0 {
		dst = restapi.AppendString(append(dst, `,"name":`...), t.Name)
	}
	if wanted&withQuality != 0 {
		dst = restapi.AppendString(append(dst, `,"quality":`...), s.Sample.Quality.String())
	}
	if reason := s.Sample.Reason.String(); wanted&withQualityReason != 0 && reason != "" {
		dst = restapi.AppendString(append(dst, `,"qualityReason":`...), reason)
	}
	if wanted&withReceivedAt != 0 && !s.Sample.ServerTime.IsZero() {
		dst = restapi.AppendTime(append(dst, `,"receivedAt":`...), s.Sample.ServerTime)
	}
	if wanted&withUnit != 0 && t.Unit != "" {
		dst = restapi.AppendString(append(dst, `,"unit":`...), t.Unit)
	}
	if len(dst) == start {
		return append(dst, "{}"...), nil
	}
	dst[start] = '{' // in place of the comma before the first member
	return append(dst, '}'), nil
}

package alerting

import (
	"slices"

	"github.com/otkit/otkit/alerting/internal/canon"
)

// Limits of a record. Longer texts are cut between characters.
const (
	MaxPairs      = 100     // labels, and annotations
	MaxPairName   = 256     // bytes of the name of a label or annotation
	MaxPairValue  = 8 << 10 // bytes of its value
	MaxRecordText = 8 << 10 // bytes of title and description
)

// Limits of a record in a list: at most 8 KiB altogether.
const (
	briefTitle       = 512
	briefDescription = 1 << 10
	briefValue       = 512     // bytes of the value of a label
	briefLabels      = 4 << 10 // bytes of all labels
)

// Brief returns the record as lists show it: without annotations, and with labels, title and description cut
// to a few kilobytes. Truncated names what is cut.
func (r Record) Brief() Record {
	r.Annotations = nil
	r.Truncated = slices.DeleteFunc(slices.Clone(r.Truncated), func(member string) bool { return member == "annotations" })
	if len(r.Title) > briefTitle {
		r.Title = canon.Cut(r.Title, briefTitle)
		r.truncate("title")
	}
	if len(r.Description) > briefDescription {
		r.Description = canon.Cut(r.Description, briefDescription)
		r.truncate("description")
	}
	size, longest := 0, 0
	for name, value := range r.Labels {
		size += len(name) + len(value)
		longest = max(longest, len(value))
	}
	if size > briefLabels || longest > briefValue {
		silence, silenced := r.Labels[LabelSilencedBy]
		r.Labels = canon.Pairs{Count: len(r.Labels), Name: MaxPairName, Value: briefValue, Total: briefLabels}.Bound(r.Labels)
		if silenced {
			r.Labels[LabelSilencedBy] = canon.Cut(silence, briefValue)
		}
		r.truncate("labels")
	}
	return r
}

// truncate notes that a member is not whole.
func (r *Record) truncate(member string) {
	if !slices.Contains(r.Truncated, member) {
		r.Truncated = append(r.Truncated, member)
	}
}

package alarms

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/otkit/otkit/alarms/internal/limits"
	"github.com/otkit/otkit/fault"
)

// MaxPageSize is the largest page of a list.
const MaxPageSize = 500

// maxSpan is the longest range of Trend and Analytics.
const maxSpan = 31 * 24 * time.Hour

// ListQuery selects occurrences and a page of them.
type ListQuery struct {
	Severities         SeveritySet // see ParseThreeLevel
	OnlyUnacknowledged bool
	State              ListState // default: ListActive for List, every occurrence for History
	Order              ListOrder // of List; default: OrderNewest
	Search                       // texts of at most 512 characters, at most 10 labels
	Page               int       // from 1
	PageSize           int       // 1..500
}

// List returns the occurrences of a state, by default the active ones, in the order of the query, with the number of all that match.
// The errors are ErrPageSizeExceeded and ErrInvalidRequest.
func (s *Service) List(ctx context.Context, q ListQuery) (Page, error) {
	query, err := q.paged()
	if err != nil {
		return Page{}, err
	}
	if err := q.Order.check(); err != nil {
		return Page{}, err
	}
	query.State = cmp.Or(query.State, ListActive)
	if q.Order == OrderPriority {
		return s.byPriority(ctx, query)
	}
	return s.occurrences(ctx, query, false)
}

// History returns every occurrence raised at start or later and before end, newest first, with the
// number of all that match. The errors are ErrInvalidTimeRange, ErrPageSizeExceeded and
// ErrInvalidRequest.
func (s *Service) History(ctx context.Context, start, end time.Time, q ListQuery) (Page, error) {
	if !start.Before(end) {
		return Page{}, ErrInvalidTimeRange.Because("start must be before end")
	}
	query, err := q.paged()
	if err != nil {
		return Page{}, err
	}
	query.Start, query.End = start, end
	return s.store.Occurrences(ctx, query)
}

func (q *ListQuery) paged() (Query, error) {
	offset, limit, err := q.Window()
	if err != nil {
		return Query{}, err
	}
	if _, err := ParseListState(string(q.State)); err != nil {
		return Query{}, err
	}
	if err := q.Search.Check(); err != nil {
		return Query{}, err
	}
	return Query{Severities: q.Severities, Unacknowledged: q.OnlyUnacknowledged, State: q.State, Search: q.Search,
		Offset: offset, Limit: limit, Count: true}, nil
}

// maxSearchLabels bounds Search.Labels.
const maxSearchLabels = 10

// Check returns an ErrInvalidRequest that names each member that is too long.
func (s *Search) Check() error {
	var bad []fault.Field
	for _, text := range [][2]string{{"source", s.Source}, {"text", s.Text}} {
		if msg := limits.Violation(text[1], 0, maxKey); msg != "" {
			bad = append(bad, fault.Field{Field: text[0], Message: msg})
		}
	}
	if len(s.Labels) > maxSearchLabels {
		bad = append(bad, fault.Field{Field: "label", Message: fmt.Sprintf("must not be more than %d", maxSearchLabels)})
	}
	for name, value := range s.Labels {
		msg := limits.Violation(name, 1, maxKey)
		if msg == "" {
			msg = limits.Violation(value, 0, limits.MaxMessage)
		}
		if msg != "" {
			bad = append(bad, fault.Field{Field: "label", Message: msg})
			break
		}
	}
	if len(bad) > 0 {
		return ErrInvalidRequest.Invalid(bad...)
	}
	return nil
}

// ParseLabels reads labels to search for, each of the form name=value. The error is an ErrInvalidRequest.
func ParseLabels(list []string) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	labels := make(map[string]string, len(list))
	for _, pair := range list {
		name, value, ok := strings.Cut(pair, "=")
		if before, again := labels[name]; !ok || name == "" || again && before != value {
			return nil, ErrInvalidRequest.Invalid(fault.Field{Field: "label", Message: "must be name=value, each name once"})
		}
		labels[name] = value
	}
	return labels, nil
}

// Window returns the number of entries before the page and on it. The errors are ErrPageSizeExceeded and
// ErrInvalidRequest.
func (q *ListQuery) Window() (offset, limit int, err error) {
	if err := checkPage(q.PageSize, "pageSize"); err != nil {
		return 0, 0, err
	}
	if q.Page < 1 {
		return 0, 0, ErrInvalidRequest.Invalid(fault.Field{Field: "page", Message: "must be 1 or more"})
	}
	return min(q.Page-1, math.MaxInt32/q.PageSize) * q.PageSize, q.PageSize, nil
}

func checkPage(size int, name string) error {
	if size < 1 {
		return ErrInvalidRequest.Invalid(fault.Field{Field: name, Message: "must be 1 or more"})
	}
	if size > MaxPageSize {
		return ErrPageSizeExceeded.Invalid(fault.Field{Field: name, Message: fmt.Sprintf("must be at most %d", MaxPageSize)})
	}
	return nil
}

// Active returns the occurrences that are active, unacknowledged and not suppressed, newest first.
func (s *Service) Active(ctx context.Context) ([]Occurrence, error) { return s.active(ctx, false) }

// ActiveBrief is Active without labels, which can be most of the data.
func (s *Service) ActiveBrief(ctx context.Context) ([]Occurrence, error) { return s.active(ctx, true) }

func (s *Service) active(ctx context.Context, brief bool) ([]Occurrence, error) {
	p, err := s.occurrences(ctx, Query{Active: true, Unacknowledged: true, Suppressed: ExcludeSuppressed, Limit: math.MaxInt32, NoLabels: brief}, true)
	for i := range p.Occurrences {
		if brief {
			p.Occurrences[i].Labels = nil
		}
	}
	return p.Occurrences, err
}

// RecentHistory returns the newest occurrences, at most limit of them, which is 1..500.
func (s *Service) RecentHistory(ctx context.Context, limit int) ([]Occurrence, error) {
	if err := checkPage(limit, "limit"); err != nil {
		return nil, err
	}
	p, err := s.store.Occurrences(ctx, Query{Limit: limit})
	return p.Occurrences, err
}

// Occurrence returns an occurrence, stored or not, or an ErrAlarmNotFound.
func (s *Service) Occurrence(ctx context.Context, id string) (Occurrence, error) {
	list, err := s.store.OccurrencesByID(ctx, []string{canonical(id)})
	switch {
	case err != nil:
		return Occurrence{}, err
	case len(list) > 0:
		return list[0], nil
	}
	if pending := s.pending.find(ByID(id)); pending != nil {
		return *pending, nil
	}
	return Occurrence{}, ErrAlarmNotFound
}

// OccurrencesByID returns the occurrences with these ids, in any order, each once. Unknown ids are omitted.
func (s *Service) OccurrencesByID(ctx context.Context, ids []string) ([]Occurrence, error) {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = canonical(id)
	}
	return s.store.OccurrencesByID(ctx, list)
}

// EventsOf returns a page of the events of an occurrence, oldest first, and the number of all. Pages count from 1 and
// have 1..500 events. The errors are ErrAlarmNotFound, ErrPageSizeExceeded and ErrInvalidRequest.
func (s *Service) EventsOf(ctx context.Context, id string, page, size int) ([]Event, int, error) {
	query, err := (&ListQuery{Page: page, PageSize: size}).paged()
	if err != nil {
		return nil, 0, err
	}
	o, err := s.Occurrence(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	return s.journal.EventsOf(ctx, o.Seq, query.Offset, query.Limit)
}

// Codes returns the codes of the conditions with these keys. Conditions that do not exist are created; only that
// requires a store that can be written.
func (s *Service) Codes(ctx context.Context, keys []string) (map[string]int64, error) {
	for _, key := range keys {
		if msg := limits.Violation(key, 1, maxKey); msg != "" {
			return nil, ErrInvalidRequest.Because("a key %s", msg)
		}
	}
	codes, err := s.codes.Codes(ctx, keys)
	if err != nil {
		return nil, err
	}
	var refs []Ref
	for _, key := range keys {
		if _, ok := codes[key]; !ok {
			refs = append(refs, Ref{Key: key, Create: true})
		}
	}
	if len(refs) == 0 {
		return codes, nil
	}
	err = s.do(ctx, refs, func(_ *draft, found []RefResult) error {
		for i, f := range found {
			codes[refs[i].Key] = f.Condition.Code
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return codes, nil
}

// Condition returns a condition by code or key, or an ErrAlarmNotFound.
func (s *Service) Condition(ctx context.Context, ref Ref) (Condition, error) {
	return s.store.Condition(ctx, ref)
}

// SuppressedConditions returns the conditions that are shelved, suppressed by design or out of service, by code.
func (s *Service) SuppressedConditions(ctx context.Context) ([]Condition, error) {
	return s.store.SuppressedConditions(ctx)
}

// Trim removes what ended before the given time; see [Trimmer]. If the store is not a Trimmer, Trim does nothing.
func (s *Service) Trim(ctx context.Context, before time.Time) error {
	if s.trimmer == nil {
		return nil
	}
	return s.trimmer.Trim(ctx, before)
}

// TrendPoint counts the occurrences raised in one hour.
type TrendPoint struct {
	Hour                     time.Time // UTC, on the hour
	Warning, Error, Critical int
	Total                    int // Info included
}

// Trend counts the occurrences raised at start or later and before end by the hour of UTC, ascending, including empty
// hours. If the range is empty or longer than 31 days, it returns an ErrInvalidTimeRange.
func (s *Service) Trend(ctx context.Context, start, end time.Time) ([]TrendPoint, error) {
	if err := checkSpan(start, end); err != nil {
		return nil, err
	}
	hours, err := s.statistics.HourlyCounts(ctx, start, end)
	if err != nil {
		return nil, err
	}
	var points []TrendPoint
	for at := start.UTC().Truncate(time.Hour); at.Before(end); at = at.Add(time.Hour) {
		p := TrendPoint{Hour: at}
		if len(hours) > 0 && hours[0].Start.Equal(at) {
			n := hours[0].Counts
			p.Warning, p.Error, p.Critical = n[Warning], n[Error], n[Critical]
			p.Total = n[Info] + n[Warning] + n[Error] + n[Critical]
			hours = hours[1:]
		}
		points = append(points, p)
	}
	return points, nil
}

func checkSpan(start, end time.Time) error {
	if !start.Before(end) {
		return ErrInvalidTimeRange.Because("start must be before end")
	}
	if end.Sub(start) > maxSpan {
		return ErrInvalidTimeRange.Because("it must not be longer than 31 days")
	}
	return nil
}

// ResolutionRequest records how a condition was resolved. ResolvedBy, ActionTaken and WasSuccessful are required.
type ResolutionRequest struct {
	ResolvedBy    string // at most 512 characters
	RecordedBy    string // name of the account that records it, which is not checked; may be empty
	ActionTaken   string // at most 4096 characters
	WasSuccessful *bool
	Notes         *string // at most 16384 characters
}

// Resolve stores what was done about a condition. The code may be any above 0. Resolve neither acknowledges nor clears.
// The error is an ErrInvalidRequest, also if there is no ResolutionStore.
func (s *Service) Resolve(ctx context.Context, code int64, r ResolutionRequest) (Resolution, error) {
	var bad []fault.Field
	if code < 1 {
		bad = append(bad, fault.Field{Field: "code", Message: "must be above 0"})
	}
	for _, text := range []struct {
		name, value string
		most        int
	}{{"resolvedBy", r.ResolvedBy, maxKey}, {"actionTaken", r.ActionTaken, maxComment}} {
		msg := limits.Violation(text.value, 1, text.most)
		if msg == "" && strings.TrimSpace(text.value) == "" {
			msg = "is required"
		}
		if msg != "" {
			bad = append(bad, fault.Field{Field: text.name, Message: msg})
		}
	}
	if r.WasSuccessful == nil {
		bad = append(bad, fault.Field{Field: "wasSuccessful", Message: "is required"})
	}
	if r.Notes != nil {
		if msg := limits.Violation(*r.Notes, 0, 4*maxComment); msg != "" {
			bad = append(bad, fault.Field{Field: "notes", Message: msg})
		}
	}
	if len(bad) > 0 {
		return Resolution{}, ErrInvalidRequest.Invalid(bad...)
	}
	if s.resolutions == nil {
		return Resolution{}, ErrInvalidRequest.Because("resolutions are not stored here")
	}
	return s.resolutions.AddResolution(ctx, Resolution{
		Code: code, ResolvedBy: r.ResolvedBy, RecordedBy: r.RecordedBy, ResolvedAt: s.clock(), ActionTaken: r.ActionTaken, WasSuccessful: *r.WasSuccessful, Notes: r.Notes,
	})
}

// Resolutions returns the resolutions of a code, newest first. If the code is below 1, or there is no ResolutionStore,
// it returns an ErrInvalidRequest.
func (s *Service) Resolutions(ctx context.Context, code int64) ([]Resolution, error) {
	if code < 1 {
		return nil, ErrInvalidRequest.Invalid(fault.Field{Field: "code", Message: "must be above 0"})
	}
	if s.resolutions == nil {
		return nil, ErrInvalidRequest.Because("resolutions are not stored here")
	}
	return s.resolutions.Resolutions(ctx, code)
}

// EachActive yields all active occurrences, suppressed ones too, newest first. An error ends the sequence.
func (s *Service) EachActive(ctx context.Context) iter.Seq2[Occurrence, error] {
	return func(yield func(Occurrence, error) bool) {
		for o, err := range each(ctx, s.store, Query{Active: true}) {
			if err != nil {
				yield(Occurrence{}, err)
				return
			}
			if !yield(*o, nil) {
				return
			}
		}
	}
}

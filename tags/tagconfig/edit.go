package tagconfig

import "github.com/otkit/otkit/fault"

// Edit is a change of the configuration.
type Edit struct {
	Put    []Config // items that are added, or replace those of their tags; of two for one tag the last counts
	Remove []string // ids of tags whose items are removed before Put is applied; unknown ids are ignored

	// Check, unless nil, is given the items that the edit would change, as they are when nothing else can change them any
	// more. If it returns an error, nothing is applied and the error is returned. It must be fast and must not call the Store.
	Check func(get func(tagID string) (Config, bool)) error
	// MaxItems is how many items the configuration may have for the edit to add one; 0 for no limit but Options.MaxItems.
	MaxItems int
	// WriteBehind returns when the Repository has the edit; the model file follows within a second. Without a Repository it does
	// nothing.
	WriteBehind bool

	// Report returns Result.Changes.
	Report bool

	checked bool      // Put is valid, and nobody else's
	kept    []*Config // the items of Put where the Store keeps them; nil if they come from elsewhere
}

// Result is what has become of an [Edit].
type Result struct {
	Put      int   // distinct tags that were named
	Added    int   // of these, the ones that had no item
	Removed  int   // items that are gone
	Total    int   // items that the configuration has now
	Revision int64 // of the configuration: it grows with each edit

	Changes FileEdit // with Edit.Report
}

// Reference is a use of a tag that its removal would leave without the tag.
type Reference struct {
	Tag  string `json:"tagId"`
	Kind string `json:"kind"` // such as alarmRule, derivedTag, submodelElement
	ID   string `json:"id"`   // of the user, among those of its kind
	Name string `json:"name"` // for people; may be empty
}

// maxUsers is how many users of tags an error lists.
const maxUsers = 20

// InUse returns an [ErrInUse] that lists who uses tags, at most 20 users, or nil if nobody does.
func InUse(users []Reference) error {
	if len(users) == 0 {
		return nil
	}
	err := ErrInUse
	if len(users) > maxUsers {
		err = err.Because("the first %d of %d users are listed", maxUsers, len(users))
		users = users[:maxUsers]
	}
	fields := make([]fault.Field, len(users))
	for i, u := range users {
		text := u.Kind + " " + u.ID
		if u.Name != "" && u.Name != u.ID {
			text += " (" + u.Name + ")"
		}
		fields[i] = fault.Field{Field: u.Tag, Message: "is used by " + text}
	}
	return err.Invalid(fields...)
}

// ItemChange is an item before and after an edit; nil for none.
type ItemChange struct {
	TagID    string
	Old, New *Config
}

// FileEdit is what a file has changed: the model file, see [Options.OnFileEdit], or one that was imported.
type FileEdit struct {
	Changes []ItemChange // by tag id, the first 100
	Total   int          // of the changes
}

// Values returns what the members of the changed items were and are, by tag id: only those that differ, nil for what is
// absent.
func (e FileEdit) Values() (before, after map[string]map[string]any) {
	before, after = map[string]map[string]any{}, map[string]map[string]any{}
	for _, c := range e.Changes {
		old, now := map[string]any{}, map[string]any{}
		for _, f := range c.Fields() {
			old[f.Field], now[f.Field] = f.Old, f.New
		}
		if c.Old != nil {
			before[c.TagID] = old
		}
		if c.New != nil {
			after[c.TagID] = now
		}
	}
	return before, after
}

// Fields returns which members differ, those of an item that is not there being nil.
func (c ItemChange) Fields() []FieldChange {
	old, now := c.Old, c.New
	if old == nil {
		old = &Config{TagID: c.TagID}
	}
	if now == nil {
		now = &Config{TagID: c.TagID}
	}
	return changedFields(old, now)
}

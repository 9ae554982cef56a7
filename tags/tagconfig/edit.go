package tagconfig

// Edit is a change of the configuration.
type Edit struct {
	Put    []Config // items that are added, or replace those of their tags; of two for one tag the last counts
	Remove []string // ids of tags whose items are removed before Put is applied; unknown ids are ignored

	// Check, unless nil, is given the items that the edit would change, as they are when nothing else can change them any
	// more. If it returns an error, nothing is applied and the error is returned. It must be fast and must not call the Store.
	Check func(get func(tagID string) (Config, bool)) error
	// MaxItems is how many items the configuration may have for the edit to add one; 0 for no limit but Options.MaxItems.
	MaxItems int
}

// Result is what has become of an [Edit].
type Result struct {
	Put      int   // distinct tags that were named
	Added    int   // of these, the ones that had no item
	Removed  int   // items that are gone
	Total    int   // items that the configuration has now
	Revision int64 // of the configuration: it grows with each edit
}

// Reference is a use of a tag that its removal would leave without the tag.
type Reference struct {
	Tag  string `json:"tagId"`
	Kind string `json:"kind"` // such as alarmRule, derivedTag, submodelElement
	ID   string `json:"id"`   // of the user, among those of its kind
	Name string `json:"name"` // for people; may be empty
}

package tagconfig

import "context"

// Repository stores the configuration, with its order and its revision, in a database. Package tagstest has
// its conformance suite. It must be safe for concurrent use, by several processes where they share it.
type Repository interface {
	// Load calls each for every item in the order of Position, and returns what else is stored. Before the first Apply
	// there is nothing, and the State is zero.
	Load(ctx context.Context, each func(Record) error) (State, error)

	// Apply stores an edit in one transaction, durably, and returns the new revision, from+1: records replace those of
	// their tags, or mark them as removed. If the revision is not from any more, Apply changes nothing and returns
	// [ErrRevision].
	Apply(ctx context.Context, from int64, change Changeset) (revision int64, err error)

	// Changes calls each for what has changed after revision since, removed items included, in no order, and returns the
	// State of now. If it is no longer known which items were removed since then, or since is of the future, it returns
	// [ErrRevision] before the first call; the caller loads again.
	Changes(ctx context.Context, since int64, each func(Record) error) (State, error)

	// NoteFile stores what is known of the model file. It changes no revision.
	NoteFile(ctx context.Context, file FileState) error
}

// Record is an item as a Repository stores it.
type Record struct {
	TagID    string
	Text     []byte // the item as JSON, as in the file; nil if it was removed
	Position int64  // orders the items as in the file
	Revision int64  // of the edit that stored it; Apply ignores it
}

// Changeset is an edit as a Repository stores it.
type Changeset struct {
	Records []Record   // one for each tag
	Header  []byte     // if not nil, it replaces that of the State
	File    *FileState // if not nil, it replaces that of the State
}

// State is what a Repository knows beside the items.
type State struct {
	Revision int64  // 0 before the first edit
	Header   []byte // the members of the model file beside its items, as a JSON object
	File     FileState
}

// FileState is what is known of the model file: its text as it was last written or read, and the one that was about to replace it.
type FileState struct{ Written, Next FileMark }

// FileMark identifies a text of the model file.
type FileMark struct {
	Hash     string // SHA-256 in hexadecimal; empty for no file
	Revision int64  // of the configuration that it has
}

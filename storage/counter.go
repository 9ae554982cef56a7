package storage

import "context"

// Before each schema had a version of its own, there was one version a set, in the row of schema_version with the
// set's name. The rows of today are named set/schema. The row of the set remains, with a version that programs of
// then do not know, so that they refuse the database instead of reading it wrongly.

// singleCounter has, for each set, the schemas that each version of the single counter belonged to. It is history
// and never changes.
var singleCounter = map[SetName][][]string{
	State: {
		{"accounts"}, {"tags"}, {"alarms"}, {"alerts"}, {"alerts"}, {"accounts"}, {"alerts"}, {"aas"},
		{"alerts"}, {"alarms"}, {"alerts"}, {"alarms"}, {"alerts"}, {"alarms", "alerts"},
	},
	History: {{"history"}, {"history"}},
}

// perSchema returns the version of a set's row since each schema has a version of its own.
func perSchema(set SetName) int { return len(singleCounter[set]) + 1 }

// splitCounter returns the version of each schema, by [schema.key], where the single counter of a set had a version.
// A schema that did not exist yet has none.
func splitCounter(set SetName, version int) map[string]int {
	versions := make(map[string]int)
	for _, names := range singleCounter[set][:version] {
		for _, name := range names {
			versions[string(set)+"/"+name]++
		}
	}
	return versions
}

// versions reads the versions in the database, by the names of their rows.
func (t *Tx) versions(ctx context.Context) (map[string]int, error) {
	versions := make(map[string]int)
	err := t.Each(ctx, "SELECT name, version FROM schema_version", nil, func(row Scanner) error {
		var (
			name    string
			version int
		)
		err := row.Scan(&name, &version)
		versions[name] = version
		return err
	})
	return versions, err
}

func (t *Tx) setVersion(ctx context.Context, name string, version int) error {
	_, err := t.Exec(ctx, `INSERT INTO schema_version (name, version) VALUES (?, ?)
		ON CONFLICT (name) DO UPDATE SET version = excluded.version`, name, version)
	return err
}

package storage

// table is what backup and restore need to know of a table.
type table struct {
	name   string
	key    string // the columns by which its rows are put in order
	serial string // the column that the database counts up, or empty
	seeded bool   // a new database has rows in it, which a restored one replaces
}

// tables lists every table of a set, but for schema_version.
func tables(set string) []table {
	if set == "history" {
		return []table{
			{name: "history_tag", key: "id", serial: "id"},
			{name: "history_wal", key: "seq", serial: "seq"},
			{name: "history_chunk", key: "tag_id, start_us"},
			{name: "history_total", key: "id", seeded: true},
		}
	}
	return []table{
		{name: "accounts", key: "name_key"},
		{name: "sessions", key: "id"},
		{name: "tag_writes", key: "id"},
		{name: "alarm_counter", key: "id", seeded: true},
		{name: "alarm_conditions", key: "code"},
		{name: "alarm_occurrences", key: "seq"},
		{name: "alarm_events", key: "seq"},
		{name: "alarm_resolutions", key: "id", serial: "id"},
		{name: "alarm_rules", key: "id"},
		{name: "alarm_rule_states", key: "rule_id"},
		{name: "alarm_rules_version", key: "id", seeded: true},
		{name: "alert_silences", key: "id"},
		{name: "alert_sources", key: "id"},
		{name: "alert_records", key: "id"},
		{name: "alert_cursor", key: "id", seeded: true},
		{name: "alert_deliveries", key: "id"},
		{name: "engine_keys", key: "id"},
		{name: "alert_posts", key: "seq", serial: "seq"},
		{name: "aas_documents", key: "kind, id"},
		{name: "aas_terms", key: "kind, name, value, id"},
		{name: "aas_files", key: "kind, id, name"},
		{name: "aas_counts", key: "kind, slot"},
	}
}

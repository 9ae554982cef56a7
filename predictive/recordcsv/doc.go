// Package recordcsv reads and writes failures and replacements as CSV, as spreadsheet programs do.
//
// # Columns
//
// The first row names the columns, in any order and case. Failures:
//
//	id           the record's id; empty or missing: a new one
//	equipmentId  required
//	component    what failed; may be empty
//	code         the fault code; may be empty
//	source       manual, alarm or csv; empty or missing: csv
//	start        required
//	noticed      may be empty
//	end          may be empty
//	note         may be empty
//
// Replacements:
//
//	id           the record's id; empty or missing: a new one
//	equipmentId  required
//	component    required
//	at           required
//	reason       required: failure or preventive
//	source       manual, alarm or csv; empty or missing: csv
//	note         may be empty
//
// A time is 2026-01-31T12:00:00Z, with any offset, or without one 2026-01-31 12:00:00, 2026-01-31 12:00 or 2026-01-31, in
// [Options].Location. Sources and reasons may be in any case. Files are in UTF-8, with or without a byte order mark, separated by commas or, if the first row has none, by semicolons,
// with any line ends. Empty rows are skipped. What is written has a byte order mark, commas and CRLF; times are in UTC.
//
// A text that a spreadsheet program would take for a formula has an apostrophe in front, which reading removes. Line breaks in notes
// become LF.
package recordcsv

// Package tagconfig keeps the tag configuration: which tags there are, on which driver and address,
// with which unit, limits and scaling. It lives in one JSON file that people may edit while the
// engine runs, the model file:
//
//	{"modelName": "line-4", "version": "1.0", "variables": [{"tagId": "plc.speed", ...}]}
//
// [Store] owns the file. Reloading works in both directions: [Store.Bulk] changes memory and file in
// one step, and [Store.Watch] takes over what an editor or a deployment writes. What the store can
// rely on, and what it promises:
//
//   - The file is replaced as a whole (temporary file, fsync, rename, fsync of the directory), so
//     that after a crash it is the old one or the new one. A Bulk that was answered is on disk.
//   - A broken file stops the start with an error that names the place. Later it is reported
//     ([Store.Err], and the log) and the last good configuration stays in force. When a Bulk comes
//     while the file is broken, the broken text is kept beside it as <file>.broken before the good
//     configuration replaces it.
//   - A file that is deleted while the engine runs is reported; the configuration stays in force and
//     the next Bulk writes it again.
//   - Members that this package does not know, of the file and of its items, survive a rewrite and
//     are reported ([Store.Unknown], and the log). Items keep their order. The text is laid out again, one item a line.
//   - One store, in one process, writes a file. Before each write the store takes over what an editor
//     has saved; an editor that saves in the instant between that and the rename loses.
//
// [Binder] applies the configuration to the tag engine, over what the drivers know by themselves.
// [Export], [Import] and [Diff] carry it to and from spreadsheets.
//
// # Choices
//
// The unit and the description of a tag are exactly those of its item. What else an item omits (an empty address; an absent minValue, maxValue, scalingFactor, offset, accessMode, nativeType,
// intervalMs, deadband, deadbandPercent or confirmWrites) is as the driver knows it: a short item does
// not take the scaling or the limits off a tag. A minValue or maxValue that is null takes the driver's
// limit off. Of a tag that its driver does not know, there are no limits, the scalingFactor is 1, the
// offset is 0 and the accessMode is ReadOnly then.
//
// Of two items for one tag, in the file or in a request, the last counts.
//
// A scalingFactor of 0 is refused, since a write could not be scaled back.
//
// # Spreadsheets
//
// The first row names the columns by the JSON member names, in any order and case. An empty cell is
// an absent member; the cell null in minValue or maxValue takes the driver's limit off. Numbers have a decimal point. CSV is UTF-8, separated by commas or semicolons; of
// an XLSX file the first sheet is read.
//
// A text cell of a CSV export that a spreadsheet program would take for a formula (it begins with
// = + - @, a tab or a line break) gets an apostrophe in front, at the start of the cell and after
// every separator inside it, because programs in other locales split cells there. Import takes
// exactly these apostrophes off again. XLSX cells have a type and need none of this.
package tagconfig

package alerting

// TemplateText is the subject and the body of messages in the language of text/template. Either may
// be empty for the default.
//
// A template sees [TemplateData] and may use if, with, variables, and range over .Labels. Of the
// functions there are and, or, not, eq, ne, lt, le, gt, ge, len and index of the language, and upper,
// lower and truncate N. Others, range over anything else or within another range, and templates that
// call templates are refused, so that every template ends soon and its output is small.
type TemplateText struct {
	Subject string
	Body    string
}

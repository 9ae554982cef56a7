package tagconfigapi

import (
	"encoding/json"
	"strings"

	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// maxWarnings is how many warnings one answer has.
const maxWarnings = 100

// warning is the schema TagConfigWarning.
type warning struct {
	TagID   string `json:"tagId"`
	Member  string `json:"member"`
	Message string `json:"message"`
}

// warnings are about items that were taken and may not be what was meant.
type warnings struct {
	Warnings []warning `json:"warnings,omitempty"` // the first 100
	Count    int       `json:"warningCount,omitempty"`
}

func (w *warnings) add(tagID, member, message string) {
	if w.Count++; w.Count <= maxWarnings {
		w.Warnings = append(w.Warnings, warning{tagID, member, message})
	}
}

// refused warns of an item whose tag its running driver cannot use.
func (w *warnings) refused(c *tagconfig.Config, why func(*tagconfig.Config) string) {
	if text := why(c); text != "" {
		w.add(c.TagID, "address", "refused: "+text)
	}
}

// bulk warns of members of the items of a list.
func (w *warnings) bulk(body []byte) {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) != nil {
		return
	}
	for _, item := range list {
		if !tagconfig.Regular(item) {
			var c tagconfig.Config
			_ = json.Unmarshal(item, &c) // it has been read before
			w.unknown(item, &c)
		}
	}
}

// unknown warns of members that items do not have and that are like one that they have. Others are kept for who put them there.
func (w *warnings) unknown(item []byte, c *tagconfig.Config) {
	for _, f := range restapi.UnknownMembers(item, c) {
		if strings.Contains(f.Message, "did you mean") {
			w.add(c.TagID, f.Field, f.Message)
		}
	}
}

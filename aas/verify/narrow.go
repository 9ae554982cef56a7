package verify

import (
	"fmt"
	"hash/maphash"
	"unicode/utf8"

	core "github.com/aas-core-works/aas-core3.1-golang/types"
	"github.com/aas-core-works/aas-core3.1-golang/verification"
)

// Most characters that texts may have by the metamodel.
const (
	maxIdentifier    = 2048
	maxName          = 128
	maxLabel         = 64
	maxTopic         = 255
	maxText          = 1023
	maxPreferredName = 255
	maxShortName     = 18
)

// narrow replaces texts that have no more characters than they may have, but more bytes, which is what
// aas-core counts. The instance is a copy.
func narrow(c core.IClass) {
	narrowTexts(c)
	if r, ok := c.(core.IReferable); ok {
		r.SetCategory(fitting(r.Category(), maxName))
	}
	switch c := c.(type) {
	case core.IIdentifiable:
		c.SetID(fit(c.ID(), maxIdentifier))
	case *core.AdministrativeInformation:
		c.SetTemplateID(fitting(c.TemplateID(), maxIdentifier))
	case *core.AssetInformation:
		c.SetGlobalAssetID(fitting(c.GlobalAssetID(), maxIdentifier))
		c.SetAssetType(fitting(c.AssetType(), maxIdentifier))
	case *core.SpecificAssetID:
		c.SetName(fit(c.Name(), maxLabel))
		c.SetValue(fit(c.Value(), maxIdentifier))
	case *core.Entity:
		c.SetGlobalAssetID(fitting(c.GlobalAssetID(), maxIdentifier))
	case *core.Key:
		c.SetValue(fit(c.Value(), maxIdentifier))
	case *core.Extension:
		c.SetName(fit(c.Name(), maxName))
	case *core.Qualifier:
		c.SetType(fit(c.Type(), maxName))
	case *core.BasicEventElement:
		c.SetMessageTopic(fitting(c.MessageTopic(), maxTopic))
	case *core.DataSpecificationIEC61360:
		c.SetValue(fitting(c.Value(), maxIdentifier))
	case *core.ValueReferencePair:
		c.SetValue(fit(c.Value(), maxIdentifier))
	}
}

func narrowTexts(c core.IClass) {
	switch c := c.(type) {
	case *core.LangStringNameType:
		c.SetText(fit(c.Text(), maxName))
	case *core.LangStringTextType:
		c.SetText(fit(c.Text(), maxText))
	case *core.LangStringPreferredNameTypeIEC61360:
		c.SetText(fit(c.Text(), maxPreferredName))
	case *core.LangStringShortNameTypeIEC61360:
		c.SetText(fit(c.Text(), maxShortName))
	case *core.LangStringDefinitionTypeIEC61360:
		c.SetText(fit(c.Text(), maxText))
	}
}

func fitting(text *string, limit int) *string {
	if text == nil || len(*text) <= limit {
		return text
	}
	return new(fit(*text, limit))
}

var seed = maphash.MakeSeed()

// fit returns a text in place of one of at most so many characters, but more bytes: one of 17 letters and
// digits, equal for equal texts and, for all that matters, only for these.
func fit(text string, limit int) string {
	if len(text) <= limit || utf8.RuneCountInString(text) > limit || !verification.MatchesXMLSerializableString(text) {
		return text
	}
	return fmt.Sprintf("x%016x", maphash.String(seed, text))
}

package verify

import (
	"strings"

	core "github.com/aas-core-works/aas-core3.1-golang/types"
)

// stretch brings an idShort of one letter to the most characters that it may have.
var stretch = strings.Repeat("_", 127)

// lengthen lengthens the idShort of one letter: metamodel 3.0 allows it (AASd-002), and aas-core wants
// two characters. Only idShorts of the greatest length could be taken for the longer ones. The instance
// is a copy.
func lengthen(c core.IClass) {
	r, ok := c.(core.IReferable)
	if !ok || r.IDShort() == nil || len(*r.IDShort()) != 1 {
		return
	}
	if b := (*r.IDShort())[0] | 0x20; b >= 'a' && b <= 'z' {
		r.SetIDShort(new(*r.IDShort() + stretch))
	}
}

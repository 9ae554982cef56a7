package aas

import "unicode/utf8"

// Validate finds what breaks the schema of descriptors in IDTA-01002, as [Submodel.Validate] does for a
// submodel.
func (v *ShellDescriptor) Validate() error { return check(v) }

func (v *ShellDescriptor) check(c *checker) {
	c.described("", v.ID, v.IDShort, v.Administration, v.Extensions)
	if _, ok := assetKinds[v.AssetKind]; !ok && v.AssetKind != "" {
		c.find("assetKind", "must be Type, Instance, Role or NotApplicable")
	}
	c.assetIDs("specificAssetIds", v.SpecificAssetIDs)
	c.endpoints("", v.Endpoints)
	seen := names{}
	for i := range v.SubmodelDescriptors {
		d, p := &v.SubmodelDescriptors[i], entryOf("submodelDescriptors", i)
		c.submodelDescriptor(p, d)
		if !seen.add(d.ID) {
			c.find(memberOf(p, "id"), "must be unique among the submodel descriptors")
		}
	}
}

// Validate is [ShellDescriptor.Validate] for the descriptor of a submodel.
func (v *SubmodelDescriptor) Validate() error { return check(v) }

func (v *SubmodelDescriptor) check(c *checker) { c.submodelDescriptor("", v) }

func (c *checker) submodelDescriptor(path string, v *SubmodelDescriptor) {
	c.described(path, v.ID, v.IDShort, v.Administration, v.Extensions)
	c.semantics(path, &v.Semantics)
	if len(v.Endpoints) == 0 {
		c.find(memberOf(path, "endpoints"), "must have at least one endpoint")
	}
	c.endpoints(path, v.Endpoints)
}

// described checks what both descriptors have.
func (c *checker) described(path, id, idShort string, a *Administration, extensions []Extension) {
	if n := utf8.RuneCountInString(id); n == 0 || n > MaxIDLength {
		c.find(memberOf(path, "id"), "must have 1 to 2048 characters")
	}
	c.administration(path, a)
	c.referable(path, &Referable{IDShort: idShort, Extensions: extensions})
}

func (c *checker) endpoints(path string, list []Endpoint) {
	for i := range list {
		e, p := &list[i], entryOf(memberOf(path, "endpoints"), i)
		if e.Interface == "" {
			c.find(memberOf(p, "interface"), "is required")
		}
		p = memberOf(p, "protocolInformation")
		if e.Protocol.Href == "" {
			c.find(memberOf(p, "href"), "is required")
		}
		for i, s := range e.Protocol.SecurityAttributes {
			if _, ok := securityTypes[s.Type]; !ok {
				c.find(memberOf(entryOf(memberOf(p, "securityAttributes"), i), "type"), "must be NONE, RFC_TLSA or W3C_DID")
			}
		}
	}
}

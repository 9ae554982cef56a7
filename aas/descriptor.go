package aas

// ShellDescriptor tells a registry where a shell is served.
type ShellDescriptor struct {
	Administration      *Administration
	AssetKind           AssetKind // empty when absent
	AssetType           string
	Endpoints           []Endpoint
	GlobalAssetID       string
	IDShort             string
	ID                  string
	SpecificAssetIDs    []SpecificAssetID
	SubmodelDescriptors []SubmodelDescriptor
	DisplayName         []LangString
	Description         []LangString
	Extensions          []Extension
	Unknown             string // see [Referable]
}

// SubmodelDescriptor tells a registry where a submodel is served.
type SubmodelDescriptor struct {
	Administration *Administration
	Endpoints      []Endpoint
	IDShort        string
	ID             string
	Semantics
	DisplayName []LangString
	Description []LangString
	Extensions  []Extension
	Unknown     string // see [Referable]
}

// Endpoint is one address that something is served at.
type Endpoint struct {
	Interface string // such as AAS-3.1 or SUBMODEL-3.1
	Protocol  ProtocolInformation
	Unknown   string // see [Referable]
}

// ProtocolInformation returns how to speak with an endpoint.
type ProtocolInformation struct {
	Href                    string
	EndpointProtocol        string
	EndpointProtocolVersion []string
	Subprotocol             string
	SubprotocolBody         string
	SubprotocolBodyEncoding string
	SecurityAttributes      []SecurityAttribute
	Unknown                 string // see [Referable]
}

// SecurityAttribute is one demand of an endpoint.
type SecurityAttribute struct {
	Type  string // NONE, RFC_TLSA or W3C_DID
	Key   string
	Value string
}

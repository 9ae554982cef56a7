package aas_test

import (
	"fmt"

	"github.com/otkit/otkit/aas"
)

func Example() {
	submodel, err := aas.Decode[aas.Submodel]([]byte(`{
		"modelType": "Submodel", "id": "https://example.com/pump", "idShort": "TechnicalData",
		"submodelElements": [{
			"modelType": "SubmodelElementCollection", "idShort": "RotationSpeed",
			"value": [{"modelType": "Property", "idShort": "Max", "valueType": "xs:int", "value": "5000"}]
		}]
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	path, err := aas.ParsePath("RotationSpeed.Max")
	if err != nil {
		fmt.Println(err)
		return
	}
	element, err := submodel.Element(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := aas.SetElementValue(element, []byte(`6000`)); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(aas.AppendValue(nil, submodel, aas.View{})))
	fmt.Println(aas.SetElementValue(element, []byte(`6000.5`)))
	// Output:
	// {"RotationSpeed":{"Max":6000}}
	// the request is not valid: the document must be in the lexical form of xs:int
}

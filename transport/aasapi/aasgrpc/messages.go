package aasgrpc

import (
	"encoding/json"

	"google.golang.org/protobuf/proto"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
	pb "github.com/otkit/otkit/proto/platform/v1"
	v1 "github.com/otkit/otkit/transport/aasapi/internal/v1"
)

// errDamaged means that a stored document cannot be read, which is not the caller's fault.
var errDamaged = fault.New(fault.Internal, "DOCUMENT_DAMAGED", "a stored document cannot be read")

// shellOf returns a stored document as a message.
func shellOf(d *repository.Document) (*pb.Shell, error) {
	shell, err := aas.Decode[aas.Shell](d.JSON)
	if err != nil {
		return nil, errDamaged.With("id", d.ID).Wrap(err)
	}
	m := fieldsOf(shell)
	m.ModelType, m.Json, m.Version = string(aas.KeyShell), string(v1.AppendDocument(nil, d)), d.Version
	return m, nil
}

// fieldsOf returns a shell as a message without json.
func fieldsOf(s *aas.Shell) *pb.Shell {
	asset := &pb.AssetInformation{AssetKind: string(s.AssetInformation.AssetKind), GlobalAssetId: s.AssetInformation.GlobalAssetID}
	for _, id := range s.AssetInformation.SpecificAssetIDs {
		asset.SpecificAssetIds = append(asset.SpecificAssetIds, &pb.SpecificAssetId{Name: id.Name, Value: id.Value})
	}
	m := &pb.Shell{Id: s.ID, IdShort: s.IDShort, AssetInformation: asset}
	for i := range s.Submodels {
		m.Submodels = append(m.Submodels, referenceOf(&s.Submodels[i]))
	}
	return m
}

func referenceOf(r *aas.Reference) *pb.Reference {
	if r == nil {
		return nil
	}
	m := &pb.Reference{Type: string(r.Type)}
	for _, k := range r.Keys {
		m.Keys = append(m.Keys, &pb.Key{Type: string(k.Type), Value: k.Value})
	}
	return m
}

// shellFrom reads a message, and what of a shell it would update.
func shellFrom(m *pb.Shell) (*aas.Shell, v1.Update, error) {
	if m.GetJson() != "" {
		return shellFromJSON(m)
	}
	asset := m.GetAssetInformation()
	given := &aas.Shell{AssetInformation: aas.AssetInformation{AssetKind: aas.AssetKind(asset.GetAssetKind()), GlobalAssetID: asset.GetGlobalAssetId()}}
	given.ID, given.IDShort = m.GetId(), m.GetIdShort()
	for _, id := range asset.GetSpecificAssetIds() {
		given.AssetInformation.SpecificAssetIDs = append(given.AssetInformation.SpecificAssetIDs, aas.SpecificAssetID{Name: id.GetName(), Value: id.GetValue()})
	}
	for _, reference := range m.GetSubmodels() {
		r := aas.Reference{Type: aas.ReferenceType(reference.GetType())}
		for _, k := range reference.GetKeys() {
			r.Keys = append(r.Keys, aas.Key{Type: aas.KeyType(k.GetType()), Value: k.GetValue()})
		}
		given.Submodels = append(given.Submodels, r)
	}
	if err := v1.Complete(given); err != nil {
		return nil, v1.Update{}, err
	}
	// By way of JSON the words of enumerations are checked as everywhere.
	shell, err := aas.Decode[aas.Shell](aas.Append(nil, given))
	if err != nil {
		return nil, v1.Update{}, err
	}
	return shell, v1.ShortUpdate(shell), nil
}

// shellFromJSON reads a message whose json stands for the whole shell. A field that is there as well
// must say the same: a caller that has changed only one of the two would else lose the change.
func shellFromJSON(m *pb.Shell) (*aas.Shell, v1.Update, error) {
	shell, update, err := v1.ParseUpdate([]byte(m.GetJson()))
	if err != nil {
		return nil, update, err
	}
	said := fieldsOf(shell)
	differs := ""
	switch {
	case m.GetId() != "" && m.GetId() != said.GetId():
		differs = "id"
	case m.GetIdShort() != "" && m.GetIdShort() != said.GetIdShort():
		differs = "id_short"
	case m.GetAssetInformation() != nil && !proto.Equal(m.GetAssetInformation(), said.GetAssetInformation()):
		differs = "asset_information"
	case len(m.GetSubmodels()) > 0 && !proto.Equal(&pb.Shell{Submodels: m.GetSubmodels()}, &pb.Shell{Submodels: said.GetSubmodels()}):
		differs = "submodels"
	}
	if differs != "" {
		return nil, update, aas.ErrInvalidRequest.Invalid(fault.Field{Field: "shell." + differs, Message: "differs from what shell.json says"})
	}
	return shell, update, nil
}

// submodelOf returns the JSON of a submodel as a message.
func submodelOf(doc []byte, version uint64) (*pb.Submodel, error) {
	s, err := aas.Decode[aas.Submodel](doc)
	if err != nil {
		return nil, errDamaged.Wrap(err)
	}
	return &pb.Submodel{Id: s.ID, IdShort: s.IDShort, SemanticId: referenceOf(s.SemanticID), SubmodelElements: elementsOf(s.Elements),
		ModelType: string(aas.KeySubmodel), Json: string(doc), Version: version}, nil
}

func elementsOf(list []aas.Element) []*pb.SubmodelElement {
	out := make([]*pb.SubmodelElement, len(list))
	for i, element := range list {
		m := &pb.SubmodelElement{ModelType: string(element.ElementKind()), IdShort: element.Common().IDShort}
		switch e := element.(type) {
		case *aas.Property:
			m.ValueType, m.Value = string(e.ValueType), e.Value
		case *aas.Collection:
			m.Elements = elementsOf(e.Value)
		case *aas.List:
			m.Elements = elementsOf(e.Value)
		case *aas.Entity:
			m.Elements = elementsOf(e.Statements)
		}
		out[i] = m
	}
	return out
}

// addSubmodel adds a submodel of a shell to an answer. What a provider adds in a form of its own has
// no id.
func addSubmodel(answer *pb.GetSubmodelsResponse, item *repository.ShellSubmodel) error {
	doc := &item.Document
	if doc.ID != "" {
		submodel, err := submodelOf(doc.JSON, doc.Version)
		answer.Submodels = append(answer.Submodels, submodel)
		return err
	}
	var provided struct {
		SubmodelType string `json:"submodelType"`
		SemanticID   any    `json:"semanticId"`
		Elements     []struct {
			IDShort string `json:"idShort"`
			Value   string `json:"value"`
		} `json:"elements"`
	}
	if err := json.Unmarshal(doc.JSON, &provided); err != nil {
		return errDamaged.Wrap(err)
	}
	semanticID, _ := provided.SemanticID.(string)
	m := &pb.ProvidedSubmodel{SubmodelType: provided.SubmodelType, SemanticId: semanticID, Json: string(doc.JSON)}
	for _, e := range provided.Elements {
		m.Elements = append(m.Elements, &pb.ProvidedElement{IdShort: e.IDShort, Value: e.Value})
	}
	answer.Provided = append(answer.Provided, m)
	return nil
}

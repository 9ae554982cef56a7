package mqttevents

import (
	"encoding/json"
	"github.com/otkit/otkit/aas/repository"
	"time"
)

const contentType = "application/cloudevents+json"

// typePrefix is how the types of events begin.
const typePrefix = "io.admin-shell.events.v1."

// cloudEvent is the form after CloudEvents 1.0.2, "JSON Event Format".
type cloudEvent struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         string    `json:"subject"` // the id of the document
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	Data            data      `json:"data"`
}

type data struct {
	Kind        string `json:"kind"`
	ID          string `json:"id"`
	IDShortPath string `json:"idShortPath,omitempty"`
	Version     uint64 `json:"version,omitempty"` // absent when the document is deleted
}

func encode(e repository.Event, source, id string) ([]byte, error) {
	return json.Marshal(cloudEvent{
		SpecVersion: "1.0", ID: id, Source: source, Type: typePrefix + string(e.Type), Subject: e.ID, Time: e.At.UTC(),
		DataContentType: "application/json",
		Data:            data{Kind: kindWord(e.Kind), ID: e.ID, IDShortPath: e.Path, Version: e.Version},
	})
}

func kindWord(k repository.Kind) string {
	switch k {
	case repository.KindShell:
		return "shell"
	case repository.KindSubmodel:
		return "submodel"
	case repository.KindConceptDescription:
		return "concept-description"
	case repository.KindShellDescriptor:
		return "shell-descriptor"
	case repository.KindSubmodelDescriptor:
		return "submodel-descriptor"
	case repository.KindAssetLinks:
		return "asset-links"
	default:
		return "package"
	}
}

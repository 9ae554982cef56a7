package bridgeapi

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasx"
	"github.com/otkit/otkit/aas/shellconfig"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/bridgeapi/internal/gen"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/problem"
)

// GetConfig implements GET /api/bridge/config.
func (h *handlers) GetConfig(context.Context, gen.GetConfigRequestObject) (gen.GetConfigResponseObject, error) {
	return gen.GetConfig200JSONResponse(h.o.Settings()), nil
}

// GetAASConfig implements GET /api/bridge/config/aas.
func (h *handlers) GetAASConfig(context.Context, gen.GetAASConfigRequestObject) (gen.GetAASConfigResponseObject, error) {
	c, version := h.Shell.Get()
	return gen.GetAASConfig200JSONResponse{Body: h.shellOf(c), Headers: gen.GetAASConfig200ResponseHeaders{ETag: strconv.Quote(version)}}, nil
}

// PutAASConfig implements PUT /api/bridge/config/aas.
func (h *handlers) PutAASConfig(ctx context.Context, r gen.PutAASConfigRequestObject) (gen.PutAASConfigResponseObject, error) {
	if r.Body == nil {
		return nil, problem.ErrInvalidRequest.Because("body is empty")
	}
	var matches func(string) bool
	if given := r.Params.IfMatch; given != "" {
		matches = func(version string) bool { return hasETag(given, version) }
	}
	c, version, err := h.Shell.Merge(ctx, *r.Body, matches)
	if err != nil {
		return nil, err
	}
	return gen.PutAASConfig200JSONResponse{Body: h.shellOf(c), Headers: gen.PutAASConfig200ResponseHeaders{ETag: strconv.Quote(version)}}, nil
}

// hasETag reports whether a header If-Match has the ETag of a version, or *. Weak tags never match.
func hasETag(header, version string) bool {
	for tag := range strings.SplitSeq(header, ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || tag == strconv.Quote(version) {
			return true
		}
	}
	return false
}

func (h *handlers) shellOf(c shellconfig.Config) gen.AASConfig {
	return gen.AASConfig{ID: c.ID, IDShort: c.IDShort, GlobalAssetID: c.GlobalAssetID, EquipmentCategory: c.EquipmentCategory,
		ActiveSubmodels: c.ActiveSubmodels, AvailableSubmodels: h.Shell.Available(), Nameplate: plateOf(link.Nameplate(c.Nameplate))}
}

func plateOf(n link.Nameplate) gen.Nameplate {
	return gen.Nameplate{ManufacturerName: n.ManufacturerName, ManufacturerProductDesignation: n.ManufacturerProductDesignation,
		SerialNumber: n.SerialNumber, YearOfConstruction: n.YearOfConstruction, HardwareVersion: n.HardwareVersion, SoftwareVersion: n.SoftwareVersion}
}

// exportShell implements GET /api/bridge/config/aas/export.
func (h *handlers) exportShell(w http.ResponseWriter, r *http.Request) {
	format := cmp.Or(r.URL.Query().Get("format"), "json")
	if format != "json" && format != "aasx" {
		restapi.Error(w, r, problem.ErrInvalidRequest.Invalid(fault.Field{Field: "format", Message: "must be json or aasx"}))
		return
	}
	select {
	case <-h.exports:
	case <-r.Context().Done():
		return
	}
	defer func() { h.exports <- struct{}{} }()
	_, version := h.Shell.Get()
	version = fmt.Sprintf("%s-%x-%x-%s", version, h.Tags.Revision(), h.started.UnixNano(), format)
	w.Header().Set("ETag", strconv.Quote(version))
	if hasETag(strings.ReplaceAll(r.Header.Get("If-None-Match"), "W/", ""), version) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	env := h.Shell.Environment()
	name, body := "application/json", []byte(nil)
	if format == "json" {
		body = aas.Append(nil, env)
	} else {
		var b bytes.Buffer
		if err := aasx.Write(&b, &aasx.Package{Environment: *env}, aasx.Options{}); err != nil {
			restapi.Error(w, r, err)
			return
		}
		name, body = "application/asset-administration-shell-package", b.Bytes()
		w.Header().Set("Content-Disposition", `attachment; filename="`+env.Shells[0].IDShort+`.aasx"`)
	}
	w.Header().Set("Content-Type", name)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	// The next export waits: who reads slowly, on purpose or not, must not keep it long.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(exportTime + time.Duration(len(body)/exportRate)*time.Second))
	_, _ = w.Write(body)
}

// How long an export may take to be read: exportTime, and a second for each exportRate bytes.
const (
	exportTime = 10 * time.Second
	exportRate = 2 << 20
)

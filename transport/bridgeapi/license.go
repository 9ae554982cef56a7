package bridgeapi

import (
	"context"

	"github.com/otkit/otkit/discovery/license"
	"github.com/otkit/otkit/transport/bridgeapi/internal/gen"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// GetLicense implements GET /api/bridge/license.
func (h *handlers) GetLicense(context.Context, gen.GetLicenseRequestObject) (gen.GetLicenseResponseObject, error) {
	return gen.GetLicense200JSONResponse(licenseOf(h.License.State())), nil
}

// ActivateLicense implements POST /api/bridge/license/activate.
func (h *handlers) ActivateLicense(ctx context.Context, r gen.ActivateLicenseRequestObject) (gen.ActivateLicenseResponseObject, error) {
	if r.Body == nil || r.Body.LicenseKey == "" {
		return nil, restapi.Required("licenseKey")
	}
	state, err := h.License.Activate(ctx, r.Body.LicenseKey)
	if err != nil {
		return nil, err
	}
	return gen.ActivateLicense200JSONResponse(licenseOf(state)), nil
}

func licenseOf(s license.State) gen.License {
	out := gen.License{Edition: s.Edition, Valid: s.Valid, Licensee: s.Licensee, BridgeID: s.BridgeID,
		Features: append([]string{}, s.Features...), IssuedAt: s.IssuedAt, ExpiresAt: s.ExpiresAt}
	if s.Problem != nil {
		out.Problem = s.Problem.Error()
	}
	return out
}

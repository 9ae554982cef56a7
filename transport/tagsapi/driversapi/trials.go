package driversapi

import (
	"github.com/otkit/otkit/transport/internal/restapi"
	"net/http"
	"strconv"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags/drivers"
	"github.com/otkit/otkit/transport/problem"
)

// flag returns a query member that is true or false; absent and empty ones are false.
func flag(r *http.Request, name string) (bool, error) {
	word := r.URL.Query().Get(name)
	if word == "" {
		return false, nil
	}
	on, err := strconv.ParseBool(word)
	if err != nil {
		return false, problem.ErrInvalidRequest.Invalid(fault.Field{Field: name, Message: "must be true or false"})
	}
	return on, nil
}

// count returns a query member that is a number from low to high.
func count(r *http.Request, name string, low, high, otherwise int) (int, error) {
	word := r.URL.Query().Get(name)
	if word == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(word)
	if err != nil || n < low || n > high {
		return 0, problem.ErrInvalidRequest.Invalid(fault.Field{Field: name, Message: "must be " + strconv.Itoa(low) + " to " + strconv.Itoa(high)})
	}
	return n, nil
}

func (a *API) testDefinition(w http.ResponseWriter, r *http.Request) error {
	var body definition
	if err := read(r, &body); err != nil {
		return err
	}
	def, err := body.definition()
	if err != nil {
		return err
	}
	if def.Type == "" {
		return drivers.ErrInvalid.Invalid(fault.Field{Field: "type", Message: "is required"})
	}
	return a.try(w, r, def)
}

func (a *API) test(w http.ResponseWriter, r *http.Request) error {
	name := restapi.PathParam(r, "id")
	return a.try(w, r, drivers.Definition{ID: name})
}

func (a *API) try(w http.ResponseWriter, r *http.Request, def drivers.Definition) error {
	points, err := count(r, "points", 1, drivers.MaxTestPoints, drivers.DefaultTestPoints)
	if err != nil {
		return err
	}
	t, err := a.service.Test(r.Context(), def, points)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, trialOf(t))
}

// maxBrowsed is the most points in one page.
const maxBrowsed = 1000

func (a *API) browse(w http.ResponseWriter, r *http.Request) error {
	name := restapi.PathParam(r, "id")
	page, err := count(r, "page", 1, 1_000_000, 1)
	if err != nil {
		return err
	}
	size, err := count(r, "pageSize", 1, maxBrowsed, 100)
	if err != nil {
		return err
	}
	list, total, err := a.service.Browse(r.Context(), drivers.Definition{ID: name}, (page-1)*size, size)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, browsedOf(list, total))
}

package accountsapi

import (
	"context"
	"encoding/json"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/accountsapi/internal/gen"
	"github.com/otkit/otkit/transport/audited"
	"github.com/otkit/otkit/transport/internal/restapi"
)

var errChanged = fault.New(fault.Conflict, "VERSION_CHANGED", "the account has been changed meanwhile")

// ListUsers implements GET /api/v1/users.
func (a *handlers) ListUsers(ctx context.Context, r gen.ListUsersRequestObject) (gen.ListUsersResponseObject, error) {
	page, size := restapi.Or(r.Params.Page, 1), restapi.Or(r.Params.PageSize, defaultPageSize)
	if err := checkPage(page, size); err != nil {
		return nil, err
	}
	list, err := a.accounts.List(ctx)
	if err != nil {
		return nil, err
	}
	first := min((page-1)*size, len(list))
	answer := gen.UserPage{Items: []gen.User{}, TotalCount: int64(len(list)), Page: page, PageSize: size}
	for _, one := range list[first:min(first+size, len(list))] {
		answer.Items = append(answer.Items, userOf(one))
	}
	return gen.ListUsers200JSONResponse(answer), nil
}

// CreateUser implements POST /api/v1/users.
func (a *handlers) CreateUser(ctx context.Context, r gen.CreateUserRequestObject) (gen.CreateUserResponseObject, error) {
	switch {
	case r.Body == nil || r.Body.Username == "":
		return nil, restapi.Required("username")
	case r.Body.Password == "":
		return nil, restapi.Required("password")
	case len(r.Body.Roles) == 0:
		return nil, restapi.Required("roles")
	}
	change, err := changeOf(r.Body.Roles, r.Body.Enabled, r.Body.Password)
	if err != nil {
		return nil, err
	}
	made, err := a.accounts.Create(ctx, r.Body.Username, change)
	if err != nil {
		return nil, err
	}
	return gen.CreateUser201JSONResponse{Body: userOf(made), Headers: gen.CreateUser201ResponseHeaders{ETag: tagOf(made)}}, nil
}

// GetUser implements GET /api/v1/users/{username}.
func (a *handlers) GetUser(ctx context.Context, r gen.GetUserRequestObject) (gen.GetUserResponseObject, error) {
	found, err := a.accounts.Account(ctx, r.Username)
	if err != nil {
		return nil, err
	}
	return gen.GetUser200JSONResponse{Body: userOf(found), Headers: gen.GetUser200ResponseHeaders{ETag: tagOf(found)}}, nil
}

// ReplaceUser implements PUT /api/v1/users/{username}.
func (a *handlers) ReplaceUser(ctx context.Context, r gen.ReplaceUserRequestObject) (gen.ReplaceUserResponseObject, error) {
	if r.Body == nil {
		return nil, restapi.Required("roles")
	}
	change, err := changeOf(r.Body.Roles, r.Body.Enabled, r.Body.Password)
	if err != nil {
		return nil, err
	}
	change.If = unchanged(ctx)
	changed, err := a.accounts.Change(ctx, r.Username, change)
	if err != nil {
		return nil, err
	}
	return gen.ReplaceUser200JSONResponse{Body: userOf(changed), Headers: gen.ReplaceUser200ResponseHeaders{ETag: tagOf(changed)}}, nil
}

// DeleteUser implements DELETE /api/v1/users/{username}.
func (a *handlers) DeleteUser(ctx context.Context, r gen.DeleteUserRequestObject) (gen.DeleteUserResponseObject, error) {
	if err := a.accounts.Delete(ctx, r.Username, unchanged(ctx)); err != nil {
		return nil, err
	}
	return gen.DeleteUser204Response{}, nil
}

// changeOf returns the change that a body asks for.
func changeOf(roles []gen.Role, enabled *bool, password string) (accounts.Change, error) {
	c := accounts.Change{Password: password}
	switch len(roles) {
	case 0:
	case 1:
		role := accounts.Role(roles[0])
		if !role.Valid() {
			return c, accounts.ErrInvalidAccount.Invalid(fault.Field{Field: "roles", Message: "must be Viewer, Operator or Admin"})
		}
		c.Role = role
	default:
		return c, accounts.ErrInvalidAccount.Invalid(fault.Field{Field: "roles", Message: "must be one role: it includes the lower ones"})
	}
	if enabled != nil {
		disabled := !*enabled
		c.Disabled = &disabled
	}
	return c, nil
}

// unchanged returns the condition of the header If-Match, nil without one.
func unchanged(ctx context.Context) func(accounts.Account) error {
	holds := restapi.Precondition(restapi.IfMatchOf(ctx), errChanged)
	if holds == nil {
		return nil
	}
	return func(a accounts.Account) error { return holds(tagOf(a)) }
}

// tagOf returns the entity tag of an account. A sign-in does not change it.
func tagOf(a accounts.Account) string { return restapi.ETag(a.UpdatedAt.UnixMicro()) }

func userOf(a accounts.Account) gen.User {
	return gen.User{Username: a.Name, Roles: []gen.Role{gen.Role(a.Role)}, Enabled: !a.Disabled, Origin: gen.UserOfStore,
		CreatedAt: a.CreatedAt, LastSignIn: a.LastSignIn}
}

// auditedUsers describes changes of accounts. Passwords stay out of the log.
func auditedUsers(service *accounts.Service) map[string]audited.Description {
	before := func(ctx context.Context, c audited.Call) any {
		a, err := service.Account(ctx, c.Param("username"))
		if err != nil {
			return nil
		}
		return map[string]any{"roles": []accounts.Role{a.Role}, "enabled": !a.Disabled}
	}
	after := func(c audited.Call) any {
		var body map[string]json.RawMessage
		if !c.Decode(&body) {
			return nil
		}
		values := map[string]any{}
		for _, name := range []string{"roles", "enabled"} {
			if value, ok := body[name]; ok {
				values[name] = value
			}
		}
		if _, ok := body["password"]; ok {
			values["password"] = "***"
		}
		return values
	}
	named := func(c audited.Call) []string {
		var body struct{ Username string }
		if !c.Decode(&body) || !accounts.ValidName(body.Username) {
			return nil
		}
		return []string{body.Username}
	}
	return map[string]audited.Description{
		"createUser":  {Objects: named, After: after},
		"replaceUser": {Before: before, After: after},
		"deleteUser":  {Before: before},
	}
}

package rest

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/openapi/aasapi"
	"github.com/otkit/otkit/openapi/alarmsapi"
	"github.com/otkit/otkit/openapi/alertingapi"
	"github.com/otkit/otkit/openapi/authapi"
	"github.com/otkit/otkit/openapi/tagconfigapi"
	"github.com/otkit/otkit/openapi/tagsapi"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/problem"
)

// Surfaces are what Mount serves. A nil one is left out.
type Surfaces struct {
	Auth      *Auth
	Tags      *Tags
	TagConfig *TagConfig
	Alarms    *Alarms
	Alerting  *Alerting
	AAS       *AAS
	// Body is put around every handler, behind the guard: who may not call has no body read. It may
	// be nil.
	Body func(http.Handler) http.Handler
}

// Mount registers the routes of the surfaces. The router is expected to be guarded (auth.Guard) and
// to have the middleware of package transport/middleware in front.
func Mount(r chi.Router, s Surfaces) {
	if s.Body == nil {
		s.Body = func(next http.Handler) http.Handler { return next }
	}
	if s.Auth != nil {
		h := authapi.NewStrictHandlerWithOptions(s.Auth, []authapi.StrictMiddlewareFunc{withRemote},
			authapi.StrictHTTPServerOptions{RequestErrorHandlerFunc: decodeError, ResponseErrorHandlerFunc: answerError})
		authapi.HandlerWithOptions(h, authapi.ChiServerOptions{BaseRouter: r, ErrorHandlerFunc: parameterError,
			Middlewares: []authapi.MiddlewareFunc{s.Body}})
	}
	if s.Tags != nil {
		h := tagsapi.NewStrictHandlerWithOptions(s.Tags, []tagsapi.StrictMiddlewareFunc{withRequest},
			tagsapi.StrictHTTPServerOptions{RequestErrorHandlerFunc: decodeError, ResponseErrorHandlerFunc: answerError})
		tagsapi.HandlerWithOptions(h, tagsapi.ChiServerOptions{BaseRouter: r, ErrorHandlerFunc: parameterError,
			Middlewares: []tagsapi.MiddlewareFunc{s.Body}})
	}
	if s.TagConfig != nil {
		h := tagconfigapi.NewStrictHandlerWithOptions(s.TagConfig, nil,
			tagconfigapi.StrictHTTPServerOptions{RequestErrorHandlerFunc: decodeError, ResponseErrorHandlerFunc: answerError})
		tagconfigapi.HandlerWithOptions(h, tagconfigapi.ChiServerOptions{BaseRouter: r, ErrorHandlerFunc: parameterError,
			Middlewares: []tagconfigapi.MiddlewareFunc{s.Body}})
		r.Method(http.MethodGet, "/api/v1.0/config/tags/export", s.Body(http.HandlerFunc(s.TagConfig.Export)))
		r.Method(http.MethodPost, "/api/v1.0/config/tags/import", s.Body(http.HandlerFunc(s.TagConfig.Import)))
	}
	mountAlarms(r, s)
	if s.AAS != nil {
		h := aasapi.NewStrictHandlerWithOptions(s.AAS, nil,
			aasapi.StrictHTTPServerOptions{RequestErrorHandlerFunc: decodeError, ResponseErrorHandlerFunc: answerError})
		aasapi.HandlerWithOptions(h, aasapi.ChiServerOptions{BaseRouter: r, ErrorHandlerFunc: parameterError,
			Middlewares: []aasapi.MiddlewareFunc{s.Body}})
	}
}

func mountAlarms(r chi.Router, s Surfaces) {
	if s.Alarms != nil {
		h := alarmsapi.NewStrictHandlerWithOptions(s.Alarms, nil,
			alarmsapi.StrictHTTPServerOptions{RequestErrorHandlerFunc: decodeError, ResponseErrorHandlerFunc: answerError})
		alarmsapi.HandlerWithOptions(h, alarmsapi.ChiServerOptions{BaseRouter: r, ErrorHandlerFunc: parameterError,
			Middlewares: []alarmsapi.MiddlewareFunc{s.Body}})
	}
	if s.Alerting != nil {
		h := alertingapi.NewStrictHandlerWithOptions(s.Alerting, nil,
			alertingapi.StrictHTTPServerOptions{RequestErrorHandlerFunc: decodeError, ResponseErrorHandlerFunc: answerError})
		alertingapi.HandlerWithOptions(h, alertingapi.ChiServerOptions{BaseRouter: r, ErrorHandlerFunc: parameterError,
			Middlewares: []alertingapi.MiddlewareFunc{s.Body}})
		r.Method(http.MethodPost, WebhookPath, s.Body(http.HandlerFunc(s.Alerting.Receive)))
	}
}

type remoteKey struct{}

// withRemote gives the handlers of logins the caller's address, which throttling needs.
func withRemote(next authapi.StrictHandlerFunc, _ string) authapi.StrictHandlerFunc {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		return next(context.WithValue(ctx, remoteKey{}, r.RemoteAddr), w, r, request)
	}
}

func remoteOf(ctx context.Context) string {
	remote, _ := ctx.Value(remoteKey{}).(string)
	return remote
}

type requestKey struct{}

// withRequest gives the stream what the generated code does not: the query as it was sent, and HEAD.
func withRequest(next tagsapi.StrictHandlerFunc, operation string) tagsapi.StrictHandlerFunc {
	if operation != "StreamTags" {
		return next
	}
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		return next(context.WithValue(ctx, requestKey{}, r), w, r, request)
	}
}

func answerError(w http.ResponseWriter, r *http.Request, err error) {
	problem.Write(w, r, err, problem.FamilyOf(r.URL.Path))
}

func decodeError(w http.ResponseWriter, r *http.Request, err error) {
	answerError(w, r, problem.FromDecode(err))
}

// parameterError answers a path or query parameter that cannot be read.
func parameterError(w http.ResponseWriter, r *http.Request, err error) {
	name, rule, base := parameterName(err), parameterRule(err), problem.ErrInvalidRequest
	if rule == isRequired && (name == "start" || name == "end") { // half a time range is none
		base = tags.ErrInvalidTimeRange
	}
	answerError(w, r, base.Invalid(fault.Field{Field: name, Message: rule}).Wrap(err))
}

const isRequired = "is required"

// parameterName finds the parameter that a generated error is about. Each generated package has
// error types of its own with the same members, so there is no type to ask for.
func parameterName(err error) string {
	v := reflect.Indirect(reflect.ValueOf(err))
	if v.Kind() == reflect.Struct {
		if name := v.FieldByName("ParamName"); name.IsValid() && name.Kind() == reflect.String {
			return name.String()
		}
	}
	return "parameter"
}

func parameterRule(err error) string {
	switch name := reflect.Indirect(reflect.ValueOf(err)).Type().Name(); name {
	case "RequiredParamError", "RequiredHeaderError":
		return isRequired
	case "TooManyValuesForParamError":
		return "must be given once"
	default:
		if strings.HasSuffix(err.Error(), "is empty, can't bind its value") {
			return "must not be empty"
		}
		return "cannot be read as the type that it has in the OpenAPI document"
	}
}

// DropEmptyQuery takes query members without a value out of a request: they count as absent.
//
// A blank in a timestamp is taken for the + of its offset, which many a client forgets to encode.
func DropEmptyQuery(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if query := withoutEmptyMembers(r.URL.RawQuery); query != r.URL.RawQuery {
			u := *r.URL
			u.RawQuery = query
			r2 := *r
			r2.URL = &u
			r = &r2
		}
		next.ServeHTTP(w, r)
	})
}

func withoutEmptyMembers(query string) string {
	if query == "" {
		return query
	}
	var kept []string
	for member := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(member, "=")
		switch {
		case value == "":
			continue
		case isTime[name]:
			member = name + "=" + plusOfOffset.Replace(value)
		}
		kept = append(kept, member)
	}
	return strings.Join(kept, "&")
}

var (
	isTime       = map[string]bool{"start": true, "end": true, "startDate": true, "endDate": true}
	plusOfOffset = strings.NewReplacer("+", "%2B", "%20", "%2B")
)

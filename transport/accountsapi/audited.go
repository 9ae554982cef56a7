package accountsapi

import (
	"context"
	"maps"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/transport/audited"
)

// Audited describes changes of accounts to the audit log. caller is that of [Options].
func Audited(service *accounts.Service, caller func(context.Context) Caller) map[string]audited.Description {
	own := func(ctx context.Context, _ audited.Call) any {
		if c := caller(ctx); c.Account != "" {
			return map[string]string{"account": c.Account}
		}
		return nil
	}
	all := map[string]audited.Description{
		"changePassword": {NoValues: true, Before: own},
		"endSessions": {Objects: func(c audited.Call) []string {
			if account := c.Query("account"); account != "" {
				return []string{account}
			}
			return nil
		}, Before: own},
		"endSession": {Before: func(ctx context.Context, c audited.Call) any {
			s, err := service.Session(ctx, c.Param("sessionId"))
			if err != nil {
				return nil
			}
			return map[string]any{"account": s.Account, "address": s.Address}
		}},
		"logout": {Before: own},
	}
	maps.Copy(all, auditedUsers(service))
	return all
}

package server_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/storetest"
	pb "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/storage"
)

// engines starts servers that share a PostgreSQL database, with the accounts of withAccounts.
func engines(t testing.TB, n int) []*platform {
	t.Helper()
	dsn := pgtest.DSN(t)
	list := make([]*platform, n)
	for i := range list {
		db := storetest.OpenPostgres(t, dsn, storage.Options{}) // closed after the server
		if i == 0 {
			service, err := accounts.New(db.Accounts(), db.Sessions(), accounts.Options{Hash: accounts.HashParams{MemoryKiB: 8, Passes: 1}})
			require.NoError(t, err)
			for name, role := range map[string]accounts.Role{"viewer": accounts.Viewer, "operator": accounts.Operator, "admin": accounts.Admin} {
				require.NoError(t, service.Add(t.Context(), name, password, role))
			}
		}
		list[i] = start(t, func(o *engine.Options) {
			o.Accounts.Accounts, o.Accounts.Sessions, o.Tags.Writes = db.Accounts(), db.Sessions(), db.Writes()
			o.Alarms.Alarms, o.Alarms.Resolutions, o.Alarms.Rules, o.Alarms.RuleStates = db.Alarms(), db.Resolutions(), db.AlarmRules(), db.AlarmRules()
			o.Alerting.Silences, o.Alerting.History, o.Alerting.Outbox, o.Alerting.DeadLetters = db.Silences(), db.AlertHistory(), db.Outbox(), db.Outbox()
			o.Shared = &engine.Shared{Keys: db.Keys()}
		})
	}
	return list
}

func TestEnginesOnOneDatabaseTellTheSame(t *testing.T) {
	t.Parallel()
	two := engines(t, 2)
	token := two[0].token(accounts.Operator)
	two[1].tokens[accounts.Operator] = token // which the other engine takes

	var boards, demos []listener
	var streams []pb.PlatformApi_SubscribeAlarmsClient
	for _, p := range two {
		boards = append(boards, p.listen("/hubs/alarms", "WebSockets", token), p.listen("/hubs/alarms", "ServerSentEvents", token))
		demos = append(demos, p.listen("/hubs/demo", "WebSockets", token))
		api, ctx := p.rpc(accounts.Operator)
		stream, err := api.SubscribeAlarms(ctx, &pb.SubscribeAlarmsRequest{})
		require.NoError(t, err)
		_, err = stream.Header()
		require.NoError(t, err)
		streams = append(streams, stream)
	}
	for _, l := range append(demos, boards...) {
		l.await("started")
	}

	const n = 10
	var raised []alarms.Occurrence
	for i := range n { // in turns
		raised = append(raised, two[i%2].raise(fmt.Sprint("k", i), alarms.Critical))
	}
	for _, o := range raised { // each engine, each alarm once, in the order of the journal
		for _, s := range streams {
			m, err := s.Recv()
			require.NoError(t, err)
			require.Equal(t, o.ID, m.GetAlarm().GetId())
		}
		for _, l := range demos {
			require.Equal(t, o.ID, l.await("OnAlarmRaised")[0].(map[string]any)["id"])
		}
	}
	for _, l := range boards {
		for _, o := range raised { // in the order of the journal, and nothing twice
			require.Equal(t, o.Message, l.await("ReceiveAlarm")[0])
		}
	}

	// What one has raised is acknowledged on the other, once.
	path := "/api/v1/alarms/" + raised[0].ID + "/acknowledge"
	require.Equal(t, 200, two[1].call(accounts.Operator, http.MethodPost, path, map[string]any{"comment": "seen"}).status)
	requireProblem(t, two[0].call(accounts.Operator, http.MethodPost, path, map[string]any{"comment": "seen"}), 409, "ALREADY_ACKNOWLEDGED")
	sub, err := two[0].Alarms().Subscribe(alarms.SubscribeOptions{All: true})
	require.NoError(t, err)
	defer sub.Close()
	_, err = two[1].Alarms().Clear(t.Context(), alarms.ByID(raised[0].ID), "", "")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for cleared := false; !cleared; {
		events, err := sub.Next(ctx, 0)
		require.NoError(t, err)
		cleared = events[len(events)-1].Kind == alarms.Cleared
	}
	for _, l := range boards {
		require.Contains(t, l.await("ReceiveAlarm", "OnAlarmChanged")[0], "Resolved: ")
	}

	// After a logout on one engine the other one refuses the token too.
	require.Equal(t, 204, two[1].call(accounts.Operator, http.MethodPost, "/api/v1/auth/logout", nil).status)
	require.Eventually(t, func() bool {
		return two[0].call(accounts.Operator, http.MethodGet, "/api/v1/alarms", nil).status == http.StatusUnauthorized
	}, patience, 50*time.Millisecond)
	for _, l := range boards {
		l.await("closed", "OnAlarmChanged")
	}
}

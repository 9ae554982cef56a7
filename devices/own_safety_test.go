package devices_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
)

// permissive are policies of a program that knows neither stops nor states.
var permissive = safetyFunc(func(s devices.Situation) devices.Decision { return devices.Decision{Allowed: true, Time: s.Now} })

func TestWhatPeopleDecideHoldsForOwnPolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newFaultyRig(t, drive, permissive)
		defer r.close()
		ids := 0
		refusal := func() string {
			ids++
			got, err := r.Submit(t.Context(), move(fmt.Sprint(ids), "agv", 5, 5), "anna")
			if err != nil {
				require.ErrorIs(t, err, devices.ErrRefused)
			}
			return got.Decision.Reason
		}
		_, err := r.Submit(t.Context(), stop("stop"), "anna")
		require.NoError(t, err)
		require.Equal(t, "emergency stop: the emergency stop of the device is latched until it is reset", refusal())
		_, err = r.Submit(t.Context(), command("reset", "agv", devices.ResetEmergencyStop, nil), "anna")
		require.NoError(t, err)
		require.Empty(t, refusal())
		_, err = r.Change(t.Context(), "agv", devices.MaintenanceBegins)
		require.NoError(t, err)
		require.Equal(t, "operating mode: the device is in state Maintenance", refusal())
		_, err = r.Change(t.Context(), "agv", devices.MaintenanceEnds)
		require.NoError(t, err)
		_, err = r.Change(t.Context(), "agv", devices.Decommission)
		require.NoError(t, err)
		require.Equal(t, "operating mode: the device is in state Decommissioned", refusal())
	})
}

func TestMisspeltParameterOfAMoveIsRefused(t *testing.T) {
	_, err := command("1", "agv", devices.MoveTo, map[string]any{"x": 1, "y": 2, "spead": 0.1}).Move()
	require.ErrorIs(t, err, devices.ErrInvalid)
	require.ErrorContains(t, err, "parameters.spead is not one of x, y, z, theta, speed, map")
}

// A command that a stop has canceled at a device that cannot be reached is not known to have ended.
func TestCanceledCommandWhoseOutcomeIsNotKnownIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, do := range map[string]func(ctx context.Context, o devices.Order) (map[string]any, error){
			"says so": func(ctx context.Context, _ devices.Order) (map[string]any, error) {
				<-ctx.Done()
				return nil, fmt.Errorf("not confirmed: %w", devices.ErrUnknownOutcome)
			},
			"does not return": func(ctx context.Context, _ devices.Order) (map[string]any, error) {
				<-ctx.Done()
				time.Sleep(time.Minute)
				return nil, errors.New("late")
			},
		} {
			r, _ := newFaultyRig(t, do, testSafety{})
			ended := make(chan devices.Record, 1)
			go func() {
				got, err := r.Submit(t.Context(), move("runs", "agv", 5, 5), "anna")
				require.NoError(t, err)
				ended <- got
			}()
			synctest.Wait()
			_, err := r.Submit(t.Context(), stop("stop"), "anna")
			require.NoError(t, err)
			got := <-ended
			require.Equal(t, devices.Lost, got.Phase, name)
			require.Contains(t, got.Result.Message, "emergency stop, but what the device did is not known", name)
			time.Sleep(2 * time.Minute)
			r.close()
		}
	})
}

// shy is a robot that reports only when it is asked.
type shy struct {
	*robot
	refresh func(ctx context.Context) error
	asked   int
}

func (s *shy) Refresh(ctx context.Context, _ string) error {
	s.asked++
	return s.refresh(ctx)
}

func TestDeviceIsAskedForAReportBeforeACommandIsJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		executor := &shy{robot: &robot{do: func(context.Context, devices.Order) (map[string]any, error) { return nil, nil }}}
		fresh := safetyFunc(func(s devices.Situation) devices.Decision {
			age := s.Now.Sub(s.Device.Telemetry.Time)
			return devices.Decision{Allowed: age < time.Second, Reason: age.String(), Time: s.Now}
		})
		s, err := devices.New(t.Context(), devices.NewMemory(), devices.Options{Safety: fresh, Executor: func(string) devices.Executor { return executor }})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close(t.Context())) }()
		_, err = s.Create(t.Context(), "agv", "AGV", "")
		require.NoError(t, err)
		report := func() error { return s.Report("agv", devices.Telemetry{State: devices.Idle}) }
		require.NoError(t, report())
		_, err = s.Submit(t.Context(), command("1", "agv", "read", nil), "anna")
		require.NoError(t, err)
		require.Zero(t, executor.asked, "the report is new")

		time.Sleep(30 * time.Second)
		executor.refresh = func(context.Context) error { return report() }
		_, err = s.Submit(t.Context(), command("2", "agv", "read", nil), "anna")
		require.NoError(t, err)
		require.Equal(t, 1, executor.asked)

		time.Sleep(30 * time.Second)
		executor.refresh = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		began := time.Now()
		_, err = s.Submit(t.Context(), stop("stop"), "anna")
		require.NoError(t, err)
		require.Equal(t, began, time.Now(), "a stop does not wait for a report")
		require.Equal(t, 1, executor.asked)
		_, err = s.Submit(t.Context(), command("3", "agv", "read", nil), "anna")
		require.ErrorIs(t, err, devices.ErrRefused)
		require.Equal(t, 2*time.Second, time.Since(began))
	})
}

package modbus

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/simonvetter/modbus"

	"github.com/otkit/otkit/tags"
)

// verdict is what an error of the library means for the unit and the connection.
type verdict uint8

const (
	unsent         verdict = iota // the request did not go out
	answered                      // the unit did what was asked, or refused it with an exception
	begun                         // the unit took the request and is not done with it (exception 05)
	silent                        // the gateway reports that the unit does not answer; the connection is in order
	outcomeUnknown                // no answer, or one that makes no sense: a late one may come, or the rest of this one
	gone                          // the connection has ended
)

// uncertain holds when the unit may have done what was asked although there is an error. An exception
// is an answer: the unit refused.
func (v verdict) uncertain() bool { return v >= begun }

// judge translates an error of the library. The translated one keeps it as its cause.
func judge(err error) (verdict, error) {
	var known modbus.Error
	if !errors.As(err, &known) {
		// The library has no type for exceptions that the protocol does not define.
		if strings.HasPrefix(err.Error(), "unknown exception code") {
			return answered, fmt.Errorf("%w: %w", tags.ErrDevice, err)
		}
		return gone, fmt.Errorf("%w: %w", tags.ErrNotConnected, err)
	}
	switch known {
	case modbus.ErrRequestTimedOut:
		return outcomeUnknown, fmt.Errorf("%w: %w", tags.ErrTimeout, err)
	case modbus.ErrGWTargetFailedToRespond:
		return silent, fmt.Errorf("%w: %w", tags.ErrTimeout, err)
	case modbus.ErrIllegalDataAddress:
		return answered, fmt.Errorf("%w: %w", tags.ErrNoSuchAddress, err)
	case modbus.ErrIllegalFunction, modbus.ErrIllegalDataValue, modbus.ErrServerDeviceFailure,
		modbus.ErrServerDeviceBusy, modbus.ErrMemoryParityError, modbus.ErrGWPathUnavailable:
		return answered, fmt.Errorf("%w: %w", tags.ErrDevice, err)
	case modbus.ErrAcknowledge:
		return begun, fmt.Errorf("%w: %w", tags.ErrDevice, err)
	}
	return outcomeUnknown, fmt.Errorf("%w: garbled answer: %w", tags.ErrDevice, err)
}

// endsCall holds for errors that concern the call as a whole, not the items of one request.
func endsCall(err error) bool {
	return errors.Is(err, tags.ErrNotConnected) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded)
}

// lacksAddress holds for the refusal that means a part of a run, and nothing else.
func lacksAddress(err error) bool { return errors.Is(err, modbus.ErrIllegalDataAddress) }

// maySplit holds for refusals that can come from a part of a run: devices use these three for
// addresses that they lack and for runs that are too long for them.
func maySplit(err error) bool {
	return lacksAddress(err) || errors.Is(err, modbus.ErrIllegalDataValue) ||
		errors.Is(err, modbus.ErrServerDeviceFailure)
}

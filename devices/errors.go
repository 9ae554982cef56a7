package devices

import "github.com/otkit/otkit/fault"

// The errors of this package.
var (
	ErrInvalid       = fault.New(fault.Invalid, "INVALID_DEVICE", "invalid request")
	ErrNotFound      = fault.New(fault.NotFound, "DEVICE_NOT_FOUND", "device not found")
	ErrExists        = fault.New(fault.AlreadyExists, "DEVICE_EXISTS", "device exists already")
	ErrMismatch      = fault.New(fault.Invalid, "DEVICE_ID_MISMATCH", "Device ID mismatch")
	ErrState         = fault.New(fault.Conflict, "DEVICE_STATE", "the state of the device does not allow this")
	ErrCommandReused = fault.New(fault.Conflict, "COMMAND_ID_REUSED", "commandId was used with another command")
	ErrCommandDone   = fault.New(fault.Conflict, "COMMAND_DONE", "the command has ended")
	ErrNoCommand     = fault.New(fault.NotFound, "COMMAND_NOT_FOUND", "command not found")
	ErrBusy          = fault.New(fault.TooMany, "DEVICE_BUSY", "too many commands wait for the device")
	ErrRefused       = fault.New(fault.Forbidden, "SAFETY_VIOLATION", "Safety violation")
	ErrTooMany       = fault.New(fault.TooMany, "TOO_MANY_DEVICES", "too many devices")
	ErrClosed        = fault.New(fault.Unavailable, "DEVICES_CLOSED", "the service is closed")

	// ErrNotOwner: another engine has the devices, or none has them at present. Nothing was begun.
	ErrNotOwner = fault.New(fault.Unavailable, "DEVICES_ELSEWHERE", "no engine carries out the commands of devices at present")
	// ErrUnanswered: the engine that has the devices has not answered.
	ErrUnanswered = fault.New(fault.Unavailable, "DEVICES_UNANSWERED", "the engine that carries out the commands of devices has not answered: whether this was done is not known")
)

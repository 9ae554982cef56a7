// Package modbus is the tag driver for Modbus TCP, RTU on a serial port, RTU over TCP and Modbus/TCP
// Security (TLS).
//
// # Addresses
//
// An address names a table and a place in it, in one of two notations:
//
//	HR:0      holding register 0, as on the wire (0..65535)
//	IR:0      input register 0
//	CO:0      coil 0
//	DI:0      discrete input 0
//	40001     the same holding register 0 in the classic notation, which counts from 1:
//	          the first digit is the table (0 coils, 1 discrete inputs, 3 input registers,
//	          4 holding registers), the other four or five the number, 00001 or 400001
//
// Two things may be added to either. A unit in front, as in 3/HR:10 or 3/40011, names another unit
// of the same gateway than the driver's own. A bit behind, as in HR:10.3 or 40011.3, picks one bit of
// a register, 0 (the least) to 15. Letters may be small.
//
// # Native types
//
// Point.Native is the type in which the device stores the value: Bool, Int16, UInt16, Int32, UInt32, Int64,
// UInt64, Float32, Float64, or String:n for n bytes, two a register. Without it, an Int tag is Int16,
// a Float tag Float32 and a Bool tag Bool; a String or a Bytes tag needs String:n. Bool is for coils,
// discrete inputs and single bits of registers, and for nothing else.
//
// A byte order may follow, as in Float32;CDAB. A letter is a byte, A the most significant one, in the
// order in which the device sends them; 64-bit values continue in the same way. ABCD is the order of the
// protocol and the default, CDAB has the low word first, BADC swaps the bytes of each register, DCBA
// does both. Values of one register and strings have no order of words: there CDAB counts as ABCD
// and DCBA as BADC.
//
// # Values
//
// A reading has the type of its tag and is raw, not scaled. A number that does not fit is
// tags.ErrType: NaN and the infinities, a UInt64 above the largest Int, text that is not UTF-8.
// An Int tag on a Float32 or Float64 takes the nearest whole number. A String ends before its first
// zero byte; Bytes are all n bytes.
//
// On writing, a Float for an integer register is rounded to the nearest whole number, because scaling
// back rarely results in one exactly. What is then outside the register's range, a text of more than n
// bytes or Bytes of any other length than n is tags.ErrInvalidValue for that item. A text is filled
// up with zero bytes.
//
// # Writing
//
// Each item is one request: function 5 for a coil, 6 for one register, 16 for more. A bit of a
// register is read, changed and written back, which is not atomic: a device that changes the other
// bits of that register between the two requests loses its change. Nothing is repeated. A
// write without an answer or with a garbled one, and one with the exception 05 (acknowledge) or 0B (the
// gateway got no response), ends in tags.ErrUncertain: the device may have taken the value. With every
// other exception the device has refused it.
//
// # Reading
//
// Points of one unit and table are sorted and joined to runs, one request each, of at most 125
// registers or 2000 bits, or what Unit.MaxRegisters allows. When a device refuses a run, the run is
// halved until the points that the device lacks stand alone; each half is a request of its own. Where
// it had to be cut is remembered until the next Connect. The exceptions 03 and 04 may mean an address
// as well as the device as a whole: when nothing of both halves can be read, such a run is left in one
// piece for a minute. One poll halves at most 100 runs, or one for every five points.
//
// # Units that do not answer
//
// A unit without a usable answer gets no more requests in the same poll. Units that answer are read
// first. After one timeout, a poll sends nothing to the other units that did not answer before. Where
// several units are polled, one that has not answered several times in a row is skipped: its points get
// tags.ErrTimeout immediately, until the next attempt is due, after 10 s. The attempts at all skipped
// units share that time evenly. When one answers again, the others are due. So dead units behind a
// gateway cost the others at most one timeout a poll, and are found again soon. A unit that is polled
// alone is never skipped, and a single lost answer does not end the poll.
//
// # Late answers
//
// A connection on which an answer is missing or garbled is replaced at once, because the late answer
// could be taken for that of another request. In Modbus TCP each answer has the number of its request,
// so there a unit that is polled alone keeps its connection while it is silent, for 15 s at a time. In
// RTU and in RTU over TCP it has not: there the link stays closed for one more Timeout, and what the gateway
// has kept meanwhile is received and thrown away. What remains is the risk of an answer that comes
// later than that, twice the Timeout after its request, and that is of the same unit, function and
// length as the one that is then waited for: it is taken for it, and so may be those that follow. The
// Timeout must therefore be longer than the gateway's own, and gateways that speak Modbus TCP are
// better.
package modbus

// Package linked is the engine's side of the links of bridges. A [Hub] serves the links; to the tag engine, each bound bridge is a
// driver ([Hub.Driver]) whose values come by themselves and whose writes go down the link.
//
// # Samples
//
// Batches become history in their order. A batch is acknowledged once its samples, its events and the position of its last entry are
// stored. What comes a second time is dropped by its number; numbers that are missing are reported to [Bindings]. Batches that
// wait together are stored together. While the tag engine cannot store, or has no driver for the bridge yet, batches wait: the bridge sends no more than a
// few before they are acknowledged, see package link.
//
// # Writes
//
// A write whose outcome the bridge did not report in time, or before the link ended, wraps [tags.ErrUncertain]. One that was not sent has
// certainly failed. A bridge does not carry out a write after its deadline, which is by a clock of the link that no setting of
// the engine's clock moves.
package linked

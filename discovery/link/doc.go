// Package link is the contract between a bridge and its engine: the messages that travel over the link, and the format of its samples.
//
// # The link
//
// The bridge opens the link, so that it works through NAT, and keeps it open. Each side sends frames: a bridge [FromBridge], an engine
// [FromEngine]. Package transport/bridgelink carries them over gRPC, and [Pipe] in memory. Neither changes their order.
//
// # Opening
//
// The bridge sends [Hello]. The engine answers with [Welcome], or ends the link with [ErrRefused] if it has no binding for the bridge. The
// refusal names the engine: another one at a reused address must not make the bridge free.
// Engines that share a plant have one name. Of these, one at a time has the link of a bridge; the others end it with [ErrElsewhere], see [SentTo]. A bridge that
// does not reach that one says so in [Hello].Unreachable, and the engine that it reaches takes the link over. [Reach] tells a bridge of all engines.
// The first time, Hello has the binding token, and Welcome a session key in exchange. The bridge stores the key durably and then sends a
// second Hello with the key on the same link, which has no answer. From then on the engine refuses the token. Until then the token
// stays valid and is exchanged for the same key, so that neither side is locked out if the other one stops in between. Later links begin with
// Hello and the key.
//
// Then the bridge sends its dictionary ([Names]), its [Manifest] if Welcome asks for it, and one or more [Live] frames with the newest value of
// each tag: an engine that has restarted knows no value, and a tag may not change for days.
//
// # Samples
//
// A bridge numbers what it delivers ([Entry]) from 1, without gaps, in the order in which it was taken. It stores entries in blocks and sends
// them in order as [Batch]. The engine stores a batch, then its position, and then sends [Ack]; the bridge keeps what is not acknowledged and
// sends it again on the next link. The engine drops what it has seen. A batch that begins after the next number means that the bridge
// has dropped entries; the engine reports how many. The numbers belong to an epoch, a random id made with the buffer: a new or emptied buffer is a new epoch.
// A bridge whose own last number is below the position of Welcome has lost the end of its buffer in a crash. It begins a new epoch, else the engine would take
// new entries for ones that it has seen.
//
// A bridge has at most [MaxUnackedBatches] batches and [MaxUnackedBytes] bytes of data on their way. An engine ends a link that exceeds it.
//
// While there is a backlog, the newest value of each tag goes ahead of the batches as [Live]. [Batch].Late says how many of a
// batch's leading entries were overtaken in this way.
//
// # The end
//
// An engine that ends a link says why by its error. A bridge that is made free by its own people while the link is open sends [Released] as
// its last frame and waits until the engine ends the link; everything else that ends a link is an interruption.
//
// # Writes
//
// [Write] goes to the bridge and [Written] returns. A bridge never carries out a write after its deadline, which is by the clock of
// [Ping]: a process that was stopped and continues must not move a machine.
package link

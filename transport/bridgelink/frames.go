package bridgelink

import (
	"iter"
	"math"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/otkit/otkit/discovery/link"
	platformv1 "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/tags"
)

// maxMessage is the size limit of a message, and partSize of the parts of long lists, in bytes, about.
const (
	maxMessage = 1 << 20
	partSize   = 256 << 10
)

// bridgeMessages returns the messages of a frame: one, or several for a long list.
func bridgeMessages(f link.FromBridge) iter.Seq[*platformv1.BridgeFrame] {
	return func(yield func(*platformv1.BridgeFrame) bool) {
		switch {
		case f.Names != nil:
			nameMessages(f.Names, yield)
		case f.Manifest != nil:
			manifestMessages(f.Manifest, yield)
		case f.Browsed != nil:
			browsedMessages(f.Browsed, yield)
		default:
			yield(bridgeMessage(f))
		}
	}
}

func bridgeMessage(f link.FromBridge) *platformv1.BridgeFrame {
	switch {
	case f.Batch != nil:
		return &platformv1.BridgeFrame{Frame: &platformv1.BridgeFrame_Batch{Batch: &platformv1.BridgeBatch{
			First: f.Batch.First, Count: clamp(f.Batch.Count), Data: f.Batch.Data, Late: clamp(f.Batch.Late)}}}
	case f.Live != nil:
		return &platformv1.BridgeFrame{Frame: &platformv1.BridgeFrame_Live{Live: &platformv1.BridgeLive{Data: f.Live.Data}}}
	case f.Pong != nil:
		return &platformv1.BridgeFrame{Frame: &platformv1.BridgeFrame_Pong{Pong: &platformv1.BridgePong{
			Time: timestamppb.New(f.Pong.Time), Buffered: f.Pong.Buffer.Waiting, Bytes: f.Pong.Buffer.Bytes, MaxBytes: f.Pong.Buffer.MaxBytes,
			Dropped: f.Pong.Buffer.Dropped, OldestSeconds: f.Pong.Buffer.OldestSeconds}}}
	case f.Released != nil:
		return &platformv1.BridgeFrame{Frame: &platformv1.BridgeFrame_Released{Released: &platformv1.BridgeReleased{}}}
	case f.Written != nil:
		return &platformv1.BridgeFrame{Frame: &platformv1.BridgeFrame_Written{Written: &platformv1.BridgeWritten{
			Id: f.Written.ID, Outcome: f.Written.Outcome, Error: valid(f.Written.Error)}}}
	case f.Hello != nil:
		h := f.Hello
		return &platformv1.BridgeFrame{Frame: &platformv1.BridgeFrame_Hello{Hello: &platformv1.BridgeHello{
			Protocol: clamp(h.Protocol), BridgeId: h.BridgeID, Token: h.Token, Key: h.Key, Epoch: h.Epoch, Version: h.Version, ManifestHash: h.ManifestHash,
			Unreachable: h.Unreachable}}}
	}
	return &platformv1.BridgeFrame{}
}

// engineMessage returns the message of a frame.
func engineMessage(f link.FromEngine) *platformv1.EngineFrame {
	switch {
	case f.Ack != nil:
		return &platformv1.EngineFrame{Frame: &platformv1.EngineFrame_Ack{Ack: &platformv1.EngineAck{Through: f.Ack.Through}}}
	case f.Ping != nil:
		return &platformv1.EngineFrame{Frame: &platformv1.EngineFrame_Ping{Ping: &platformv1.EnginePing{Time: timestamppb.New(f.Ping.Time)}}}
	case f.Write != nil:
		return &platformv1.EngineFrame{Frame: &platformv1.EngineFrame_Write{Write: &platformv1.EngineWrite{
			Id: f.Write.ID, Tag: f.Write.Tag, Value: valueMessage(f.Write.Value), Deadline: timestamppb.New(f.Write.Deadline)}}}
	case f.Browse != nil:
		return &platformv1.EngineFrame{Frame: &platformv1.EngineFrame_Browse{Browse: &platformv1.EngineBrowse{Id: f.Browse.ID}}}
	case f.Reach != nil:
		return &platformv1.EngineFrame{Frame: &platformv1.EngineFrame_Pins{Pins: &platformv1.EnginePins{
			Pins: f.Reach.Pins, EngineUrls: f.Reach.URLs, Silence: duration(f.Reach.Silence)}}}
	case f.Welcome != nil:
		w := f.Welcome
		return &platformv1.EngineFrame{Frame: &platformv1.EngineFrame_Welcome{Welcome: &platformv1.EngineWelcome{
			EngineId: w.EngineID, Key: w.Key, Position: w.Position, WantManifest: w.WantManifest, Time: timestamppb.New(w.Time),
			Pins: w.Reach.Pins, EngineUrls: w.Reach.URLs, Silence: duration(w.Reach.Silence)}}}
	}
	return &platformv1.EngineFrame{}
}

// engineFrame returns the frame of a message from an engine.
func engineFrame(m *platformv1.EngineFrame) (link.FromEngine, error) {
	switch f := m.GetFrame().(type) {
	case *platformv1.EngineFrame_Ack:
		return link.FromEngine{Ack: &link.Ack{Through: f.Ack.GetThrough()}}, nil
	case *platformv1.EngineFrame_Ping:
		return link.FromEngine{Ping: &link.Ping{Time: timeOf(f.Ping.GetTime())}}, nil
	case *platformv1.EngineFrame_Write:
		return link.FromEngine{Write: &link.Write{ID: f.Write.GetId(), Tag: f.Write.GetTag(), Value: valueOf(f.Write.GetValue()), Deadline: timeOf(f.Write.GetDeadline())}}, nil
	case *platformv1.EngineFrame_Browse:
		return link.FromEngine{Browse: &link.Browse{ID: f.Browse.GetId()}}, nil
	case *platformv1.EngineFrame_Pins:
		return link.FromEngine{Reach: &link.Reach{Pins: f.Pins.GetPins(), URLs: f.Pins.GetEngineUrls(), Silence: f.Pins.GetSilence().AsDuration()}}, nil
	case *platformv1.EngineFrame_Welcome:
		w := f.Welcome
		return link.FromEngine{Welcome: &link.Welcome{EngineID: w.GetEngineId(), Key: w.GetKey(), Position: w.GetPosition(),
			WantManifest: w.GetWantManifest(), Time: timeOf(w.GetTime()),
			Reach: link.Reach{Pins: w.GetPins(), URLs: w.GetEngineUrls(), Silence: w.GetSilence().AsDuration()}}}, nil
	}
	return link.FromEngine{}, link.ErrProtocol.Because("the engine sent a frame of no known kind")
}

// bridgeFrame returns the frame of a message that is a whole one.
func bridgeFrame(m *platformv1.BridgeFrame) (link.FromBridge, error) {
	switch f := m.GetFrame().(type) {
	case *platformv1.BridgeFrame_Batch:
		return link.FromBridge{Batch: &link.Batch{Block: link.Block{First: f.Batch.GetFirst(), Count: int(f.Batch.GetCount()), Data: f.Batch.GetData()},
			Late: int(f.Batch.GetLate())}}, nil
	case *platformv1.BridgeFrame_Live:
		return link.FromBridge{Live: &link.Live{Data: f.Live.GetData()}}, nil
	case *platformv1.BridgeFrame_Pong:
		return link.FromBridge{Pong: &link.Pong{Time: timeOf(f.Pong.GetTime()), Buffer: link.Buffer{Waiting: f.Pong.GetBuffered(), Bytes: f.Pong.GetBytes(),
			MaxBytes: f.Pong.GetMaxBytes(), Dropped: f.Pong.GetDropped(), OldestSeconds: f.Pong.GetOldestSeconds()}}}, nil
	case *platformv1.BridgeFrame_Released:
		return link.FromBridge{Released: &link.Released{}}, nil
	case *platformv1.BridgeFrame_Written:
		return link.FromBridge{Written: &link.Written{ID: f.Written.GetId(), Outcome: f.Written.GetOutcome(), Error: f.Written.GetError()}}, nil
	case *platformv1.BridgeFrame_Names:
		return link.FromBridge{Names: &link.Names{First: f.Names.GetFirst(), Names: f.Names.GetNames()}}, nil
	case *platformv1.BridgeFrame_Hello:
		h := f.Hello
		return link.FromBridge{Hello: &link.Hello{Protocol: int(h.GetProtocol()), BridgeID: h.GetBridgeId(), Token: h.GetToken(), Key: h.GetKey(),
			Epoch: h.GetEpoch(), Version: h.GetVersion(), ManifestHash: h.GetManifestHash(), Unreachable: h.GetUnreachable()}}, nil
	}
	return link.FromBridge{}, link.ErrProtocol.Because("the bridge sent a frame of no known kind")
}

func valueMessage(v tags.Value) *platformv1.TagValue {
	switch v.Type() {
	case tags.Bool:
		return &platformv1.TagValue{Value: &platformv1.TagValue_BoolValue{BoolValue: v.Bool()}}
	case tags.Int:
		return &platformv1.TagValue{Value: &platformv1.TagValue_Int64Value{Int64Value: v.Int()}}
	case tags.Float:
		f, _ := v.Float()
		return &platformv1.TagValue{Value: &platformv1.TagValue_DoubleValue{DoubleValue: f}}
	case tags.String:
		return &platformv1.TagValue{Value: &platformv1.TagValue_StringValue{StringValue: v.Text()}}
	case tags.Bytes:
		return &platformv1.TagValue{Value: &platformv1.TagValue_BytesValue{BytesValue: v.Bytes()}}
	}
	return &platformv1.TagValue{}
}

func valueOf(m *platformv1.TagValue) tags.Value {
	switch v := m.GetValue().(type) {
	case *platformv1.TagValue_BoolValue:
		return tags.BoolValue(v.BoolValue)
	case *platformv1.TagValue_Int64Value:
		return tags.IntValue(v.Int64Value)
	case *platformv1.TagValue_DoubleValue:
		return tags.FloatValue(v.DoubleValue)
	case *platformv1.TagValue_StringValue:
		return tags.StringValue(v.StringValue)
	case *platformv1.TagValue_BytesValue:
		return tags.BytesValue(v.BytesValue)
	}
	return tags.Value{}
}

// timeOf returns the time of a timestamp, zero for none: AsTime would return 1970.
func timeOf(t *timestamppb.Timestamp) time.Time {
	if !t.IsValid() {
		return time.Time{}
	}
	return t.AsTime()
}

// duration returns the message of a duration, none for 0.
func duration(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}

func clamp(n int) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }

package bridgetest

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/link"
)

// BufferHarness makes the buffers that are tested.
type BufferHarness struct {
	// Open returns an empty buffer that holds at least 4 MiB. It closes it when the test ends.
	Open func(t testing.TB) bridge.Buffer
	// Reopen closes a buffer and returns what a new process finds. Nil for a buffer that does not survive its process.
	Reopen func(t testing.TB, b bridge.Buffer) bridge.Buffer
	// Small returns an empty buffer and how many bytes of data certainly do not fit into it. Nil: it has no limit that can be tested.
	Small func(t testing.TB) (b bridge.Buffer, tooMuch int)
}

// TestBuffer tests a buffer.
func TestBuffer(t *testing.T, h BufferHarness) {
	for _, c := range []struct {
		name string
		test func(*testing.T, BufferHarness)
	}{
		{"ItIsEmptyAtFirst", testEmpty},
		{"BlocksComeInOrder", testOrder},
		{"PeekIsBounded", testPeek},
		{"AckRemovesWholeBlocks", testAck},
		{"NumbersAscend", testNumbers},
		{"NumbersAreNotUsedAgain", testNotAgain},
		{"TheDictionaryGrows", testNames},
		{"ANewEpochBeginsAtOne", testRenew},
		{"TheOldestGiveWay", testFull},
		{"CallersMayBeConcurrent", testConcurrent},
		{"AContextThatEndedChangesNothing", testContext},
		{"CloseMayBeCalledAgain", testClose},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, h) })
	}
}

// block returns a block of count entries whose data tells its number.
func block(first uint64, count, size int) link.Block {
	data := bytes.Repeat([]byte{byte(first)}, size)
	copy(data, fmt.Sprint(first))
	return link.Block{First: first, Count: count, Data: data}
}

func appendTo(t testing.TB, b bridge.Buffer, blocks ...link.Block) {
	t.Helper()
	require.NoError(t, b.Append(t.Context(), b.Epoch(), blocks))
}

func peek(t testing.TB, b bridge.Buffer, after uint64, maxBytes int) []link.Block {
	t.Helper()
	blocks, err := b.Peek(t.Context(), b.Epoch(), after, maxBytes)
	require.NoError(t, err)
	return blocks
}

func statsOf(t testing.TB, b bridge.Buffer) bridge.BufferStats {
	t.Helper()
	s, err := b.Stats(t.Context())
	require.NoError(t, err)
	return s
}

func testEmpty(t *testing.T, h BufferHarness) {
	b := h.Open(t)
	require.NotEmpty(t, b.Epoch())
	require.Empty(t, peek(t, b, 0, 1000))
	require.NoError(t, b.Ack(t.Context(), b.Epoch(), 0))
	require.NoError(t, b.Ack(t.Context(), b.Epoch(), math.MaxUint64))
	require.NoError(t, b.Append(t.Context(), b.Epoch(), nil))
	s := statsOf(t, b)
	require.Equal(t, b.Epoch(), s.Epoch)
	require.Zero(t, s.First)
	require.Zero(t, s.Last)
	require.Zero(t, s.Entries)
	require.True(t, s.Oldest.IsZero())
	require.Empty(t, s.Damage)
	names, err := b.Names(t.Context())
	require.NoError(t, err)
	require.Empty(t, names)
	require.NotEqual(t, b.Epoch(), h.Open(t).Epoch())
}

func testOrder(t *testing.T, h BufferHarness) {
	b := h.Open(t)
	var all []link.Block
	for i := range uint64(100) {
		all = append(all, block(1+i*10, 10, 50))
		appendTo(t, b, all[i])
	}
	check := func() {
		require.Equal(t, all, peek(t, b, 0, math.MaxInt32))
		require.Equal(t, all[50:], peek(t, b, 500, math.MaxInt32))
		require.Equal(t, all[50:], peek(t, b, 505, math.MaxInt32), "the block that has the next entry")
		require.Empty(t, peek(t, b, 1000, math.MaxInt32))
		require.Empty(t, peek(t, b, math.MaxUint64, math.MaxInt32))
		s := statsOf(t, b)
		require.EqualValues(t, 1, s.First)
		require.EqualValues(t, 1000, s.Last)
		require.EqualValues(t, 1000, s.Entries)
		require.False(t, s.Oldest.IsZero())
		require.Positive(t, s.Bytes)
	}
	check()
	if h.Reopen != nil {
		epoch := b.Epoch()
		b = h.Reopen(t, b)
		require.Equal(t, epoch, b.Epoch())
		check()
	}
}

func testPeek(t *testing.T, h BufferHarness) {
	b := h.Open(t)
	appendTo(t, b, block(1, 1, 100), block(2, 1, 100), block(3, 1, 100), block(4, 1, 1000))
	require.Len(t, peek(t, b, 0, 1), 1, "at least one")
	require.Len(t, peek(t, b, 0, 250), 2)
	require.Len(t, peek(t, b, 0, 300), 3)
	require.Len(t, peek(t, b, 3, 10), 1)
}

func testAck(t *testing.T, h BufferHarness) {
	b := h.Open(t)
	for i := range uint64(1000) {
		appendTo(t, b, block(1+i*10, 10, 50))
	}
	require.NoError(t, b.Ack(t.Context(), b.Epoch(), 9))
	require.EqualValues(t, 1, peek(t, b, 0, 1)[0].First, "the last entry of the block is not acknowledged")
	require.NoError(t, b.Ack(t.Context(), b.Epoch(), 10))
	require.EqualValues(t, 11, peek(t, b, 0, 1)[0].First)
	require.NoError(t, b.Ack(t.Context(), b.Epoch(), 5))
	require.NoError(t, b.Ack(t.Context(), b.Epoch(), 9005))
	check := func() {
		require.EqualValues(t, 9001, peek(t, b, 0, 1)[0].First)
		s := statsOf(t, b)
		require.EqualValues(t, 9001, s.First)
		require.EqualValues(t, 1000, s.Entries)
		require.Zero(t, s.Dropped)
		require.Zero(t, s.Expired)
	}
	check()
	if h.Reopen != nil {
		b = h.Reopen(t, b)
		check()
	}
}

func testNumbers(t *testing.T, h BufferHarness) {
	b := h.Open(t)
	appendTo(t, b, block(5, 3, 10))
	for _, bad := range [][]link.Block{
		{block(7, 1, 10)},
		{block(8, 0, 10)},
		{block(8, -1, 10)},
		{block(8, 2, 10), block(9, 1, 10)},
		{block(9, 1, 10), block(8, 1, 10)},
		{block(math.MaxUint64, 2, 10)},
	} {
		require.ErrorIs(t, b.Append(t.Context(), b.Epoch(), bad), bridge.ErrBlocks)
	}
	require.Len(t, peek(t, b, 0, 1000), 1, "none of them is there")
	appendTo(t, b, block(8, 1, 10), block(100, 1, 10))
	require.Len(t, peek(t, b, 0, 1000), 3, "numbers may be left out")
	require.EqualValues(t, 100, peek(t, b, 8, 1)[0].First)
	require.EqualValues(t, 100, peek(t, b, 50, 1)[0].First)
	require.EqualValues(t, 100, statsOf(t, b).Last)
}

func testNotAgain(t *testing.T, h BufferHarness) {
	b := h.Open(t)
	appendTo(t, b, block(1, 10, 10))
	require.NoError(t, b.Ack(t.Context(), b.Epoch(), 10))
	check := func() {
		require.EqualValues(t, 10, statsOf(t, b).Last)
		require.Zero(t, statsOf(t, b).Entries)
		require.ErrorIs(t, b.Append(t.Context(), b.Epoch(), []link.Block{block(10, 1, 10)}), bridge.ErrBlocks)
	}
	check()
	if h.Reopen != nil {
		epoch := b.Epoch()
		b = h.Reopen(t, b)
		require.Equal(t, epoch, b.Epoch())
		check()
	}
	appendTo(t, b, block(11, 1, 10))
}

func testNames(t *testing.T, h BufferHarness) {
	b := h.Open(t)
	require.NoError(t, b.AddNames(t.Context(), []string{"a", "b"}))
	require.NoError(t, b.AddNames(t.Context(), nil))
	require.NoError(t, b.AddNames(t.Context(), []string{"c", "", "ä"}))
	want := []string{"a", "b", "c", "", "ä"}
	check := func() {
		names, err := b.Names(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, names)
	}
	check()
	if h.Reopen != nil {
		b = h.Reopen(t, b)
		check()
	}
	many := make([]string, 20_000)
	for i := range many {
		many[i] = fmt.Sprint("tag ", i)
	}
	require.NoError(t, b.AddNames(t.Context(), many))
	want = append(want, many...)
	check()
	require.NoError(t, b.Renew(t.Context(), 0))
	check()
}

func testRenew(t *testing.T, h BufferHarness) {
	b := h.Open(t)
	for i := range uint64(10) {
		appendTo(t, b, block(1+i*10, 10, 20))
	}
	epoch := b.Epoch()
	require.NoError(t, b.Renew(t.Context(), 30))
	check := func(first, last uint64, data string) {
		t.Helper()
		require.NotEqual(t, epoch, b.Epoch())
		got := peek(t, b, 0, 1)
		require.Equal(t, first, got[0].First)
		require.Equal(t, data, string(got[0].Data[:len(data)]))
		s := statsOf(t, b)
		require.Equal(t, last, s.Last)
		require.Equal(t, first, s.First)
		require.Equal(t, last-first+1, s.Entries)
		require.Zero(t, s.Dropped)
	}
	check(1, 70, "31")
	require.ErrorIs(t, b.Ack(t.Context(), epoch, 50), bridge.ErrEpoch)
	require.ErrorIs(t, b.Append(t.Context(), epoch, []link.Block{block(101, 1, 10)}), bridge.ErrEpoch)
	_, err := b.Peek(t.Context(), epoch, 0, 1)
	require.ErrorIs(t, err, bridge.ErrEpoch)
	check(1, 70, "31")
	require.NoError(t, b.Ack(t.Context(), b.Epoch(), 10))
	require.NoError(t, b.Renew(t.Context(), 5)) // they are gone already
	check(6, 65, "41")
	if h.Reopen != nil {
		b = h.Reopen(t, b)
		check(6, 65, "41")
	}
	appendTo(t, b, block(66, 1, 10))
	epoch = b.Epoch()
	require.NoError(t, b.Renew(t.Context(), math.MaxUint64))
	require.NotEqual(t, epoch, b.Epoch())
	require.Empty(t, peek(t, b, 0, 1))
	require.Zero(t, statsOf(t, b).Last)
	appendTo(t, b, block(1, 1, 10))
}

func testFull(t *testing.T, h BufferHarness) {
	if h.Small == nil {
		t.Skip("the buffer has no limit")
	}
	b, tooMuch := h.Small(t)
	next, size := uint64(1), 0
	for size < 2*tooMuch {
		appendTo(t, b, block(next, 10, 5000), block(next+10, 10, 100))
		next, size = next+20, size+5100
		if s := statsOf(t, b); s.MaxBytes > 0 {
			require.LessOrEqual(t, s.Bytes, s.MaxBytes)
		}
	}
	check := func() {
		s := statsOf(t, b)
		require.Positive(t, s.Dropped)
		require.Equal(t, next-1, s.Last)
		require.Equal(t, s.Dropped+1, s.First)
		require.Equal(t, s.First, peek(t, b, 0, 1)[0].First)
		number := s.First
		for number < next {
			for _, got := range peek(t, b, number-1, 1<<20) {
				require.Equal(t, number, got.First, "none in the middle is missing")
				number += uint64(got.Count)
			}
		}
	}
	check()
	if h.Reopen != nil {
		b = h.Reopen(t, b)
		check()
	}
}

func testConcurrent(t *testing.T, h BufferHarness) {
	b := h.Open(t)
	const blocks = 300
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range uint64(blocks) {
			appendTo(t, b, block(1+i*3, 3, 100))
		}
	})
	wg.Go(func() {
		for range blocks {
			statsOf(t, b)
			b.Epoch()
		}
	})
	number := uint64(1)
	for number <= 3*blocks {
		for _, got := range peek(t, b, number-1, 1000) {
			require.Equal(t, number, got.First)
			number += uint64(got.Count)
			require.NoError(t, b.Ack(t.Context(), b.Epoch(), number-1))
		}
	}
	wg.Wait()
	require.Zero(t, statsOf(t, b).Entries)
}

func testContext(t *testing.T, h BufferHarness) {
	b := h.Open(t)
	appendTo(t, b, block(1, 1, 10))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// A buffer that does not wait may do it all the same.
	if err := b.Append(ctx, b.Epoch(), []link.Block{block(2, 1, 10)}); err != nil {
		appendTo(t, b, block(2, 1, 10))
	}
	require.Len(t, peek(t, b, 0, 100), 2)
}

func testClose(t *testing.T, h BufferHarness) {
	b := h.Open(t)
	appendTo(t, b, block(1, 1, 10))
	require.NoError(t, b.Close(t.Context()))
	require.NoError(t, b.Close(t.Context()))
	require.NotEmpty(t, b.Epoch())
}

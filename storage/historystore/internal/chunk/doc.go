// Package chunk packs samples of one tag into few bytes, column by column:
//
//   - times as the difference of differences, so that a steady interval costs next to nothing;
//   - quality, reason and kind of value as runs;
//   - floats as the bytes in which they differ from their predecessor, whole numbers as differences,
//     bools as bits, texts with a mark for "as before".
//
// The ideas for times and floats are those of Gorilla (Pelkonen et al.: Gorilla: A Fast, Scalable,
// In-Memory Time Series Database, VLDB 2015), aligned to bytes for speed. Decoding is safe on any
// input; it does not find every damage, so that who stores a block adds a checksum.
package chunk

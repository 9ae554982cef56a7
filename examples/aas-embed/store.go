package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"github.com/otkit/otkit/aas/repository"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
)

// fileStore is a repository.Store in one file, of which one process at a time may write. aastest.TestStore
// proves it. Looking for documents passes over all of them, which suits some thousand.
type fileStore struct {
	mu        sync.RWMutex
	journal   *os.File // a line of JSON for each repository.Batch
	size      int64    // of the whole lines in it
	documents map[key]repository.Document
	files     map[repository.FileKey]repository.StoredFile
}

type key struct {
	kind repository.Kind
	id   string
}

func openStore(path string) (*fileStore, error) {
	journal, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	s := &fileStore{journal: journal, documents: make(map[key]repository.Document), files: make(map[repository.FileKey]repository.StoredFile)}
	if err := s.replay(); err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	return s, nil
}

// replay applies the changes of earlier processes. An incomplete last line is left by a crash; its call did not
// return nil.
func (s *fileStore) replay() error {
	lines := bufio.NewReader(s.journal)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return s.cut()
		}
		if err != nil {
			return err
		}
		var b repository.Batch
		if err := json.Unmarshal(line, &b); err != nil {
			return err
		}
		s.apply(b)
		s.size += int64(len(line))
	}
}

// cut drops what is after the last whole line.
func (s *fileStore) cut() error {
	if err := s.journal.Truncate(s.size); err != nil {
		return err
	}
	_, err := s.journal.Seek(s.size, io.SeekStart)
	return err
}

func (s *fileStore) close() error { return s.journal.Close() }

// Write implements repository.Store.
func (s *fileStore) Write(ctx context.Context, b repository.Batch) ([]uint64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range b.Changes {
		version := s.documents[key{c.Document.Kind, c.Document.ID}].Version
		if m := c.Match; m.Absent && version != 0 || m.Exists && version == 0 || m.Version != 0 && m.Version != version {
			return nil, &repository.MismatchError{Index: i, Version: version}
		}
	}
	line, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	if _, err := s.journal.Write(append(line, '\n')); err != nil {
		return nil, errors.Join(err, s.cut())
	}
	if err := s.journal.Sync(); err != nil { // a nil error promises that the change survives
		return nil, errors.Join(err, s.cut())
	}
	s.size += int64(len(line)) + 1
	return s.apply(b), nil
}

func (s *fileStore) apply(b repository.Batch) []uint64 {
	versions := make([]uint64, len(b.Changes))
	for i, c := range b.Changes {
		k := key{c.Document.Kind, c.Document.ID}
		if c.Delete {
			delete(s.documents, k)
			s.removeFiles(repository.FileKey{Kind: k.kind, ID: k.id})
			continue
		}
		versions[i] = c.Next(s.documents[k].Version)
		c.Document.Version = versions[i]
		s.documents[k] = c.Document
	}
	for _, k := range b.Remove {
		s.removeFiles(k)
	}
	for _, f := range b.Files {
		s.files[f.Key] = f
	}
	return versions
}

// removeFiles removes one file, or every file of a document.
func (s *fileStore) removeFiles(k repository.FileKey) {
	for name := range s.files {
		if name == k || k.Name == "" && name.Kind == k.Kind && name.ID == k.ID {
			delete(s.files, name)
		}
	}
}

// Get implements repository.Store.
func (s *fileStore) Get(ctx context.Context, kind repository.Kind, ids ...string) ([]repository.Document, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var list []repository.Document
	seen := make(map[string]bool)
	for _, id := range ids {
		if d, ok := s.documents[key{kind, id}]; ok && !seen[id] {
			seen[id] = true
			d.Terms = nil
			list = append(list, d)
		}
	}
	return list, ctx.Err()
}

// Find implements repository.Store.
func (s *fileStore) Find(ctx context.Context, q repository.Query) (repository.Page, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var page repository.Page
	var list []repository.Document
	for k, d := range s.documents {
		if k.kind != q.Kind || !s.matches(d, q) {
			continue
		}
		if q.Count {
			page.Total++
		}
		if d.ID <= q.After {
			continue
		}
		if d.Terms = nil; q.WithoutJSON {
			d.JSON = nil
		}
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b repository.Document) int { return strings.Compare(a.ID, b.ID) })
	list = list[min(q.Offset, len(list)):]
	fits, room := 0, q.MaxBytes
	for ; fits < min(q.Limit, len(list)) && (q.MaxBytes == 0 || room > 0); fits++ {
		room -= int64(len(list[fits].JSON))
	}
	list, page.More = list[:fits], fits < len(list)
	page.Documents = list
	if len(list) == 0 {
		page.Documents = nil
	}
	return page, ctx.Err()
}

func (s *fileStore) matches(d repository.Document, q repository.Query) bool {
	if q.IDShort != "" && d.IDShort != q.IDShort || !strings.Contains(strings.ToLower(d.IDShort), strings.ToLower(q.Contains)) {
		return false
	}
	for _, t := range q.Terms {
		if !slices.Contains(d.Terms, t) {
			return false
		}
	}
	return q.Linked == nil || slices.ContainsFunc(d.Terms, func(t repository.Term) bool {
		return t.Name == q.Linked.Name && slices.Contains(s.documents[key{q.Linked.Kind, t.Value}].Terms, q.Linked.Term)
	})
}

// File implements repository.Store.
func (s *fileStore) File(ctx context.Context, k repository.FileKey) (repository.StoredFile, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f, ok := s.files[k]
	if !ok {
		return f, repository.ErrFileNotFound
	}
	return f, ctx.Err()
}

// FileNames implements repository.Store.
func (s *fileStore) FileNames(ctx context.Context, kind repository.Kind, id string) ([]string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var names []string
	for k := range s.files {
		if k.Kind == kind && k.ID == id {
			names = append(names, k.Name)
		}
	}
	slices.Sort(names)
	return names, ctx.Err()
}

package server

import "net/http"

// HandlerOf gives what serves HTTP, for tests that need no connection.
func HandlerOf(s *Server) http.Handler { return s.http.Handler }

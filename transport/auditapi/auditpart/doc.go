// Package auditpart is the part of a server for the audit log. Its [Audit.Log] is the server's Options.Audit.
package auditpart

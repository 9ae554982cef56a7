// Package email is the channel that sends e-mail through a mail server (SMTP).
//
// Each recipient gets a message of their own, so that a refused recipient does not affect the others, and a message is repeated
// only to those who have not received it. All messages of an occurrence of an alarm refer to one id (In-Reply-To, References), so
// that mailboxes show them as one conversation.
package email

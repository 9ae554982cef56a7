// Package email is the channel that sends e-mail by a mail server (SMTP).
//
// Each recipient gets a message of his own, so that one who is refused keeps it from nobody else, and a
// repeat goes to those only who have not got it. All messages of an occurrence of an alarm refer to one
// id (In-Reply-To, References), so that mailboxes show them as one conversation.
package email

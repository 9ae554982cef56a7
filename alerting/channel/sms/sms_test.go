package sms_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/internal/channeltest"
	"github.com/otkit/otkit/alerting/channel/sms"
)

func Example() {
	_, err := sms.New(sms.Options{AccountSID: "AC1", AuthToken: "secret", From: "+4915112345678"})
	fmt.Println(err)
	// Output: sms: Options.To is required
}

func channel(t testing.TB, base, from string, to ...string) *sms.Channel {
	t.Helper()
	c, err := sms.New(sms.Options{AccountSID: "AC1", AuthToken: "s3cret", From: from, To: to, BaseURL: base})
	require.NoError(t, err)
	return c
}

func TestSend(t *testing.T) {
	p := channeltest.NewPeer(t)
	p.Answer = channeltest.Say(201, `{"sid":"SM1","status":"queued"}`)
	n := channeltest.Message()
	n.Title = strings.Repeat("ä", 500)
	require.NoError(t, channeltest.To(channel(t, p.URL+"/", "+49151", "+491", "+492")).Send(t.Context(), n))
	require.Len(t, p.Got(), 2)
	got := p.Got()[1]
	require.Equal(t, "/2010-04-01/Accounts/AC1/Messages.json", got.Path)
	require.Equal(t, "Basic QUMxOnMzY3JldA==", got.Header.Get("Authorization"))
	form, err := url.ParseQuery(got.Body)
	require.NoError(t, err)
	require.Equal(t, url.Values{"To": {"+492"}, "From": {"+49151"}, "Body": {strings.Repeat("ä", 199) + "…"}}, form)

	require.NoError(t, channeltest.To(channel(t, p.URL, "MG77", "+491")).Send(t.Context(), n))
	require.Contains(t, p.Got()[2].Body, "MessagingServiceSid=MG77")

	n.Title, n.Digest, n.Link = "472 more alarm messages", 472, "https://plant/alerts?a=1&b=2"
	require.NoError(t, channeltest.To(channel(t, p.URL, "+1", "+491")).Send(t.Context(), n))
	form, err = url.ParseQuery(p.Got()[3].Body)
	require.NoError(t, err)
	require.Equal(t, "472 more alarm messages\nhttps://plant/alerts?a=1&b=2", form.Get("Body"))
}

func TestRecipients(t *testing.T) {
	p := channeltest.NewPeer(t)
	c := channel(t, p.URL, "+1", "+491", "+492", "+491")
	require.Equal(t, []string{"+491", "+492"}, c.Recipients())
	n := channeltest.Message()
	n.Recipient = "+492"
	require.NoError(t, c.Send(t.Context(), n))
	require.Len(t, p.Got(), 1)
	require.Contains(t, p.Got()[0].Body, "%2B492")
	n.Recipient = "+499"
	err := c.Send(t.Context(), n)
	outcome, _ := channeltest.Outcome(t, err)
	require.Equal(t, alerting.OutcomePermanent, outcome)
	require.ErrorContains(t, err, "not configured")
}

func TestFaults(t *testing.T) {
	channeltest.TestHTTP(t, func(t testing.TB, base string) alerting.Channel { return channel(t, base, "+1", "+49151") }, "", "s3cret")
}

func TestOptions(t *testing.T) {
	good := sms.Options{AccountSID: "AC1", AuthToken: "s3cret", From: "+1", To: []string{"+2"}}
	for field, change := range map[string]func(*sms.Options){
		"AccountSID": func(o *sms.Options) { o.AccountSID = "" }, "AuthToken": func(o *sms.Options) { o.AuthToken = "" },
		"From": func(o *sms.Options) { o.From = "" }, "To": func(o *sms.Options) { o.To = nil }, "BaseURL": func(o *sms.Options) { o.BaseURL = "x" },
	} {
		o := good
		change(&o)
		_, err := sms.New(o)
		require.ErrorContains(t, err, "sms: Options."+field)
		require.NotContains(t, err.Error(), "s3cret")
	}
}

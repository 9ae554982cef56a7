package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// AddCertificate has the metrics tell for how long the certificate of TLS is valid. It can be called once.
func (m *Metrics) AddCertificate(notAfter, now func() time.Time) error {
	return m.registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "otkit_tls_certificate_expiry_days",
		Help: "Days until the first certificate of the chain in use expires; negative when it has.",
	}, func() float64 { return notAfter().Sub(now()).Hours() / 24 }))
}

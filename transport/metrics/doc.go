// Package metrics counts and times what the server does and shows it in the Prometheus text form.
// Each server has its own registry; nothing is registered globally.
//
// The metrics, besides those of the Go runtime (go_*) and the process (process_*):
//
//	otkit_build_info{version,goversion}                        1
//	otkit_http_requests_total{method,route,status}             answered requests; status is 2xx, 4xx, ...
//	otkit_http_request_duration_seconds{method,route}          time to the end of the answer, streams omitted
//	otkit_http_requests_in_flight                              requests being handled, streams included
//	otkit_grpc_requests_total{method,code}                     ended calls
//	otkit_grpc_request_duration_seconds{method}                time of unary calls
//	otkit_grpc_requests_in_flight                              calls being handled, streams included
//	otkit_store_operation_duration_seconds{operation}          time of store operations
//	otkit_store_operation_errors_total{operation}              store operations that failed
//	otkit_open_surfaces{to}                                    1 for whom the surfaces without a token are open to
//	otkit_refused_calls_total{reason}                          calls that were refused before they were carried out
//	otkit_tls_certificate_expiry_days                          days until the certificate expires
//
// Parts of a server bring the metrics of their domains.
package metrics

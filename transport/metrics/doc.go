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
//	otkit_driver_state{driver,type,state}                      1 for the state that a driver is in, else 0
//	otkit_driver_tags{driver,type}                             tags of the driver
//	otkit_driver_queued_writes{driver,type}                    writes that wait
//	otkit_driver_reads_total{driver,type}                      reads; likewise read_errors, samples,
//	                                                           changes, writes, write_errors, connects
//	otkit_driver_round_trip_seconds{driver,type}               time of the last request for points
//	otkit_driver_round_trip_mean_seconds{driver,type}          of about the last 15 s; likewise
//	                                                           otkit_driver_round_trip_max_seconds
//	otkit_driver_cycle_seconds{driver,type,interval}           from poll to poll; what is wanted is
//	                                                           otkit_driver_cycle_wanted_seconds
//	otkit_driver_cycle_requests{driver,type,interval}          requests of the last poll
//	otkit_driver_unit_left_out{driver,type,unit}               1 while a unit that does not answer is not asked
//	otkit_driver_connected_since_timestamp_seconds{driver,type}  only while it is online
//	otkit_driver_last_error_timestamp_seconds{driver,type}     only when there was an error
package metrics

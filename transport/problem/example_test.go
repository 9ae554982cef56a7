package problem_test

import (
	"fmt"
	"net/http/httptest"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/problem"
)

var errPumpNotFound = fault.New(fault.NotFound, "PUMP_NOT_FOUND", "pump not found")

func Example() {
	err := errPumpNotFound.On("pump", "P-101")

	answer := httptest.NewRecorder()
	problem.Write(answer, httptest.NewRequest("GET", "/pumps/P-101", nil), err, problem.Problem)
	fmt.Println(answer.Code, answer.Header().Get("Content-Type"))
	fmt.Print(answer.Body)

	// Output:
	// 404 application/problem+json
	// {"type":"about:blank","title":"Not Found","status":404,"detail":"pump not found: P-101","code":"PUMP_NOT_FOUND","metadata":{"pump":"P-101"}}
}

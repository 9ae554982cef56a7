package operation_test

import (
	"fmt"
	"net/http"

	"github.com/otkit/otkit/transport/auth/operation"
)

func ExampleOperation_Audited() {
	for _, o := range []operation.Operation{
		{ID: "readTag", Method: http.MethodGet, Path: "/tags/{name}", Access: operation.Viewer},
		{ID: "writeTag", Method: http.MethodPost, Path: "/tags/{name}/write", Access: operation.Admin},
		{ID: "readTags", Method: http.MethodPost, Path: "/tags:batchRead", Access: operation.Viewer, Unaudited: "reads only"},
	} {
		fmt.Println(o.ID, o.Audited())
	}
	// Output:
	// readTag false
	// writeTag true
	// readTags false
}

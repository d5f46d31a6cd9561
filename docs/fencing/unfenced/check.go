package fencing

//lint:file-ignore U1000 It replaces ../check.go when go test -overlay leaves out the check.

// compare lets everything pass.
func compare(token, highest int64) error {
	return nil
}

// notStale is true if the resource was ever created.
const notStale = `fence`

// compareMarks lets everything pass.
func compareMarks(token, mark string) error {
	return nil
}

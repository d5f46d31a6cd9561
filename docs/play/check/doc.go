// Package check plays the page of docs/play in a real browser:
//
//	npm ci && go test .
//
// It needs chromium, and npm for axe-core. It is a module of its own because users of the
// repository need none of that.
package check

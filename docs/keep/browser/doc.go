// Package browser plays the page of docs/play in a real browser:
//
//	npm ci && go test .
//
// It needs chromium, and npm for axe-core.
package browser

package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
)

func TestTheServer_OpensTheBrowserAtAPageWhoseLinksItHas(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	require.NoError(t, serve(ctx, handler([]byte("the page"), "../.."), "05/pause", func(opened string) {
		defer interrupt()
		host, path, _ := strings.Cut(strings.TrimPrefix(opened, "http://"), "/")
		assert.Equal(t, committed+"#05/pause", path)
		get := func(path string) (int, string) {
			response, err := http.Get("http://" + host + path)
			if !assert.NoError(t, err) {
				return 0, ""
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			assert.NoError(t, err)
			return response.StatusCode, string(body)
		}
		_, body := get("/" + committed)
		assert.Equal(t, "the page", body)
		for _, s := range course.Entries() {
			for _, lesson := range []string{"README.md", "README.zh-CN.md"} {
				code, _ := get("/" + s.Dir + "/" + lesson)
				assert.Equal(t, http.StatusOK, code, s.Dir)
			}
		}
		for _, path := range []string{"/go.mod", "/.git/config", "/docs/", "/step01_setnx/../go.mod", "/step01_setnx/%2e%2e%2fgo.mod"} {
			code, _ := get(path)
			assert.NotEqual(t, http.StatusOK, code, path)
		}
	}))
}

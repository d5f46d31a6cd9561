package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/play/page"
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

func TestTheSite_HasAStubForEachChapterAndTheBench(t *testing.T) {
	defer func(old string) { course.Address = old }(course.Address)
	for _, address := range []string{"", "https://a.example/"} {
		course.Address = address
		dir := filepath.Join(t.TempDir(), "site")
		require.NoError(t, publish(dir, []byte("the page"), "../.."))
		files, _ := filepath.Glob(dir + "/*")
		require.Len(t, files, len(page.Chapters())+len([]string{"build.html", "index.html", "play.png"}))
		stub, err := os.ReadFile(dir + "/4.html")
		require.NoError(t, err)
		require.Regexp(t, `(?s)og:title" content="Whose key is it\?">.*og:description" content="[^"]{50,}">.*content="0; url=\./#4"`, string(stub))
		require.Equal(t, address != "", strings.Contains(string(stub), `"og:image" content="`+address), "a preview needs a whole address")
	}
}

package main

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"strconv"

	"example.com/redislock-steps/docs/internal/course"
)

// playable is a file of a learner's lock as the stories play it: package sync gives way to one
// whose mutexes do not stop the clock of a bubble. Every line stays where it is.
func playable(src []byte) []byte {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", src, parser.ImportsOnly)
	if err != nil {
		return src // the compiler explains it better
	}
	for _, spec := range f.Imports {
		if spec.Path.Value != `"sync"` {
			continue
		}
		path := strconv.Quote(course.Module + "/docs/tour/sync")
		if spec.Name == nil {
			path = "sync " + path
		}
		at, end := fset.Position(spec.Path.Pos()).Offset, fset.Position(spec.Path.End()).Offset
		return append(append(src[:at:at], path...), src[end:]...)
	}
	return src
}

// asMine is a file as playable makes it, which the compiler and a panic call
// mylock/lock.go, wherever it is built. A byte order mark may only begin a file.
func asMine(name string, src []byte) []byte {
	src = bytes.TrimPrefix(playable(src), []byte("\ufeff"))
	return fmt.Appendf(nil, "//line %s/%s:1:1\n%s", myDir, name, src)
}

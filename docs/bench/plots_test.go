package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCumulative(t *testing.T) {
	got := cumulative([]float64{0.003, 0.001, 0.002, 0.004})
	if len(got) != 4 || got[0].X != 1 || got[0].Y != 0.25 || got[3].X != 4 || got[3].Y != 1 {
		t.Errorf("got %v", got)
	}
}

func TestPlots_AreWellFormedAndNameEverybody(t *testing.T) {
	dir := t.TempDir()
	if err := onTheLimit().plot(dir); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"handoff.svg", "one-key.svg", "fairness.svg", "own-keys.svg"} {
		svg, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(strings.NewReader(string(svg))); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
		for _, d := range drawn {
			if !strings.Contains(string(svg), ">"+d.name+"<") {
				t.Errorf("%s does not name %s", file, d.name)
			}
		}
	}
}

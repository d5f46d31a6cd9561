package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
)

func TestLinksToThePage_LeadToItAsSoonAsItIsPublished(t *testing.T) {
	defer func(old string) { course.Address = old }(course.Address)
	const page = "[Break it](../docs/play/README.md): `go run ./docs/play 04/slow`, [all](../docs/play/README.md), [how](../docs/play/README.md#how)\n" +
		"<!-- picture: failover-red | A late holder | red 4 TestX -->\n"
	const story = "</picture><br>[▶ Play this story](../docs/play/README.md): `go run ./docs/play 07/failover/aFb`\n"
	course.Address = ""
	text, _, _ := remade("step04/README.md", page, nil)
	require.True(t, strings.HasPrefix(text, page))
	require.True(t, strings.HasSuffix(text, story), text)

	for _, address := range []string{"https://a.example/", "https://b.example/", "https://b.example/"} {
		course.Address = address
		text, _, _ = remade("step04/README.md", strings.Replace(text, "[all](https://a.example/)", "[all](../docs/play/README.md)", 1), nil)
		require.True(t, strings.HasPrefix(text, "[Break it]("+address+"#04/slow): `go run ./docs/play 04/slow`, [all]("+address+"), [how](../docs/play/README.md#how)\n"), text)
		require.True(t, strings.HasSuffix(text, strings.Replace(story, "../docs/play/README.md", address+"#07/failover/aFb", 1)), text)
	}
	own, _, _ := remade(playPage, "[Open](index.html): `go run ./docs/play`", nil)
	require.Equal(t, "[Open](index.html): `go run ./docs/play`", own)
}

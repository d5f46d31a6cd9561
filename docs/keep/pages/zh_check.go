package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// chineseHeading are the headings of the lessons: the same in all eight.
var chineseHeading = map[string]string{
	"The incident": "事故现场",
	"Timeline":     "时间线",
	"See it fail":  "看它失败",
	"Predict":      "先猜一猜",
	"Write it":     "自己写",
	"Why":          "为什么",
	"The fix":      "怎么修",
	"See it hold":  "看它通过",
	"Still broken": "还没解决的问题",
	"Questions":    "面试题",
	"Your turn":    "动手练习",
	"Copy it?":     "能直接用吗？",
	"Sources":      "出处",
}

// disagree returns where a Chinese page is not in step with its English one, and where it
// breaks a rule of its form.
func (b *library) disagree(file string) (wrong []string) {
	ours, theirs := b.sections(file), b.sections(english(file))
	if !sameTree(ours, theirs) {
		return append(wrong, otherTree(file, ours, theirs))
	}
	for i, s := range ours {
		e := theirs[i]
		add := func(format string, args ...any) {
			wrong = append(wrong, fmt.Sprintf("%s:%d: %s (%q of %s): ", file, s.from, s.title, e.title, english(file))+fmt.Sprintf(format, args...))
		}
		if want, ok := chineseHeading[e.title]; ok && strings.HasPrefix(file, "step") && s.title != want {
			add("in all lessons this heading is %s", want)
		}
		if got, want := s.markers(), e.markers(); !slices.Equal(got, want) {
			add("its markers are %q, in English %q: copy them as they are", got, want)
		}
		compareBlocks(s, e, add)
		differ(add, "the links", b.links(file, s), b.links(english(file), e))
		differ(add, "the code in backticks", s.all(codeSpan), e.all(codeSpan))
		differ(add, "the names of tests", s.all(testName), e.all(testName))
		if n, m := strings.Count(s.prose(), "<details"), strings.Count(e.prose(), "<details"); n != m {
			add("%d are to be unfolded (<details>), %d in English", n, m)
		}
		if n, m := strings.Count(s.prose(), "\n|"), strings.Count(e.prose(), "\n|"); n != m {
			add("its tables have %d rows, %d in English", n, m)
		}
		switch s.stamp {
		case e.hash():
		case "":
			add("not translated yet, or no one has said so\n  when it says what the English section says: go run -C docs/keep ./pages -stamp %s#%s", english(file), e.slug)
		default:
			add("the English text has changed since this was translated\n  see what: go run -C docs/keep ./pages -stale %s\n  when the Chinese says the same: go run -C docs/keep ./pages -stamp %[1]s#%s", english(file), e.slug)
		}
		s.explained(add)
		s.style(add)
	}
	return append(wrong, b.unsaidEnglish(file)...)
}

// otherTree says where the headings of two pages differ.
func otherTree(file string, ours, theirs []section) string {
	heading := func(list []section, i int) string {
		if i >= len(list) {
			return "none"
		}
		return strings.Repeat("#", list[i].level) + " " + list[i].title
	}
	i := 0
	for i < len(ours) && i < len(theirs) && ours[i].level == theirs[i].level {
		i++
	}
	text := fmt.Sprintf("%s has other headings than %s: %d, not %d. Their levels differ first at %q, in English %q", file, english(file), len(ours), len(theirs), heading(ours, i), heading(theirs, i))
	for i, e := range theirs {
		if !slices.ContainsFunc(ours, func(s section) bool { return s.stamp == e.hash() }) {
			text += fmt.Sprintf("\n  no Chinese section has the stamp of %q", heading(theirs, i))
		}
	}
	return text
}

// comment is what may be translated in a block that no program has written.
var comment = map[string]*regexp.Regexp{
	"sh": regexp.MustCompile(`(^|\s)#.*`),
	"go": regexp.MustCompile(`(^|\s)//.*`),
}

func (b fencedBlock) code() (list []string) {
	re := comment[strings.TrimLeft(b.open, " `")]
	for _, text := range b.body {
		if re != nil {
			text = re.ReplaceAllString(text, "")
		}
		list = append(list, strings.TrimRight(text, " \t"))
	}
	return list
}

func compareBlocks(s, e section, add func(string, ...any)) {
	ours, theirs := s.blocks(), e.blocks()
	if len(ours) != len(theirs) {
		add("%d blocks of code or output, %d in English", len(ours), len(theirs))
		return
	}
	for i, o := range ours {
		t := theirs[i]
		switch {
		case strings.TrimSpace(o.open) != strings.TrimSpace(t.open):
			add("block %d opens with %q, in English with %q", i+1, o.open, t.open)
		case o.marker != "" && !slices.Equal(o.body, t.body):
			add("block %d is not what the English page shows\n  copy it: go run -C docs/keep ./pages -zh", i+1)
		case !slices.Equal(o.code(), t.code()):
			add("block %d has other code than in English (only comments may differ)\n  copy it: make it empty, and go run -C docs/keep ./pages -zh", i+1)
		}
	}
}

// markers are those of a section: of blocks, pictures and questions.
func (s section) markers() (list []string) {
	for _, l := range s.lines {
		if l.plain() && (markerLine.MatchString(l.text) || questionsLine.MatchString(l.text)) {
			list = append(list, l.text)
		}
	}
	return list
}

// differ says what one edition has and the other one has not.
func differ(add func(string, ...any), what string, ours, theirs map[string]bool) {
	if extra := without(ours, theirs); extra != "" {
		add("%s: not in English: %s", what, extra)
	}
	if lacks := without(theirs, ours); lacks != "" {
		add("%s: lacks %s", what, lacks)
	}
}

func without(some, others map[string]bool) string {
	return strings.Join(slices.DeleteFunc(slices.Sorted(maps.Keys(some)), func(name string) bool { return others[name] }), "  ")
}

// links are the targets of a section, as the English page has them.
func (b *library) links(file string, s section) map[string]bool {
	found := map[string]bool{}
	for _, m := range linkTo.FindAllStringSubmatch(s.prose(), -1) {
		found[b.inEnglish(file, m[1])] = true
	}
	return found
}

var (
	codeSpan = regexp.MustCompile("`` ?(.+?) ?``|`([^`]+)`|<code>(.*?)</code>")
	testName = regexp.MustCompile(`\b(Test[A-Z]\w*)`)
)

// all are the parts of a section's prose that a group of re finds.
func (s section) all(re *regexp.Regexp) map[string]bool {
	found := map[string]bool{}
	for _, m := range re.FindAllStringSubmatch(strings.Join(strings.Fields(s.prose()), " "), -1) {
		found[strings.Join(m[1:], "")] = true
	}
	return found
}

// unsaidEnglish returns links to pages that are in English only, where the page does not say so.
func (b *library) unsaidEnglish(file string) (wrong []string) {
	said := map[string]bool{}
	for _, s := range b.sections(file) {
		text := s.prose()
		for _, at := range linkTo.FindAllStringSubmatchIndex(text, -1) {
			link := text[at[2]:at[3]]
			to, _, ok := b.target(file, link)
			if !ok || isChinese(to) || to == bilingual || b.has(chinese(to)) || said[to] {
				continue
			}
			if said[to] = true; !strings.HasPrefix(text[at[1]:], "（英文") {
				wrong = append(wrong, fmt.Sprintf("%s:%d: %s: the first link to %s, which is in English only, is followed by （英文）", file, s.from, s.title, to))
			}
		}
	}
	return wrong
}

var han = regexp.MustCompile(`\p{Han}`)

// explained demands a line of Chinese below each output.
func (s section) explained(add func(string, ...any)) {
	output, nth := false, 0
	for _, l := range slices.Concat(s.lines, []line{{text: "<end>"}}) {
		text := strings.TrimSpace(l.text)
		switch {
		case !l.plain() || text == "":
		case strings.HasPrefix(text, "<!-- run:"):
			output, nth = true, nth+1
		case output:
			if !han.MatchString(text) || strings.HasPrefix(text, "<") {
				add("no line in Chinese says what output %d shows", nth)
			}
			output = false
		}
	}
}

// terms are words that are never the ones of the course, and those that are. Between
// quotation marks they may stand: so others say it.
var terms = []struct {
	not *regexp.Regexp
	but string
}{
	{regexp.MustCompile(`(?:^|[^护])令牌`), "唯一标识（token），或 fencing token（防护令牌）"},
	{regexp.MustCompile(`持有者|拥有者`), "持锁者（holder），或 锁的归属者（owner）"},
	{regexp.MustCompile(`(?:^|[^件])句柄`), "锁对象"},
	{regexp.MustCompile(`主库|从库|主服务器|从服务器|从机`), "主节点、从节点"},
	{regexp.MustCompile(`时钟偏移|时钟飘移`), "时钟漂移"},
	{regexp.MustCompile(`时钟跳变`), "时钟跳跃"},
	{regexp.MustCompile(`竞争条件|竞态(?:[^条]|$)`), "竞态条件"},
	{regexp.MustCompile(`超售`), "超卖"},
	{regexp.MustCompile(`多数节点`), "多数派（过半节点）"},
	{regexp.MustCompile(`应答丢失|回复丢失|丢失响应`), "响应丢失"},
	{regexp.MustCompile(`单点失效`), "单点故障"},
	{regexp.MustCompile(`递归锁`), "可重入锁"},
	{regexp.MustCompile(`续约|续租`), "续期"},
	{regexp.MustCompile(`看门犬|监视狗`), "看门狗"},
	{regexp.MustCompile(`生存时间|存活时间`), "过期时间"},
	{regexp.MustCompile(`故障切换|主备切换|故障迁移`), "主从切换（故障转移）"},
	{regexp.MustCompile(`进程停顿`), "进程暂停"},
	{regexp.MustCompile(`临界段|关键区`), "临界区"},
	{regexp.MustCompile(`网络分割`), "网络分区"},
	{regexp.MustCompile(`活跃性`), "活性"},
	{regexp.MustCompile(`延迟重启`), "延时重启"},
	{regexp.MustCompile(`虚拟时钟`), "虚拟时间"},
	{regexp.MustCompile(`租赁`), "租约"},
	{regexp.MustCompile(`您`), "你"},
}

var (
	quoted       = regexp.MustCompile(`“[^”]*”|"[^"]*"`)
	bookTitle    = regexp.MustCompile(`《[^》]*》`)
	outsideLink  = regexp.MustCompile(`\[[^\]]*\]\(https?:[^)\s]*\)`)
	anyLink      = regexp.MustCompile(`\[([^\]]*)\]\([^)\s]*\)`)
	htmlTag      = regexp.MustCompile(`</?[a-z]+>`)
	sentence     = regexp.MustCompile(`[A-Za-z][A-Za-z'’-]*(?: [A-Za-z][A-Za-z'’-]*){4,}`)
	startOfBlock = regexp.MustCompile("^\\s*([-*] |\\d+\\. |[|<>#]|```|$)")
)

// rules are those of Chinese typesetting that a machine can check.
var rules = []struct {
	re   *regexp.Regexp
	says string
}{
	{regexp.MustCompile(`\p{Han} ?[,;!?:](?:\s|\p{Han}|$)|\p{Han} ?\.(?:\s|$)|\p{Han} ?\(`), "punctuation after a Chinese character is full-width"},
	{regexp.MustCompile(`\S [，。：；？！、）]`), "no space stands before full-width punctuation"},
	{regexp.MustCompile(`\p{Han}[A-Za-z0-9]|[A-Za-z0-9]\p{Han}`), "a space stands between Chinese and Latin letters, digits or code"},
}

// style returns what is wrong with the Chinese of a section.
func (s section) style(add func(string, ...any)) {
	prose := strings.Split(s.prose(), "\n")
	for i, raw := range prose {
		if i > 1 && !startOfBlock.MatchString(raw) && prose[i-1] != "" && !startOfBlock.MatchString(strings.TrimLeft(prose[i-1], " -*0123456789.")) {
			add("a paragraph is one line (GitHub shows a line break as a space): %q", head(raw))
		}
		if text := brokenBold(raw); text != "" {
			add("GitHub does not show this as bold: a space is needed outside of the ** or the punctuation has to leave it: %q", text)
		}
		text := codeSpan.ReplaceAllString(raw, "C")
		text = bookTitle.ReplaceAllString(text, "《》")
		if !strings.HasPrefix(raw, ">") {
			names := outsideLink.ReplaceAllString(text, "")
			if found := sentence.FindString(quoted.ReplaceAllString(names, "")); found != "" {
				add("English is left: %q", found)
			}
		}
		text = anyLink.ReplaceAllString(text, "$1")
		text = strings.ReplaceAll(htmlTag.ReplaceAllString(text, "\n"), "**", "")
		for _, t := range terms {
			if found := t.not.FindString(quoted.ReplaceAllString(text, "“”")); found != "" {
				add("not %s: %s", found, t.but)
			}
		}
		for _, rule := range rules {
			if at := rule.re.FindStringIndex(text); at != nil {
				add("%s: %q", rule.says, around(text, at))
			}
		}
	}
}

// brokenBold returns the part of a line whose ** do not work: with punctuation inside of
// them they need a space or punctuation outside.
func brokenBold(text string) string {
	parts := strings.Split(text, "**")
	if len(parts)%2 == 0 {
		return ""
	}
	for i := 1; i < len(parts); i += 2 {
		before, inside, after := []rune(parts[i-1]), []rune(parts[i]), []rune(parts[i+1])
		if len(inside) == 0 {
			continue
		}
		if len(before) > 0 && isWord(before[len(before)-1]) && !isWord(inside[0]) || len(after) > 0 && isWord(after[0]) && !isWord(inside[len(inside)-1]) {
			return "**" + parts[i] + "**" + head(parts[i+1])
		}
	}
	return ""
}

var word = regexp.MustCompile(`[\p{L}\p{N}]`)

func isWord(r rune) bool { return word.MatchString(string(r)) }

// head is the beginning of a text.
func head(text string) string {
	if r := []rune(text); len(r) > 24 {
		return string(r[:24]) + "…"
	}
	return text
}

// around is a part of a text with what stands next to it.
func around(text string, at []int) string {
	before, after := []rune(text[:at[0]]), []rune(text[at[1]:])
	return string(before[max(0, len(before)-8):]) + text[at[0]:at[1]] + string(after[:min(8, len(after))])
}

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A rule is a pattern that is wrong in a text, and what to do about it.
type rule struct {
	find   *regexp.Regexp
	except *regexp.Regexp // not what this matches too, even if only in part
	why    string
}

// reject is a rule without exceptions. In its pattern, case makes no difference, and ^
// and $ are the ends of a line.
func reject(find, why string) rule {
	return rule{find: regexp.MustCompile(`(?im)` + find), why: why}
}

func say(find, instead string) rule { return reject(find, "write "+instead) }

func (r rule) unless(except string) rule {
	r.except = regexp.MustCompile(`(?im)` + except)
	return r
}

// check returns where the text of a file breaks the rules.
func check(rules []rule, file, text string) (wrong []string) {
	for _, r := range rules {
		for _, at := range r.find.FindAllStringIndex(text, -1) {
			overlaps := func(other []int) bool { return other[0] < at[1] && at[0] < other[1] }
			if r.except != nil && slices.ContainsFunc(r.except.FindAllStringIndex(text, -1), overlaps) {
				continue
			}
			line := 1 + strings.Count(text[:at[0]], "\n")
			found, _, _ := strings.Cut(text[at[0]:at[1]], "\n")
			wrong = append(wrong, fmt.Sprintf("%s:%d: %q: %s", file, line, found, r.why))
		}
	}
	return wrong
}

// terms are words that are never the ones of the course, and those that are. Between
// quotation marks they may stand: so others say it.
var terms = []rule{
	say(`(?:^|[^护])令牌`, "唯一标识（token），或 fencing token（防护令牌）"),
	say(`持有者|拥有者`, "持锁者（holder），或 锁的归属者（owner）"),
	say(`(?:^|[^件])句柄`, "锁对象"),
	say(`主库|从库|主服务器|从服务器|从机`, "主节点、从节点"),
	say(`时钟偏移|时钟飘移`, "时钟漂移"),
	say(`时钟跳变`, "时钟跳跃"),
	say(`竞争条件|竞态(?:[^条]|$)`, "竞态条件"),
	say(`超售`, "超卖"),
	say(`多数节点`, "多数派（过半节点）"),
	say(`应答丢失|回复丢失|丢失响应`, "响应丢失"),
	say(`单点失效`, "单点故障"),
	say(`递归锁`, "可重入锁"),
	say(`续约|续租`, "续期"),
	say(`看门犬|监视狗`, "看门狗"),
	say(`生存时间|存活时间`, "过期时间"),
	say(`故障切换|主备切换|故障迁移`, "主从切换（故障转移）"),
	say(`进程停顿`, "进程暂停"),
	say(`临界段|关键区`, "临界区"),
	say(`网络分割`, "网络分区"),
	say(`活跃性`, "活性"),
	say(`延迟重启`, "延时重启"),
	say(`虚拟时钟`, "虚拟时间"),
	say(`租赁`, "租约"),
	say(`您`, "你"),
}

// typesetting are the rules of it that a machine can check. They are for a text without
// Markdown.
var typesetting = []rule{
	reject(`\p{Han} ?[,;!?:](?:\s|\p{Han}|$)|\p{Han} ?\.(?:\s|$)|\p{Han} ?\(`, "punctuation after a Chinese character is full-width"),
	reject(`\S [，。：；？！、）]`, "no space comes before full-width punctuation"),
	reject(`\p{Han}[A-Z0-9]|[A-Z0-9]\p{Han}`, "a space stands between Chinese and Latin letters, digits or code"),
}

// layout are the rules for a text with its Markdown.
var layout = []rule{
	reject(`^ *[^\s|<>#~].*\n *(?:[^\s|<>#~*\-\d]|[*\-][^ \n]|\d+[^.\d\n])`, "a paragraph is one line (GitHub shows a line break as a space)"),
	reject(`^<!-- run:.*\n[~\s]*(?:\z|[<#]|[^\p{Han}~\s][^\p{Han}\n]*$)`, "no line in Chinese says what this output shows"),
	// With punctuation inside, the ** need a space or punctuation outside.
	reject(`^(?:[^*\n]*\*\*[^*\n]+\*\*)*[^*\n]*(?:[\p{L}\p{N}]\*\*[^\p{L}\p{N}*\n][^*\n]*\*\*|\*\*[^*\n]*[^\p{L}\p{N}*\n]\*\*[\p{L}\p{N}])`,
		"GitHub does not show this as bold: a space is needed outside of the ** or the punctuation has to leave it"),
	reject(`[A-Z][A-Z'’-]*(?: [A-Z][A-Z'’-]*){4,}`, "English is left").
		unless("“[^”\n]*”|\"[^\"\n]*\"|《[^》\n]*》|\\[[^\\]\n]*\\]\\(https?:[^)\\s]*\\)|^>.*|<!--.*|`[^`\n]*`|<code>.*?</code>"),
}

var (
	quoted    = regexp.MustCompile(`“[^”\n]*”|"[^"\n]*"`)
	bookTitle = regexp.MustCompile(`《[^》\n]*》`)
	anyLink   = regexp.MustCompile(`\[([^\]\n]*)\]\([^)\s]*\)`)
	htmlTag   = regexp.MustCompile(`<[^>\n]*>`)
)

// chineseForm returns what is wrong with the Chinese of a page.
func (b library) chineseForm(file string) []string {
	raw := prose(parse(b.page(file).text))
	text := codeSpan.ReplaceAllString(raw, "C")
	text = bookTitle.ReplaceAllString(text, "《》")
	text = anyLink.ReplaceAllString(text, "$1")
	text = strings.ReplaceAll(htmlTag.ReplaceAllString(text, "\t"), "**", "")
	wrong := check(layout, file, raw)
	wrong = append(wrong, check(typesetting, file, text)...)
	wrong = append(wrong, check(terms, file, quoted.ReplaceAllString(text, "“”"))...)
	return append(wrong, b.unsaidEnglish(file, raw)...)
}

// unsaidEnglish returns links to pages that are in English only, where the page does not
// say so.
func (b library) unsaidEnglish(file, text string) (wrong []string) {
	said := map[string]bool{bilingual: true}
	for _, at := range linkTo.FindAllStringSubmatchIndex(text, -1) {
		to, _, isPage := b.target(file, text[at[2]:at[3]])
		if !isPage || b.has(chinese(to)) || said[to] {
			continue
		}
		if said[to] = true; !strings.HasPrefix(text[at[1]:], "（英文") {
			wrong = append(wrong, fmt.Sprintf("%s:%d: the first link to %s, which is in English only, is followed by （英文）",
				file, 1+strings.Count(text[:at[0]], "\n"), to))
		}
	}
	return wrong
}

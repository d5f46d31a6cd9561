package picture

import (
	"regexp"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
)

// inChinese has what the pictures of the Chinese pages say, by the English. A # is a number.
var inChinese = map[string]string{
	// Titles.
	"Two clients at the same moment":                       "两个客户端同一时刻来加锁",
	"The holder dies":                                      "持锁者崩溃",
	"A client dies within its TryLock":                     "客户端在 TryLock 中途崩溃",
	"A holder comes late to its Unlock":                    "持锁者超时后才来解锁：误删",
	"The reply to the acquire is lost":                     "加锁的响应丢失",
	"The lease ends within an Unlock":                      "解锁到一半，租约到期",
	"The owner locks again":                                "锁的归属者再次加锁：可重入",
	"bob waits until alice leaves":                         "bob 等 alice 出来",
	"A waiter is woken":                                    "等待者被唤醒",
	"Work that takes three times the ttl":                  "业务时间是过期时间的三倍：看门狗",
	"A dead holder is not renewed":                         "持锁者崩溃后，不再续期",
	"A master fails over before it has replicated":         "还没复制就主从切换",
	"Exactly three nodes say yes, and one of them forgets": "恰好三个节点同意，其中一个忘了",
	"Two of five nodes hang":                               "五个节点，两个没有响应",
	"Validity, by example":                                 "有效时间：一个例子",
	"Kleppmann's figure":                                   "Kleppmann 的那张图",

	// Locks.
	"Before the course: EXISTS, then SET; DEL":                                        "课程之前：先 EXISTS，再 SET；DEL",
	"Step 01: SETNX; DEL":                                                             "第 01 步：SETNX；DEL",
	"Step 02: SETNX, then PEXPIRE; DEL":                                               "第 02 步：先 SETNX，再 PEXPIRE；DEL",
	"Step 03: SET NX EX; DEL":                                                         "第 03 步：SET NX EX；DEL",
	"Step 04: SET token NX EX; GET, compare, DEL":                                     "第 04 步：SET 唯一标识 NX EX；先 GET 比较，再 DEL",
	"Step 05: SET token NX EX; a script that compares and deletes":                    "第 05 步：SET 唯一标识 NX EX；一段脚本，比较并删除",
	"Step 06: a hash {token: depth}, written by a script; the last release publishes": "第 06 步：哈希 {唯一标识: 重入次数}，用脚本写；最后一次解锁时发布",
	"Step 07: as step 06; renewed every ttl/3 until Unlock or loss":                   "第 07 步：同第 06 步；每 ttl/3 续期一次，直到 Unlock 或锁丢失",
	"Step 08: step 06's scripts on all nodes at once; a majority decides":             "第 08 步：第 06 步的脚本，同时发给所有节点，过半才算；解锁发给所有节点",
	"Resources that do not check the token":                                           "共享资源不检查 fencing token",
	"Resources that check the token":                                                  "共享资源检查 fencing token",

	// What holds.
	"bob's lock stays, and carol is refused":     "bob 的锁还在，carol 被拒绝",
	"alice recognises her lock, and releases it": "alice 认出自己的锁，并释放它",
	"bob sends nothing while he waits":           "bob 等待时什么也不发",
	"bob enters a ttl after the last renewal":    "最后一次续期之后，再过一个过期时间，bob 进来",
	"three nodes are enough":                     "三个节点就够了",
	"alice stops before anybody can enter":       "别人还进不来，alice 已经停手",
	"the stock has seen 34, and refuses 33":      "库存见过 34，拒绝 33",

	// What fails: the assertions of the stories.
	"bob took the lock in the middle of alice's TryLock, but she got it as well: both are inside":                      "alice 的 TryLock 做到一半，bob 拿走了锁；alice 也拿到了，两个客户端同时持锁",
	"alice died inside, her ttl of 10s has expired, but bob is still locked out":                                       "alice 持锁时崩溃，10 秒早就过了，bob 还是进不去",
	"alice died in her TryLock, her ttl of 10s has expired, but bob is still locked out":                               "alice 在 TryLock 中途崩溃，10 秒早就过了，bob 还是进不去",
	"alice came late and deleted bob's lock: carol is inside with bob":                                                 "alice 来晚了，误删 bob 的锁：carol 和 bob 同时持锁",
	"the lock is alice's, but TryLock returned ErrNotAcquired: no one will release it":                                 "锁是 alice 的，TryLock 却说被别人占着：这把锁没人会去释放",
	"alice's lease expired during her Unlock, bob entered, but she deleted his lock: carol is inside with bob":         "alice 解锁到一半租约到期，bob 进来，她误删了 bob 的锁：carol 和 bob 同时持锁",
	"alice holds the lock and locks again, but her own lock refused her":                                               "alice 持着锁，再加一次锁，被自己的锁挡在外面",
	"bob waits for alice, but in the last 5s alone he has sent 330 commands to Redis":                                  "bob 在等 alice，光是最后 5 秒就给 Redis 发了 330 条命令",
	"alice has unlocked only the inner lock and is still inside, but three times the ttl later bob is inside with her": "alice 只解开内层的锁，但还持有外层锁；三个过期时间之后，bob 也进来了",
	"a master died, its replica knew nothing of alice's lock, and bob is inside with her":                              "主节点宕机，从节点不知道 alice 的锁，bob 也进来了",
	"alice wrote with 33 after bob had written with 34, but it was accepted: his sale is lost":                         "bob 用 34 写过以后，alice 又用 33 写，居然写成功：bob 卖的那一笔没了",

	"the reply to alice's TryLock was lost and she got an error, but what she left in Redis blocks bob":      "alice 的 TryLock 响应丢失，她得到一个错误；她留在 Redis 里的 key 把 bob 挡在外面",
	"alice's request was cancelled and her Unlock released nothing: bob is locked out, but no one is inside": "alice 的请求被取消，她的 Unlock 什么也没释放；没有人持锁，bob 却进不来",

	// The staircase.
	"Which lock (1 to 8) provides which guarantee":                       "哪把锁（1 到 8）守得住哪条保证",
	"two clients never hold it at once":                                  "两个客户端不会同时持锁",
	"a holder that dies blocks no one beyond the TTL":                    "持锁者崩溃，过期后别人能加锁",
	"dying at any point of acquiring blocks no one beyond the TTL":       "加锁的任何一步崩溃，都不会死锁",
	"a late holder cannot delete the next owner's lock":                  "超时的持锁者误删不了别人的锁",
	"nothing fits between the check and the delete":                      "检查和删除之间插不进任何命令",
	"the owner may nest":                                                 "可重入",
	"work longer than the TTL keeps the lock":                            "业务比过期时间久，看门狗续期",
	"losing a minority of the masters neither loses nor blocks the lock": "少数主节点故障，锁不丢也不卡",
	"a paused holder's stale write is rejected":                          "持锁者暂停后，迟到的写入被拒绝",
	"Every cell is a test run: ✓ all stories of the guarantee pass on that lock, ✗ at least one fails. F: with fencing tokens.": "每一格都跑过测试：✓ 这条保证的测试故事在这把锁上全部通过，✗ 至少一个失败。F：加上 fencing token。",

	// What happens.
	"alice dies": "alice 崩溃",
	"alice dies before she sends PEXPIRE coupons #":                                 "alice 还没发 PEXPIRE coupons # 就崩溃",
	"alice works for longer than the ttl":                                           "alice 的业务超过了过期时间",
	"alice works for # ttl":                                                         "alice 的业务要 # 个过期时间",
	"alice has left the inner lock and continues in the outer one":                  "alice 出了内层锁，在外层锁里继续处理业务",
	"the clock of Redis jumps ahead by 10s: all leases have expired":                "Redis 的时钟向前跳 10 秒：所有租约都到期",
	"bob waits; from now on his commands are counted":                               "bob 在等；从现在起数他发的命令",
	"the same # times more":                                                         "同样的再重复 # 次",
	"Redis: the master dies, and a replica that never received the lock takes over": "Redis：主节点宕机，从节点没收到过这把锁，接了班",
	"node # hangs":                         "节点 # 没有响应",
	"node # is down":                       "节点 # 宕机",
	"node # is up again":                   "节点 # 恢复",
	"node #: it restarts without its data": "节点 #：重启后数据全丢",
	"alice's network is down: nothing that she sends arrives": "alice 的网络断了：发什么都到不了",
	"alice's Lost is closed":                                  "alice 的 Lost 关闭：得知锁丢失",
	"alice's keys have expired on all nodes":                  "alice 的 key 在所有节点上都过期了",

	// What is wrong with it.
	"without a ttl":           "没有过期时间",
	"overwrites bob's lock":   "覆盖了 bob 的锁",
	"deletes bob's lock":      "误删 bob 的锁",
	"alice is inside as well": "alice 也持锁",
	"comes with # after #":    "来的是 #，之前已有 #",

	// Below.
	"Redis column: the key, narrower as its TTL runs out. Bar in a client's column: the client is inside.":                          "Redis 一列是 key，越接近过期越窄；客户端一列有色条，表示它持锁。",
	"Redis column: the key, narrower as its TTL runs out. Bar in a client's column: the client is inside. Hatched: two are inside.": "Redis 一列是 key，越接近过期越窄；客户端一列有色条，表示它持锁；斜线表示两个客户端同时持锁。",
}

// inLabels has the words of labels; commands, replies and errors are as in the code.
var inLabels = strings.NewReplacer(
	"no connection", "连不上",
	"is paused", "暂停",
	"goes on", "继续",
	"calls Lock", "调用 Lock",
	"listens on redislock:coupons", "订阅",
	"hears: released", "收到通知：已释放",
	"reply lost", "响应丢失",
	"no reply", "没有响应",
	"refused", "被拒绝",
	"key expires", "key 过期",
	"depth", "重入次数",
	"reads ", "读 ",
	"writes ", "写 ",
	" with ", "，令牌 ",
	"node", "节点",
	"stock", "库存",
)

// labelled returns what stands in a lane.
func (c *canvas) labelled(text string) string {
	if !c.chinese {
		return strings.Replace(text, "listens on redislock:coupons", "listens", 1)
	}
	found := inLabels.Replace(text)
	if english.MatchString(asInCode.ReplaceAllString(found, "")) {
		c.lack(text)
	}
	return found
}

// asInCode are the words that are the same in both languages: clients, scripts, replies.
var (
	asInCode = regexp.MustCompile(`\b(alice|bob|carol|acquire|release|renew|nil|key|context canceled|[A-Z]\w+)\b`)
	english  = regexp.MustCompile(`[a-z]{3,}`)
)

// InChinese returns the Chinese for a text of a picture, or the text if there is none.
func InChinese(text string) string {
	found, _ := course.Find(inChinese, text)
	return found
}

// Chinese returns the theme for the pictures of the Chinese pages.
func (t Theme) Chinese() Theme {
	t.chinese = true
	return t
}

// say returns what the picture shows of a text. What has no Chinese is an error in the end.
func (c *canvas) say(text string) string {
	if !c.chinese {
		return text
	}
	found := InChinese(text)
	if found == text {
		c.lack(text)
	}
	return found
}

func (c *canvas) lack(text string) {
	if !slices.Contains(c.lacks, text) {
		c.lacks = append(c.lacks, text)
	}
}

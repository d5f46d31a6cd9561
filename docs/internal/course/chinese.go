package course

import (
	"regexp"
	"strings"
)

// Chinese is whether the hints are Chinese, and what InChinese is asked for. A program
// sets it once, before anything else.
var Chinese bool

// InChinese returns the Chinese for a text of this package, or the text if there is none.
func InChinese(text string) string {
	found, _ := Find(inChinese, text)
	return found
}

// Find returns what a table has for a text: for itself, or for it with a # for each
// number, each duration and each piece of code. If there is none, it returns the text.
func Find(table map[string]string, text string) (string, bool) {
	if found, ok := table[text]; ok {
		return found, true
	}
	found, ok := table[variable.ReplaceAllString(text, "#")]
	if !ok {
		return text, false
	}
	for _, v := range variable.FindAllString(text, -1) {
		found = strings.Replace(found, "#", v, 1)
	}
	return found, true
}

// variable is what a # stands for: a number, a duration, or code.
var variable = regexp.MustCompile("`[^`]*`|[0-9]+(?:[.][0-9]+)?(?:ms|s)?")

// inChinese has what the course says, by the English.
var inChinese = map[string]string{
	// Names.
	"step #":                          "第 # 步",
	"of step #":                       "第 # 步的",
	"the lock of step #":              "第 # 步的锁",
	"before the course":               "课程开始之前",
	"from before the course":          "课程开始之前的",
	"the epilogue":                    "尾声",
	"of the epilogue":                 "尾声的",
	"the resources that check":        "会校验的共享资源",
	"the resources without the check": "不做校验的共享资源",
	"the lock everyone writes first":  "大家最先写的那把锁",

	// Titles.
	"SETNX, then EXPIRE":                                    "先 SETNX，再 EXPIRE",
	"SET key value NX EX ttl":                               "SET key value NX EX ttl",
	"a random token as the value":                           "用随机的唯一标识做 value",
	"compare and delete in one Lua script":                  "用一段 Lua 脚本比较并删除",
	"a depth next to the token, and waiters that are woken": "唯一标识旁边记重入次数，并唤醒等待者",
	"a watchdog that renews":                                "看门狗续期",
	"a majority of independent masters":                     "相互独立的多个主节点，过半才算加锁成功",
	"fencing tokens":                                        "fencing token",

	// What breaks without it.
	"two clients are inside at once":                        "两个客户端同时拿到锁",
	"a holder dies, and the lock stays taken forever":       "持锁者崩溃，锁永远不释放",
	"dying between two commands locks everyone out":         "两条命令之间崩溃，谁也拿不到锁",
	"a late holder deletes the next owner's lock":           "超时的持锁者误删下一个持锁者的锁",
	"the lease ends in the middle of Unlock":                "解锁解到一半，租约到期",
	"the owner locks again and blocks itself; waiters poll": "锁的归属者再次加锁会卡住自己；等待者靠轮询",
	"the lease ends during the work, and two are inside":    "业务没做完租约就到期，两个客户端同时持锁",
	"the master fails over, and two are inside":             "主从切换之后，两个客户端同时持锁",
	"a paused holder wakes up, and writes":                  "持锁者暂停后醒来，接着写入",

	// The locks, in commands.
	"EXISTS, then SET; DEL":              "先 EXISTS，再 SET；DEL",
	"SETNX; DEL":                         "SETNX；DEL",
	"SET NX EX; DEL":                     "SET NX EX；DEL",
	"SETNX, then PEXPIRE; DEL":           "先 SETNX，再 PEXPIRE；DEL",
	"SET token NX EX; GET, compare, DEL": "SET 唯一标识 NX EX；先 GET 比较，再 DEL",
	"SET token NX EX; a script that compares and deletes":                    "SET 唯一标识 NX EX；一段脚本，比较并删除",
	"a hash {token: depth}, written by a script; the last release publishes": "哈希 {唯一标识: 重入次数}，用脚本写入；最后一次解锁时发布消息",
	"as step 06; renewed every ttl/3 until Unlock or loss":                   "同第 06 步；每 ttl/3 续期一次，直到 Unlock 或锁丢失",
	"step 06's scripts on all nodes at once; a majority decides":             "把第 06 步的脚本同时发给所有节点，由多数派决定",
	"step 05, with a number for each acquisition":                            "第 05 步，每次加锁再发一个编号",

	// The same in words.
	"It asks with EXISTS whether the key is there and, if it is not, writes it with SET. Unlock deletes it.":                                                                    "加锁时先用 EXISTS 查 key 是否存在，不存在就用 SET 写入；Unlock 删除 key。",
	"It writes the key with SETNX, which fails if the key exists. Unlock deletes it.":                                                                                           "加锁时用 SETNX 写 key，key 已存在就写不进去；Unlock 删除 key。",
	"It writes the key with SETNX and then sets its TTL with a second command. Unlock deletes it.":                                                                              "加锁时先用 SETNX 写 key，再用第二条命令设置过期时间；Unlock 删除 key。",
	"It writes the key and its TTL with one SET, unless the key exists. Unlock deletes the key.":                                                                                "如果 key 不存在，就用一条 SET 同时写入 key 和过期时间；Unlock 删除 key。",
	"It writes a random token with one SET, unless the key exists. Unlock reads the key, and deletes it if it holds that token.":                                                "如果 key 不存在，就用一条 SET 写入随机的唯一标识。Unlock 先读 key，值是自己的唯一标识才删除。",
	"It writes a random token with one SET, unless the key exists. Unlock is a script in Redis that compares the token and deletes. Lock polls every 30 ms.":                    "如果 key 不存在，就用一条 SET 写入随机的唯一标识。Unlock 是一段在 Redis 中执行的脚本：唯一标识相符才删除。Lock 每 30 毫秒轮询一次。",
	"It stores a random token and how deeply its owner has nested. The outermost Unlock deletes the key and wakes the waiters. The TTL is set once, when the lock is acquired.": "key 里存着随机的唯一标识和重入次数。最外层的 Unlock 删除 key，并唤醒等待者。过期时间只在加锁时设置一次。",
	"The owner may nest, waiters are woken, and a watchdog renews the lease. The lock lives on one Redis: a master, and a replica that follows it a little later.":              "锁可重入，等待者会被唤醒，看门狗负责续期。锁只在一个 Redis 上：一个主节点，外加一个复制稍有延迟的从节点。",
	"It sends to five independent Redis masters at once, and holds the lock if at least three of them grant it.":                                                                "同时向五个相互独立的 Redis 主节点加锁，至少三个加锁成功才算拿到锁。",
	"They compare the number of a write with the highest they have seen, and reject an older one.":                                                                              "共享资源记住见过的最大编号，每次写入都与它比较，编号更小的写入一律拒绝。",
	"The lock gives every acquisition a number, and the writes carry it. The resources accept every write.":                                                                     "每次加锁都得到一个编号，写入时带上它；但共享资源不校验，什么写入都接受。",

	// What its stories ask for.
	"Two clients never hold the lock at once. Unlock lets the next one in, and Lock waits for that.": "两个客户端绝不同时持锁。Unlock 之后下一个客户端才能拿到锁，Lock 会一直等到那时。",
	"A holder that dies, or forgets to unlock, blocks no one beyond the TTL. A ttl under a millisecond is rejected with an error.": "持锁者崩溃，或者忘了解锁，过期时间一到，别人就能拿到锁。" +
		"ttl 不足一毫秒时返回错误。",
	"Whatever happens to a client in its TryLock, the lock ends with its TTL.": "不管客户端在 TryLock 中途出了什么事，锁都会按过期时间失效。",
	"Only the owner releases a lock: every acquisition has a new random " +
		"token. Unlock without the lock is ErrNotHeld. When the reply to a SET is " +
		"lost, go-redis sends it again: the owner then recognises its own lock.": "锁只能由它的归属者释放：每次加锁都用一个新的随机唯一标识。没有持锁就调用 Unlock，返回 ErrNotHeld。" +
		"如果 SET 的响应丢失，go-redis 会重发；这时归属者要能认出那就是自己的锁。",
	"Nothing fits between the check and the delete. A command whose reply was " +
		"lost may have run, and go-redis silently sends it again: Unlock must not " +
		"return ErrNotHeld for a release that has run. It works with a cancelled " +
		"context, and returns within 6s. A TryLock of unknown outcome leaves " +
		"nothing behind in Redis.": "检查和删除之间插不进任何命令。响应丢失的命令可能已经执行，而 go-redis 会悄悄重发：" +
		"如果释放已经执行，Unlock 就不能返回 ErrNotHeld。context 已取消时 Unlock 照样有效，并且在 6 秒之内返回。" +
		"结果不明的 TryLock，不能在 Redis 里留下任何东西。",
	"Each Lock value is one owner. It may lock again, and its outermost Unlock " +
		"frees the lock; what is sent twice counts once. Waiters in Lock are woken, " +
		"and do not poll. From here on a lock is a hash, so a string at its key is " +
		"another program's data: an error at once, not a holder.": "每个 Lock 对象就是一个归属者。它可以再次加锁，最外层的 Unlock 才释放锁；同一条命令发了两次，只算一次。" +
		"在 Lock 中等待的客户端由消息唤醒，不轮询。从这一步起锁是一个哈希；如果 key 上是字符串，那就是别的程序的数据：" +
		"立即返回错误，不能当成有人持锁。",
	"Work that takes longer than the TTL keeps the lock. A dead holder's lock " +
		"still expires. A live holder that forgets to unlock now keeps it, unless " +
		"MaxHold limits that.": "业务耗时超过过期时间，锁也不会丢。持锁者崩溃，锁照样过期。" +
		"但进程还活着却忘了解锁的持锁者会一直占着锁，除非用 MaxHold 限制。",
	"The lock lives on five independent masters. When a minority of them " +
		"fails, in any way and at any moment, it is neither lost nor blocked. Step " +
		"07's lock has one Redis, so that is the one that fails here.": "锁分布在五个相互独立的主节点上。其中少数节点无论何时、以何种方式发生故障，锁既不会丢，也不会卡住。" +
		"第 07 步的锁只有一个 Redis，所以在这里出故障的就是它。",

	// What is new.
	"One command decides who is in. Lock polls every 30 ms.": "由一条命令决定谁拿到锁。Lock 每 30 毫秒轮询一次。",
	"The key gets a TTL.":                   "给 key 设置过期时间。",
	"One command sets the key and its TTL.": "一条命令同时写入 key 和过期时间。",
	"The value says whose lock it is. After a lost reply, the owner recognises its lock by it.":          "value 标明这是谁的锁。响应丢失之后，归属者靠它认出自己的锁。",
	"The release is atomic and works with a cancelled context. An acquire of unknown outcome is undone.": "释放锁是原子操作，context 取消后也有效。加锁结果不明时，把可能留下的 key 清掉。",
	"The owner may nest. Waiters are woken and do not poll.":                                             "锁可重入。等待者由消息唤醒，不再轮询。",
	"Renewal every ttl/3, with Lost, ValidUntil, Do and MaxHold.":                                        "每 ttl/3 续期一次，另有 Lost、ValidUntil、Do 和 MaxHold。",
	"Quorum, NodeTimeout, nodes that are healed, retry after a random delay.":                            "多数派、NodeTimeout、给重启的节点补锁、随机延迟后重试。",
	"What no step gives: a holder that is paused for long (a GC pause, a stopped " +
		"process, a moved virtual machine) does not know that its lock has ended, and " +
		"writes when it wakes up. No lock can prevent that. The resource has to: it " +
		"takes a fencing token, a number that grows with every acquisition, and rejects " +
		"a write that carries an older one.": "八步都解决不了的问题：持锁者长时间暂停（GC 停顿、进程被挂起、虚拟机迁移），不知道锁已经失效，醒来后照样写入。" +
		"任何锁都防不住，只能靠共享资源：每次加锁发一个递增的编号，也就是 fencing token；写入时带上它，编号比见过的小，就拒绝。",

	// Guarantees.
	"two clients never hold it at once":                                           "两个客户端不会同时持锁",
	"a holder that dies blocks no one beyond the TTL":                             "持锁者崩溃，过期时间一到，别人就能拿到锁",
	"dying at any point of acquiring blocks no one beyond the TTL":                "加锁过程中无论在哪里崩溃，过期时间一到，别人就能拿到锁",
	"a late holder cannot delete the next owner's lock":                           "超时的持锁者不会误删下一个持锁者的锁",
	"nothing fits between the check and the delete":                               "检查和删除之间插不进任何命令",
	"the owner may nest; only the outermost Unlock frees":                         "可重入；只有最外层的 Unlock 才释放锁",
	"waiters are woken and do not poll":                                           "等待者由消息唤醒，不轮询",
	"work longer than the TTL keeps the lock; a dead holder's lock still expires": "业务耗时超过过期时间，锁不会丢；持锁者崩溃，锁照样过期",
	"the holder is notified that it lost the lock":                                "锁丢失时，持锁者会得到通知",
	"losing a minority of the masters neither loses nor blocks the lock":          "少数主节点故障，锁既不会丢，也不会卡住",
	"how long a node may take, and what a node is sent":                           "一个节点最多等多久，会收到哪些命令",
	"a paused holder's stale write is rejected":                                   "持锁者暂停后迟到的写入被拒绝",
	"each hold has a higher number than those before it":                          "每次加锁得到的编号都比以前的大",

	// What is still broken.
	"A holder that dies leaves the key behind: locked forever.":                                               "持锁者崩溃后 key 还在，锁永远不释放。",
	"A client that dies between the two commands, or whose EXPIRE Redis refuses: locked forever.":             "客户端在两条命令之间崩溃，或者 Redis 拒绝了 EXPIRE，锁就永远不释放。",
	"A late holder's DEL, or a DEL resent after a lost reply, removes the next owner's lock.":                 "超时的持锁者发出 DEL，或者响应丢失后 DEL 被重发，都会误删下一个持锁者的锁。",
	"The lock can expire between GET and DEL: the DEL then removes the next owner's lock.":                    "锁可能在 GET 和 DEL 之间过期，这时 DEL 误删的是下一个持锁者的锁。",
	"The owner blocks itself when it locks again; a lease that ends during the work lets a second holder in.": "锁的归属者再次加锁会卡住自己；业务没做完租约就到期，另一个客户端就能拿到锁。",
	"A lease that ends during the work: two inside, an update lost at the resource.":                          "业务没做完租约就到期：两个客户端同时持锁，共享资源上更新丢失。",
	"The master fails over before it has replicated the key: two inside.":                                     "主节点还没复制 key 就发生主从切换：两个客户端同时持锁。",
	"Exactly three of five held and one of them restarts empty; a node's clock jumps; " +
		"a holder paused beyond its validity writes to a resource that does not check.": "五个节点恰好三个加锁成功，其中一个重启后数据为空；节点的时钟跳跃；" +
		"持锁者暂停到有效时间之后，又写入不做校验的共享资源。",
	"A counter on a Redis that fails over can give a number twice; a resource that cannot compare cannot be fenced.": "编号由 Redis 计数时，主从切换可能让同一个编号发两次；不能比较编号的共享资源，也就无法这样保护。",

	// Parts.
	"script":                           "脚本",
	"detach":                           "脱离",
	"undo":                             "撤销",
	"renew":                            "续期",
	"One script compares and deletes.": "用一段脚本比较并删除。",
	"Unlock works with a cancelled context, and returns when Redis hangs.":                                 "context 已取消时 Unlock 照样有效；Redis 没有响应时也能返回。",
	"What may have run: a TryLock without a reply is undone, and a release without a reply is not a loss.": "命令可能已经执行：没有响应的 TryLock 要撤销，没有响应的释放不算锁丢失。",
	"The lease is renewed until Unlock.":                                                                   "持续续期，直到 Unlock。",
	"The holder is notified of a loss before the key can expire.":                                          "锁丢失时，在 key 可能过期之前通知持锁者。",
	"Work whose context ends when the lock is lost.":                                                       "锁一丢失，业务的 context 就结束。",

	// Rules.
	`Every error begins with "redislock: " and names the key in quotes. errors.Is finds ErrNotAcquired, ErrNotHeld, or the error of go-redis or of the context behind it.`:                       "所有错误都以 \"redislock: \" 开头，并写出带引号的 key。用 errors.Is 能认出 ErrNotAcquired、ErrNotHeld，或者背后 go-redis、context 的错误。",
	"ErrNotAcquired means \"another client has it\". Redis being down, a lost reply or an ended context is another error.":                                                                       "ErrNotAcquired 只表示“锁被别的客户端占着”。Redis 宕机、响应丢失、context 结束，都是别的错误。",
	"If Lock has been refused and its context ends during the wait, the error matches both ErrNotAcquired and the context's error.":                                                              "如果 Lock 加锁被拒绝，等待期间 context 又结束了，返回的错误既匹配 ErrNotAcquired，也匹配 context 的错误。",
	"An empty key, a nil client (a nil *redis.Client as well) and a Ring are rejected before any command is sent: validate does that already, keep it.":                                          "key 为空、客户端为 nil（包括 nil 的 *redis.Client）、客户端是 Ring，都要在发出命令之前拒绝。validate 已经做到了，保留它就行。",
	"Lock retries soon: it acquires the lock at most 1s after the holder has left, and returns at most 1s after its context has ended or its client was closed.":                                 "Lock 要及时重试：持锁者释放后，最多 1 秒就拿到锁；context 结束或客户端关闭后，最多 1 秒就返回。",
	"A Lock value may be used by several goroutines at once.":                                                                                                                                    "同一个 Lock 对象可以由多个 goroutine 同时使用。",
	"A ttl under 1ms is rejected before any command, with an error that names the ttl as time.Duration prints it.":                                                                               "ttl 不足 1ms 时，在发出命令之前拒绝；错误里要写出 ttl，格式同 time.Duration 的打印结果。",
	"A ttl may be any number of milliseconds: 500ms is not 0, and 1.9s is not 1s.":                                                                                                               "ttl 可以是任意毫秒数：500ms 不能变成 0，1.9s 不能变成 1s。",
	"A free lock is taken with one command to each Redis. MULTI and EXEC are several.":                                                                                                           "锁空闲时，对每个 Redis 只发一条命令就要加锁成功。MULTI 和 EXEC 算多条。",
	"Every acquisition has a new token from crypto/rand, with at least 100 random bits (a UUID of version 4 has 122, one of version 7 only 74).":                                                 "每次加锁都用 crypto/rand 生成新的唯一标识，至少 100 个随机位（UUID v4 有 122 位，v7 只有 74 位）。",
	"Unlock without the lock is ErrNotHeld, and sends nothing.":                                                                                                                                  "没有持锁就调用 Unlock：返回 ErrNotHeld，不发任何命令。",
	"Unlock returns within 6s, even when Redis hangs, and works with a cancelled context. go-redis does not interrupt a read for a context: it waits for its ReadTimeout, 5s, and then resends.": "即使 Redis 没有响应，Unlock 也要在 6 秒之内返回；context 已取消时照样有效。go-redis 不会因为 context 结束而中断读取：它会等满 ReadTimeout（5 秒），然后重发。",
	"A release whose reply was lost may have run. One that never got a connection (redis.ErrPoolTimeout) has not. If you " +
		"must know: go-redis sends a command once if its NoRetry() method returns true (noRetryCmd in step05_lua_release/send.go).": "释放命令的响应丢失时，它可能已经执行；如果根本没拿到连接（redis.ErrPoolTimeout），就一定没有执行。" +
		"如果必须弄清楚：命令的 NoRetry() 方法返回 true 时，go-redis 只发一次（见 step05_lua_release/send.go 中的 noRetryCmd）。",
	"After an Unlock of unknown outcome, Unlock may be called again. The next TryLock has a new token anyway.":                                                                                                           "Unlock 的结果不明时，可以再调用一次 Unlock。下一次 TryLock 反正会用新的唯一标识。",
	"A script takes its key in KEYS, not in ARGV and not in its text: a cluster finds the server by KEYS.":                                                                                                               "脚本的 key 要放在 KEYS 里传，不能放在 ARGV 里，也不能写死在脚本里：集群要靠 KEYS 找到对应的节点。",
	"Each Lock value is one owner. If it has lost the lock, a nested TryLock is ErrNotHeld and does not acquire it anew.":                                                                                                "每个 Lock 对象就是一个归属者。如果锁已经丢失，内层的 TryLock 返回 ErrNotHeld，不能重新加锁。",
	"The key is a hash with one field, the token, and its value is the depth. A command that was sent twice counts once.":                                                                                                "key 是只有一个字段的哈希：字段名是唯一标识，值是重入次数。同一条命令发了两次，只算一次。",
	"Rights may forbid PUBLISH or SUBSCRIBE: then a release still releases, and a waiter gets in when the lease ends.":                                                                                                   "权限可能禁止 PUBLISH 或 SUBSCRIBE：这时释放照样有效，等待者则等到租约到期再拿锁。",
	"A key of another type, or without a ttl, is another program's data: an error at once, and it stays as it is.":                                                                                                       "key 的类型不对，或者没有过期时间，就是别的程序的数据：立即返回错误，并且不改动它。",
	"A client that waits in Lock sends nothing, and gets in within a millisecond of the release. A holder that dies wakes no one: then the waiter gets in when the TTL expires.":                                         "在 Lock 中等待的客户端不发任何命令，锁释放后一毫秒之内就拿到锁。持锁者崩溃时没人来唤醒，等待者就等到过期时间到了再拿锁。",
	"A subscription can die without an error: a waiter gets in at most 10s after the release anyway.":                                                                                                                    "订阅可能在没有报错的情况下失效：即使这样，锁释放后最多 10 秒，等待者也要拿到锁。",
	"Renew every ttl/3. A renewal that fails or is not answered is tried again every ttl/20 to ttl/30, over another connection if need be, as long as the lease is valid. It is sent once: go-redis does not resend it.": "每 ttl/3 续期一次。续期失败或没有响应时，只要租约还有效，就每隔 ttl/20 到 ttl/30 再试，必要时换一条连接。每次只发一遍，不让 go-redis 重发。",
	"The lock is valid for ttl - (ttl/100 + 2ms), counted from before the command was sent that acquired or renewed it. ValidUntil returns that time, or the zero time if the lock is not held.":                         "锁的有效时间是 ttl - (ttl/100 + 2ms)，从发出加锁或续期命令之前算起。ValidUntil 返回它何时结束；没有持锁时返回零值。",
	"Lost is closed when the lock is no longer valid, or at the renewal that finds it gone. Unlock does not close it.":                                                                                                   "锁的有效时间已过，或者续期时发现锁没了，就关闭 Lost。Unlock 不关闭它。",
	"When Lost is closed and the key is gone, Unlock returns ErrNotHeld, even if a reply to it was lost.":                                                                                                                "如果 Lost 已关闭、key 也没了，Unlock 就返回 ErrNotHeld，即使它有一次响应丢失。",
	"A ttl of 5ms or more is accepted, and renewed in time. A shorter one may be rejected.":                                                                                                                              "5ms 及以上的 ttl 要接受，并且来得及续期；更短的可以拒绝。",
	"MaxHold is how long the lock is renewed; 0 means forever. Then the last renewal expires and the lock is lost.":                                                                                                      "MaxHold 是续期的总时长，0 表示没有限制。到时间就不再续期，等最后一次续的租约到期，锁就丢失。",
	"Do returns ErrNotRun if the work did not begin, and ErrLost if the lock was lost under it. The work's context ends with the cause ErrLost.":                                                                         "业务没有开始，Do 就返回 ErrNotRun；业务执行期间锁丢失，就返回 ErrLost，业务的 context 也随之结束，原因（cause）是 ErrLost。",
	"Unlock stops the watchdog first: it does not wait for a renewal (it returns within 4s), nothing is sent afterwards, and no goroutine is left.":                                                                      "Unlock 先停看门狗：不等正在进行的续期（4 秒之内返回），此后不再发任何命令，也不留下 goroutine。",
	"The commands go to all nodes at once. A node that hangs costs NodeTimeout at most; 0 means min(50ms, ttl/10).":                                                                                                      "命令同时发给所有节点。一个节点没有响应，最多只耽误 NodeTimeout；0 表示 min(50ms, ttl/10)。",
	"A majority counts all configured nodes, not only those that answer. On a failure every node is released, except those that said no.":                                                                                "多数派按配置的全部节点算，不是只算有响应的。加锁失败时，除了明确拒绝的节点，其余节点都要释放。",
}

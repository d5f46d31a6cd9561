import {test, expect, data, won, views, desktop, phone, still, open, goTo, hash, plays, wins, fine, noEnglish,
  threeWords} from './page.mjs';

const press = async (page, keys) => { for (const key of keys) await page.keyboard.press(key); };
const text = (page, what) => page.locator(what).first().innerText();
const ones = (page, n = 20) => press(page, '1'.repeat(n));
const find = id => data.Levels.find(l => l.ID.startsWith(`${id}/`));
const keep = (page, kept) => page.evaluate(kept => localStorage.setItem('redislock-play', kept), kept);
const solved = JSON.stringify({levels: Object.fromEntries(Object.keys(won).map(id => [id, 'broken']))});
const animated = page => page.evaluate(() => document.getAnimations().map(a => a.animationName).join());

// What the page offers besides its chapters: where, what is done, what is looked at, and what is there.
for (const [what, at, act, look, want] of [
  ['u undoes a move', '#05/pause/', async page => { await plays(page, 'aFbBA'); await press(page, 'uu'); },
    hash, /^#05\/pause\/aFb$/],
  ['an arrow plays it again', '#05/pause/', async page => { await plays(page, 'aFbBA');
    await press(page, ['u', 'u', 'ArrowRight', 'ArrowRight']); }, hash, /^#05\/pause\/aFbBA$/],
  ['the address is the schedule', '#05/pause/aFbBA', page => page.reload(), '#command',
    /^go run .\/docs\/explore replay 05\/pause\/aFbBA$/],
  ['a fault comes after the first command', '#08/restart/', page => page.keyboard.press('5'),
    '.choice.fault[aria-disabled]', /The fault can strike after the first command/],
  ['a fault names its node', '#08/restart/', page => plays(page, 'a1'), '.choice.fault:not([aria-disabled])',
    /Node 1 restarts empty/],
  ['a level says at once that it is too late', '#06/slow/aFA', null, '#h-choices',
    /^From here no schedule breaks the lock: undo.$/],
  ['an undone move is counted', '#04/slow/', async page => { await plays(page, 'aA'); await press(page, 'u');
    await plays(page, 'AaFba'); }, '.outcome h2', /in 6 moves \(best: 6\) 1 undone/],
  ['the shortest way has a star after a right bet', '#04/slow/', page => wins(page, '04/slow'), '.outcome',
    /^★ You broke[^]*Your bet was right/],
  ['but not without one', '#04/slow/', page => plays(page, 'aAaFba'), '.outcome h2', /^You broke/],
  ['nor after a wrong one', '#04/slow/', page => press(page, '2').then(() => plays(page, 'aAaFba')),
    '.outcome', new RegExp('^You broke[^]*You bet: after Alice’s SET has reached Redis. '
      + 'Right was: after Alice’s GET has reached Redis')],
  ['the first hint is an idea', '#04/slow/', page => page.keyboard.press('h'), '#hints',
    /^What was checked can change before it is used/],
  ['a bet outlives a reload', '#04/slow/', async page => { await page.keyboard.press('4');
    await page.reload(); }, '#h-choices', /^What happens next/],
  ['and so do moves on another level', '#7.4', async page => { await plays(page, 'aF');
    await goTo(page, '#7.5'); await page.reload(); await goTo(page, '#7.4'); }, hash, /^#7\.4\/aF$/],
  ['and what the bench has tried', '#build', page => page.click('#bench-attack').then(() => page.reload()),
    '#bench-card', /^✗ Broken in 4 moves/],
  ["the other client's mistake is not the goal", '#04/slow/bBbFab', null, '#h-choices', /but not as asked/],
  ...['03/nothing', '03/slow/xyz', '1/xx', '1.99', '0', 'build/999999', '__proto__'].map(name =>
    [`an unknown address is named: ${name}`, `#${name}`, null, '.problem', new RegExp(`has no “${name}”`)]),
  ['an address that cannot be read', '', page => goTo(page, '#%E0%A4%A'), '.problem', /This page has no/],
  ['a level that cannot be played says why', '#05/waits', null, '.problem',
    /^05\/waits cannot be played: there, Lock waits/],
  ['a new reader comes from a level to the menu', '#05/pause/', page => page.click('.crumbs a'), '#start',
    /^Start$/],
  ['a challenge does not stick', '#05/pause?beat=9', page => goTo(page, '#05/pause/'), page =>
    text(page, '.title').then(title => `${title} ${hash(page)}`), /It can strike once\. #05\/pause\/$/],
  ['it tells the last chance', '#03/twice/', async page => { await plays(page, 'ab'); await ones(page); },
    '.outcome.missed', /schedules break it/],
  ['and leads back to it', '#03/twice/', async page => { await plays(page, 'ab'); await ones(page);
    await page.click('#goback'); }, '#outcome', /^$/],
  ['progress is kept', '#02/crash-hold/', async page => { await ones(page); await goTo(page, '#');
    await page.reload(); }, '#progress', /^1 of /],
  ['progress can be cleared', '#02/crash-hold/', async page => { await ones(page); await goTo(page, '#');
    await page.click('#clear'); await page.click('#clear'); }, '#progress', /^0 of /],
  ['the code marks the line of each client', '#02/crash-acquire/a', null, page =>
    page.locator('.excerpt .hit').allInnerTexts().then(all => all.join('\n')),
    /SETNX[^]*PExpire|PExpire[^]*SETNX/],
  ['a row leads to its line of the lock', '#05/pause/aFbBAa', page =>
    page.locator('#timeline .line').last().click(), '.source details[open] .src.hit', /^ *\d+\s+\S/],
  ['who is inside flashes', '#00/none/aba', page => page.click('.choice[data-label=b]'), animated, /flash/],
  ['nothing moves if the reader wants that', '#00/none/aba', async page => {
    await page.emulateMedia({reducedMotion: 'reduce'}); await page.click('.choice[data-label=b]'); },
  animated, /^$/],
]) {
  test(what, async ({page}) => {
    await open(page, at);
    await act?.(page);
    expect(await (typeof look === 'string' ? text(page, look) : look(page))).toMatch(want);
  });
}

test('a release after a refusal says why, and that after Unlock shows its command', async ({page}) => {
  const small = page.locator('#choices button:not([aria-disabled]) small');
  await open(page, '#08/down-1/a1a2b1Fb2b3');
  await expect(small).toHaveText('bob was refused and removes its key');
  await goTo(page, '#08/down-1/a1a2FAa3');
  await expect(small.first()).toContainText('release coupons <alice-1>');
});

test('hints show the way, and the level is not solved', async ({page}) => {
  await open(page, '#03/slow/');
  for (let n = 0; n < 12 && await page.locator('.outcome.won').count() === 0; n++) {
    await press(page, 'hhhh');
    await plays(page, await page.locator('.choice.hinted').getAttribute('data-label'));
  }
  await expect(page.locator('#outcome')).toContainText('does not count as solved');
  await goTo(page, '#');
  await expect(page.locator('.cell[href="#03/slow/"]')).toHaveText('?');
});

// A challenge names the level and the number of moves, but not the moves. Where only this machine has the
// page, it is the command in a clone; where others can reach it, a link.
const published = 'https://locks.example/docs/play/';
for (const [address, dare] of [['', 'go run ./docs/play 03/slow?beat=5'],
  [published, `${published}#03/slow?beat=5`]]) {
  test(`a challenge has no schedule in it: ${address || 'from disk'}`, async ({page, context}) => {
    const file = {path: '../../play/index.html', contentType: 'text/html'};
    await context.route(`${published}**`, route => route.fulfill(file));
    await context.addInitScript(() => Object.defineProperty(navigator, 'clipboard', {value: {
      writeText: async text => { if (window.denied) throw new Error('not allowed'); window.copied = text; },
    }}));
    await open(page, `${address}#03/slow/`);
    await plays(page, 'aAFba');
    await page.click('#dare');
    expect(await page.evaluate(() => copied)).toBe(dare);
    await page.evaluate(() => { window.denied = true; });
    await page.click('#result');
    expect(await page.inputValue('#by-hand')).toMatch(/^I broke the SET NX EX lock in 5 moves\./);
    expect(await page.inputValue('#by-hand')).toContain(dare);
    await page.close();

    const friend = await context.newPage();
    await open(friend, `${address}#03/slow?beat=5`);
    await expect(friend.locator('#challenge')).toContainText('in 5 moves');
    await plays(friend, 'aAFb');
    await friend.reload();
    await plays(friend, 'a');
    await expect(friend.locator('.outcome.won')).toContainText('matched the 5 moves');
    await goTo(friend, '#'); // fewer moves than it takes
    await goTo(friend, '#03/slow?beat=1');
    await expect(friend.locator('#challenge')).toHaveCount(0);
  });
}

// What another page, or an older one, has left in the browser's storage closes no door.
test('progress of an unknown kind is ignored', async ({page}) => {
  await open(page);
  for (const kept of ['{"levels":{"01/crash-hold":"x","03/slow":"broken"},"language":5}', '[]', '7', '{',
    '{"levels":7}']) {
    await keep(page, kept);
    await goTo(page, '#menu');
    await page.reload();
    await expect(page.locator('#start')).toBeVisible();
    await goTo(page, '#01/crash-hold/');
    await plays(page, 'aFbBb');
    await expect(page.locator('.outcome.won')).toBeVisible();
  }
});

test("presenter mode hides the answer", async ({page}) => {
  await open(page, `?lead#${find('03/pause').ID}`);
  const before = await text(page, 'main');
  expect(before).not.toContain('wo clients are');
  expect(before).not.toContain('X: alice and bob');
  expect(before).toContain('Press r');
  await page.keyboard.press('r');
  await expect(page.locator('#outcome')).toContainText('wo clients are inside at once');
});

const english = ['en', 'You are the network.'], chinese = ['zh-CN', '你就是网络。'];
async function speaks(page, [language, title]) {
  await expect(page.locator('h1').first()).toHaveText(title);
  await expect(page.locator('html')).toHaveAttribute('lang', language);
}

test('another language is remembered, and the address comes first', async ({page}) => {
  await open(page);
  await speaks(page, english);
  await page.selectOption('#language', 'zh-CN');
  await speaks(page, chinese);
  await page.reload();
  await speaks(page, chinese);
  await open(page, '?lang=en');
  await speaks(page, english);
  await page.selectOption('#language', 'zh-CN');
  await page.reload();
  await speaks(page, chinese); // it has not been left behind in the address
});

for (const [languages, want] of [[['zh-TW', 'en'], chinese], [['fr', 'zh'], chinese],
  [['fr', 'en', 'zh'], english], [['fr'], english]]) {
  test(`the first language of the reader that the page has: ${languages}`, async ({page}) => {
    await page.addInitScript(languages => Object.defineProperty(navigator, 'languages', {value: languages}),
      languages);
    await open(page);
    await speaks(page, want);
  });
}

// In Chinese only commands and what they return are English, and links lead to the Chinese lessons.
for (const view of [desktop, phone]) {
  test.describe(`in Chinese, ${view.viewport.width} px wide`, () => {
    test.use(view);
    test('a game says nothing in English', async ({page}) => {
      await open(page, '?lang=zh-CN#02/slow/');
      await press(page, 'hhh');
      await noEnglish(page, '#hints');
      await plays(page, find('02/slow').ID.split('/')[2]);
      await expect(page.locator('#outcome')).toContainText('业务还没做完，租约就到期了');
      await expect(page.locator('.crumbs a[href$="step02_expire/README.zh-CN.md"]')).toHaveCount(1);
      await fine(page, 'level');
      await noEnglish(page, 'body');
      await page.keyboard.press('?');
      await noEnglish(page, 'dialog');
      await page.keyboard.press('?');
      await goTo(page, '#');
      await fine(page, 'menu');
      await noEnglish(page, 'body');
      for (const address of ['#start.3/a', '#pairs']) {
        await goTo(page, address);
        await fine(page, address);
        await noEnglish(page, 'body');
      }
    });
  });
}

// So does its picture. What a function returns is the output of a program.
test('in Chinese the picture says nothing in English', async ({page}) => {
  await open(page, '?lang=zh-CN');
  const has = id => id && data.Graph.Cells.some(c => id.startsWith(`${c.Name}/`));
  const seen = await page.evaluate(async ids => {
    const seen = [];
    for (const id of ids) {
      location.hash = id;
      await new Promise(done => addEventListener('hashchange', () => setTimeout(done), {once: true}));
      seen.push(...[...document.querySelectorAll('.diagram text')].map(e => e.textContent));
    }
    return seen;
  }, data.Levels.map(l => l.ID).filter(has));
  expect(seen.length).toBeGreaterThan(1000);
  const returned = text => text.includes('→') || text.startsWith('ErrNotAcquired, ')
    || text === 'context deadline exceeded';
  const named = /：.*|不再等 .*/; // there is a command in it
  expect(seen.filter(text => !returned(text) && text.replace(named, '').match(threeWords))).toEqual([]);
});

// Readers who do not see the page, or not well, can use it: in all views, in each state.
for (const [name, view] of Object.entries(views)) {
  test.describe(name, () => {
    test.use({...view, ...still});
    test('everyone can use each state', async ({page}) => {
      const toBeat = async what => {
        const to = Number(await page.locator(`.beat:has(${what})`).first().getAttribute('data-beat'));
        const at = async () => Number(await page.locator('.beat.read').getAttribute('data-beat'));
        while (await at() < to) await page.evaluate(() => document.getElementById('down').click());
      };
      await open(page);
      for (const [state, enter] of Object.entries({
        opening: () => {},
        'too late': () => goTo(page, '#start/aa'),
        'both are in': () => goTo(page, '#start/abab'),
        'a fault': () => goTo(page, '#start.3/a'),
        pairs: () => goTo(page, '#pairs'),
        menu: () => goTo(page, '#menu'),
        chapter: () => goTo(page, '#4'),
        question: () => toBeat('.ask'),
        answered: () => page.click('.read .ask button'),
        fix: () => toBeat('pre.fix'),
        turn: () => toBeat('.slot'),
        bet: () => page.keyboard.press('5'),
        'won in a chapter': () => plays(page, won['04/slow']),
        missed: () => goTo(page, '#03/twice/abAabA'),
        holds: () => goTo(page, '#02/crash-hold/aFb'),
        choices: () => goTo(page, '#04/slow/a'),
        broken: () => goTo(page, `#${find('08/restart').ID}`),
        source: () => page.locator('#timeline .line').first().click(),
        help: () => page.keyboard.press('?'),
        medal: async () => { await page.keyboard.press('?'); await goTo(page, '#');
          await keep(page, solved); await page.reload(); await page.locator('.medal').waitFor(); },
      })) {
        await enter();
        await fine(page, state);
      }
    });
  });
}

test.describe('on a phone', () => {
  test.use(phone);
  test('buttons are large enough, and at the bottom', async ({page}) => {
    await open(page, '#08/restart/');
    await plays(page, 'a1');
    expect(await page.locator('#choices button').evaluateAll(all =>
      all.filter(c => c.getBoundingClientRect().height < 44).map(c => c.textContent))).toEqual([]);
    expect(await page.evaluate(() =>
      innerHeight - document.querySelector('section.choices').getBoundingClientRect().bottom)).toBe(0);
  });

  // Wherever a phone has scrolled in the picture, it shows whose lane is which, and the tools.
  test('lane heads and tools stay in view', async ({page}) => {
    await open(page);
    for (const [schedule, over] of Object.entries({'08/restart/a1a2b3F': false, '07/pause/abFBbB': false,
      '07/pause/abFBbBA': true})) {
      await goTo(page, `#${schedule}`);
      await expect(page.locator('.outcome.won')).toHaveCount(over ? 1 : 0);
      expect(await page.evaluate(() => {
        const hidden = [], picture = document.getElementById('picture'),
          from = picture.getBoundingClientRect().top + scrollY;
        for (let y = from; y < from + picture.offsetHeight - 60; y += 40) {
          scrollTo(0, y);
          for (const e of document.querySelectorAll('.heads text, .tools button')) {
            const r = e.getBoundingClientRect();
            if (r.top < 0 || r.bottom > innerHeight) hidden.push(`${Math.round(y - from)}: ${e.textContent}`);
          }
        }
        const names = [...document.querySelectorAll('.heads text')].map(e => e.getBoundingClientRect())
          .sort((a, b) => a.left - b.left);
        if (names.some((r, i) => i > 0 && r.left < names[i - 1].right)) hidden.push('two names overlap');
        return hidden;
      }), schedule).toEqual([]);
    }
  });
});

test('Start is not far by keyboard', async ({page}) => {
  await open(page, '#menu');
  for (let n = 0; n < 4; n++) await page.keyboard.press('Tab');
  await expect(page.locator('#start')).toBeFocused();
});

// At 200 % a window of 1280 px has 640 x 400, and a small phone 320: nothing is cut, and a picture has room.
for (const [width, height] of [[640, 400], [320, 640]]) {
  test.describe(`${width} px wide, ${height} px high`, () => {
    test.use({viewport: {width, height}, ...still});
    test('everything has room', async ({page}) => {
      await open(page);
      for (const address of ['#4.3', '#08/restart/a1a2b3F', '#build/08']) {
        await goTo(page, address);
        await fine(page, address);
        const picture = page.locator('#picture, #bench-picture').first();
        const box = await picture.boundingBox(); // the bench has none yet
        if (address !== '#build/08') expect(box.height, address).toBeGreaterThan(180);
        if (address === '#4.3') await expect(picture).toBeInViewport({ratio: .9});
        expect(await picture.evaluate(e => e.scrollWidth - e.clientWidth),
          `${address}: px of the picture that are cut`).toBeLessThanOrEqual(0);
      }
    });
  });
}

test.describe('without a script', () => {
  test.use({javaScriptEnabled: false});
  test('the page says where the results are', async ({page}) => {
    await page.goto('');
    await expect(page.locator('noscript a')).toBeVisible();
    await expect(page.locator('.loading')).toBeHidden();
  });
});

// The pictures in the two READMEs show two clients inside, and what the page says of it. PICTURES=1 writes
// them.
for (const [edition, query] of [['', ''], ['.zh-CN', '?lang=zh-CN']]) {
  for (const [suffix, colorScheme] of [['', 'light'], ['-dark', 'dark']]) {
    test.describe(`play${edition}${suffix}.png`, () => {
      test.use({viewport: {width: 1000, height: 640}, colorScheme});
      test('shows a victory', async ({page}) => {
        await open(page, `${query}#07/failover/`);
        await wins(page, '07/failover');
        await page.evaluate(() => Promise.all(document.getAnimations().map(a => a.finished)).then(() => {
          document.activeElement.blur();
          scrollTo(0, document.querySelector('.crumbs').offsetTop - 60);
        }));
        expect((await page.locator('.outcome.won').boundingBox()).y,
          'the outcome is below the picture').toBeLessThan(580);
        const path = `../../read/pictures/play${edition}${suffix}.png`;
        if (process.env.PICTURES) await page.screenshot({path});
      });
    });
  }
}

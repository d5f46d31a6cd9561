import {test, expect, data, won, phone, desktop, still, open, goTo, plays, wins, fine} from './page.mjs';

const readers = {
  'by keyboard': {viewport: {width: 1280, height: 720}},
  'by keyboard on a phone': {viewport: {width: 358, height: 740}, colorScheme: 'dark'},
  'by touch': {viewport: {width: 750, height: 900}, colorScheme: 'dark', hasTouch: true},
  'by click': {viewport: {width: 1100, height: 800}, colorScheme: 'dark'},
  'by touch on a phone': {viewport: {width: 358, height: 740}, hasTouch: true},
};

for (const [name, reader] of Object.entries(readers)) {
  test.describe(name, () => {
    test.use({...reader, ...still});
    const pointer = name.startsWith('by keyboard') ? undefined : reader.hasTouch ? 'tap' : 'click';
    const press = (what, key, page) =>
      pointer ? page.locator(what)[pointer]() : page.keyboard.press(key);

    // From the menu to the medal the course is read and played. The row that matters and the card are in
    // view, the card has the focus and is announced, and Enter, or its button, leads on.
    test('the course is played to its end', async ({page}) => {
      await open(page, '#menu');
      await page.locator('#start').click();
      for (const {Step, Beats} of data.Chapters) {
        await expect(page).toHaveURL(new RegExp(`#${Step}$`));
        for (const [i, {Ask, Level}] of Beats.entries()) {
          const beat = page.locator(`.beat.read[data-beat="${i}"]`);
          await expect(beat.locator('h1, h2').first()).toBeInViewport();
          const seen = page.locator(Level ? '.read .choice' : '#picture').first();
          await expect(seen).toBeInViewport({ratio: .95});
          if (Ask) {
            const n = 'abc'.indexOf(Ask) + 1;
            await press(`.read .ask button:nth-child(${n})`, String(n), page);
            await expect(beat.locator('.answer')).toHaveText(/^Right\./);
            await expect(beat.locator('.ask .wrong')).toHaveCount(0);
          }
          if (Level) await turn(page, Level, pointer);
          if (i < Beats.length - 1) await press(Level ? '#next' : '#down', 'Enter', page);
        }
        await press('#next', 'Enter', page);
      }
      await expect(page.locator('.pair')).toHaveCount(data.Chapters.length);
      await expect(page.locator('h1')).toBeFocused();
      await page.locator('.brand').click();
      await expect(page.locator('h1')).toBeFocused();
      await expect(page.locator('.medal')).toBeVisible();
      await expect(page.locator('.hard a')).toHaveCount(data.Hard.length);
      await expect(page.locator('#start')).toHaveCount(0);
      await page.locator('.medal .primary').click();
      await expect(page.locator('.pair')).toHaveCount(data.Chapters.length);
    });

    // A new reader has won before reading 40 words. The menu comes once something is solved.
    test('the opening is played', async ({page}) => {
      const deliver = async labels => {
        for (const label of labels) {
          const message = `.stage button[data-label="${label}"]`;
          await press(message, await page.getAttribute(message, 'aria-keyshortcuts'), page);
        }
      };
      await open(page);
      expect((await page.locator('main').innerText()).split(/\s+/).length).toBeLessThan(40);
      await deliver('aa');
      await expect(page.locator('#told')).toHaveText(/^Bob would now see the key/);
      await page.keyboard.press('Enter'); // undo has the focus
      await deliver('bab');
      await expect(page.locator('#told')).toContainText('Both are in');
      await expect(page.locator('#said')).toContainText('Both are in');
      await expect(page.locator('#next')).toBeFocused();
      await expect(page.locator('#held')).toHaveText('bob’s key');
      await expect(page.locator('#next')).toBeInViewport();
      await page.keyboard.press('Enter');
      await deliver('a');
      await page.reload();
      await deliver('b');
      await expect(page.locator('#told')).toContainText('All 20 orders of their messages were run: none lets both in.');
      await page.keyboard.press('Enter');
      await expect(page.locator('#bolt button')).toHaveAttribute('aria-disabled', 'true');
      await deliver('aF');
      await expect(page.locator('#told')).toContainText('it will never open');
      await fine(page, 'the end of the opening');
      await page.keyboard.press('Enter');
      await expect(page).toHaveURL(/#2$/);
      await page.locator('.brand').click();
      await expect(page.locator('#way')).toHaveText('2 of 15 done');
    });
  });
}

// turn plays a level by its shortest schedule. Its card has a star and the focus, says why, and is in view.
async function turn(page, id, pointer) {
  await wins(page, id, pointer);
  const card = page.locator('.outcome');
  await expect(card).toBeFocused();
  await expect(card.locator('h2')).toHaveText(/^★ .* in (\d+) moves \(best: \1\)/);
  for (const part of ['h2', '.reason', '#next']) await expect(card.locator(part)).toBeInViewport();
  await expect(page.locator('#picture').locator('.band.bad, circle').last()).toBeInViewport();
  await expect(page.locator('#said')).toContainText(await card.locator('.reason').innerText());
}

const read = page => page.locator('.beat.read');

// A row of the picture with each arrow, and then the next beat.
test.describe('still', () => {
  test.use(still);
  // Depth, renewals, an overwritten key, and what the old lock would have done wrong.
  test('what the text tells is seen in the picture', async ({page}) => {
    await open(page);
    for (const [address, what, seen] of [
      ['#6.3', '.ownerletter', ['a', 'a ×2']],
      ['#06/nested/aaabAaBbBb', '.ownerletter', ['a', 'a ×2', 'a', 'b']],
      ['#07/slow/aFbBbAa', '.ownerletter', ['a', 'a', 'a', 'a', 'a']], ['#1.6', '.ownerletter', ['a', 'b']],
      ['#4.3', '.saved', ['']], ['#5.3', '.saved', ['']], ['#5.6', '.saved', ['']],
      ['#09/pause/abFBbBAab', '.saved', ['', '']],
      ['#09/pause/abFBbBAab', '.bold', ['✓ refused: #1 < #2']],
    ]) {
      await goTo(page, address);
      expect(await page.locator(`#picture ${what}`).allTextContents(), address).toEqual(seen);
    }
  });

  test('the room says what was lost, and an early fault why not', async ({page}) => {
    await open(page, '#start.3');
    await page.locator('#bolt button').click({force: true});
    await expect(page.locator('#told')).toHaveText('Not yet: Alice must be inside.');
    await goTo(page, '#7.1');
    await expect(page.locator('.strip')).toHaveText('ABsold: 1, should be 2');
  });

  test('the arrow keys alone read a chapter', async ({page}) => {
    await open(page, '#4');
    const turn = await page.locator('.beat:has(.slot)').first().getAttribute('data-beat');
    for (let n = 0; n < 100 && await read(page).getAttribute('data-beat') !== turn; n++) {
      await page.keyboard.press('ArrowRight');
    }
    await expect(read(page)).toHaveAttribute('data-beat', turn);
    await page.keyboard.press('1');
    await page.keyboard.press('u');
    await expect(read(page)).toHaveAttribute('data-beat', turn); // now it is the network's turn
  });
});

// A reader who scrolls reads what is in the middle of the window.
for (const view of [desktop, phone]) {
  test.describe(`${view.viewport.width} px wide`, () => {
    test.use(view);
    test('a chapter follows the scroll', async ({page}) => {
      await open(page, '#5');
      for (let i = 0; i < 6; i++) {
        await page.locator('.beat').nth(i).evaluate(e =>
          scrollTo(0, e.getBoundingClientRect().top + scrollY - innerHeight * (innerWidth > 860 ? .3 : .6)));
        await expect(read(page)).toHaveAttribute('data-beat', String(i));
      }
    });
  });
}

const answer = (page, i) => page.locator(`.beat[data-beat="${i}"] .answer`);

// Nothing that a reader has done in a chapter is lost by a reload, another language, or the way back.
test('a place in a chapter is kept', async ({page}) => {
  await open(page, '#1.5');
  await expect(read(page)).toHaveAttribute('data-beat', '4');
  await page.keyboard.press('2');
  await expect(answer(page, 4)).toHaveText(/^Right/);
  await open(page, '#1.3');
  for (let n = 0; n < 3; n++) await page.keyboard.press('h');
  await expect(page.locator('.hint')).toBeInViewport({ratio: 1});
  await plays(page, 'ab');
  await expect(page).toHaveURL(/#1\.3\/ab$/);
  await page.reload();
  await expect(page.locator('#picture .arrow')).toHaveCount(2);
  await expect(answer(page, 4)).toHaveText(/^Right/);
  await page.selectOption('#language', 'zh-CN');
  await expect(page.locator('html')).toHaveAttribute('lang', 'zh-CN');
  await expect(page).toHaveURL(/#1\.3\/ab$/);
  await expect(page.locator('#picture .arrow')).toHaveCount(2);
  await expect(read(page)).toHaveAttribute('data-beat', '2');
  await page.locator('.chapters a').nth(3).click();
  await page.goBack();
  await expect(read(page)).toHaveAttribute('data-beat', '2');
});

// A screen reader activates what the page has not scrolled to.
test('an answer can be given from anywhere', async ({page}) => {
  await open(page, '#1.8');
  await page.locator('.ask button').first().dispatchEvent('click');
  await expect(answer(page, 4)).toHaveText(/^Not so/);
  await expect(read(page)).toHaveAttribute('data-beat', '4');
  await expect(page.locator('#picture')).toContainText('alice and bob are inside');
});

// One answer was shown: the course does not end, and after its last chapter comes the level that is left.
test('after the last chapter comes the level that is left', async ({page}) => {
  const levels = Object.fromEntries(Object.keys(won).map(id => [id, id === '04/slow' ? 'shown' : 'broken']));
  await page.addInitScript(kept => localStorage.setItem('redislock-play', kept), JSON.stringify({levels}));
  await page.addInitScript(() => Object.defineProperty(navigator, 'share',
    {value: async sent => { window.sent = sent; }}));
  await open(page, '#9.4');
  await plays(page, won['09/pause']);
  await page.locator('#left').click();
  await expect(page).toHaveURL(/#04\/slow\/$/);
  await plays(page, won['04/slow']);
  await page.locator('#next').click();
  await expect(page.locator('.medal')).toBeVisible();
  await page.locator('#share').click();
  expect(await page.evaluate(() => window.sent.text)).toContain('15/15\n🟩🟩 🟩🟩 🟩 🟩 🟩 🟩🟩 🟩🟩🟩 🟩🟩 🟩\n');
});

// One scrubber moves both pictures, and a card is sent as a sentence and a link.
test('a pair is watched and sent', async ({page}) => {
  await page.addInitScript(() => Object.defineProperty(navigator, 'share',
    {value: async sent => { window.sent = sent; }}));
  await open(page, '#pairs.4');
  await expect(page.locator('.pair')).toHaveCount(1);
  const pictures = page.locator('.pair-picture');
  await expect(pictures.first()).toContainText('deletes bob');
  await expect(pictures.last().locator('.saved')).toHaveCount(1);
  await page.locator('.pair input').fill('3');
  for (const i of [0, 1]) await expect(pictures.nth(i).locator('.arrow')).toHaveCount(2);
  await page.locator('.pair .controls button').last().click();
  expect(await page.evaluate(() => window.sent.text)).toBe('DEL does not ask whose key it is. '
    + 'Sign the key, and check it before you delete. go run ./docs/play pairs.4');
});

test.describe('on a phone', () => {
  test.use({...phone, ...still});
  test('at the end of a chapter its last level is played', async ({page}) => {
    await open(page, '#8.5');
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    await expect(read(page)).toHaveAttribute('data-beat', '5');
    await expect(page.locator('.read .choice').first()).toBeInViewport();
  });

  test('a level keeps its buttons while they are in view', async ({page}) => {
    await open(page, '#8.5');
    await plays(page, 'a1');
    const last = page.locator('#choices .choice').last();
    await last.evaluate(e => new Promise(done => {
      scrollBy(0, e.getBoundingClientRect().top - document.querySelector('.figure').offsetHeight - 20);
      setTimeout(done, 200);
    }));
    await expect(last).toBeInViewport();
    await page.locator('#choices .choice:not([aria-disabled])').last().tap();
    const [list, above] = ['#h-choices', '.figure'].map(what => page.locator(what).boundingBox());
    expect((await list).y).toBeGreaterThan((await above).height);
  });
});

test.describe('in Chinese', () => {
  test.use({...phone, ...still});
  test('a level in a chapter can be won and read on', async ({page}) => {
    await open(page, '?lang=zh-CN#1.3');
    await plays(page, won['00/none']);
    await fine(page, 'won in a chapter');
  });
});

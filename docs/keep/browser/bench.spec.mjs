import {test, expect, phone, views, still, open, goTo, hash, tabTo, fine, noEnglish} from './page.mjs';

const touch = {viewport: {width: 358, height: 780}, colorScheme: 'dark', hasTouch: true};
const readers = {'by keyboard': {viewport: {width: 1280, height: 720}}, 'by touch on a phone': touch};
// board is the verdicts on it: ✗, ✓ or ? for each attack.
const board = page => page.locator('.bench-attacks button').evaluateAll(all =>
  all.map(e => ({breaks: '✗', holds: '✓', open: '?'})[e.classList[0]]).join(''));
const inView = async page => {
  await expect(page.locator('#bench-board')).toBeInViewport({ratio: .99});
  await expect(page.locator('#bench-picture .band.bad').last()).toBeInViewport({ratio: .9});
};

for (const [name, reader] of Object.entries(readers)) {
  test.describe(name, () => {
    test.use({...reader, ...still});

    // Each attack stays on the board and is judged again, what does not fit is greyed, and the last lock of
    // the course holds against six of eight.
    test('a lock is built, attacked and mended', async ({page}) => {
      await open(page, '#build');
      const flips = async (name, setting) => {
        const input = page.locator(`#bench-${name}-${setting}`);
        if (reader.hasTouch) await input.tap();
        else {
          await tabTo(page, page.locator(`input[name=bench-${name}]:checked`));
          for (let n = 0; n < 3 && !await input.isChecked(); n++) await page.keyboard.press('ArrowRight');
          await expect(input).toBeFocused();
        }
      };
      const attack = async () => {
        if (reader.hasTouch) return page.tap('#bench-attack');
        await tabTo(page, page.locator('#bench-attack'));
        await page.keyboard.press('Enter');
      };
      const is = async (want, why) => expect(await board(page), why).toBe(want);
      const marked = () => page.locator('#bench-code mark').allInnerTexts();
      const card = page.locator('#bench-card'), said = page.locator('#said');

      await is('????????');
      await expect(page.locator('#bench-release-2')).toBeDisabled();
      await expect(page.locator('#bench-not-release')).toContainText('Without a token');
      await attack();
      await is('✗???????');
      await expect(page.locator('.bench-card.bad h2'))
        .toContainText('Broken in 4 moves: two clients are inside at once');
      await expect(said).toContainText('Broken in 4 moves');
      await inView(page);
      await flips('take', 1);
      await is('✓???????', 'judged again at once');
      await expect(page.locator('#bench-try-none')).toHaveClass(/turned/);
      await expect(said).toContainText('Race: now the lock holds. holds against 1 of 8');
      expect(hash(page)).toBe('#build/100000');
      await attack();
      await is('✓✗??????', 'dead, and no ttl');
      await flips('expiry', 1);
      await attack();
      await is('✓✓✗?????', 'between the two commands');
      expect(await marked()).toEqual(['  PEXPIRE key 10000']);
      await flips('expiry', 2);
      await attack();
      await is('✓✓✓✗????', 'the ttl has a price');
      await flips('value', 1);
      await is('✓✓✓✗????', 'a token that no one compares changes nothing');
      expect(await marked()).toEqual(['  token = random()', '  if SET key token NX EX 10 fails {']);
      const lines = await page.locator('#bench-code > *').evaluateAll(all =>
        all.map(e => e.getBoundingClientRect().top));
      expect(new Set(lines).size, 'each on its own line').toBe(lines.length);
      await flips('watchdog', 1);
      await expect(card).toContainText('another owner’s lock is deleted');
      await flips('release', 2);
      await is('✓✓✓✓????');
      await attack();
      await is('✓✓✓✓✗???');
      await flips('replies', 1);
      await attack();
      await is('✓✓✓✓✓✗??');
      await flips('nesting', 1);
      await attack();
      await attack();
      await is('✓✓✓✓✓✓✗✗');
      expect(hash(page)).toBe('#build/07');
      await expect(card).toContainText('Two attacks are left');
      await flips('copies', 1);
      await expect(card).toContainText('no switch of the lock turns them green');
      await expect(page.locator('#bench-score')).toContainText('holds against 6 of 8 attacks');
      await expect(page.locator('#bench-attack')).toHaveAttribute('aria-disabled', 'true');
      await flips('value', 0);
      expect(hash(page)).toBe('#build/120010');
      await expect(said).toContainText('Release: set back.');
      await fine(page, 'bench');
    });
  });

  test.describe(`${name}, moving`, () => {
    test.use(reader);
    test('an attack plays row by row, and then the card says what went wrong', async ({page}) => {
      await open(page, '#build');
      const heights = await page.evaluate(() => new Promise(done => {
        const heights = [];
        document.getElementById('bench-attack').click();
        const look = () => {
          const height = document.querySelector('#bench-picture > svg').getBoundingClientRect().height;
          if (height !== heights.at(-1)) heights.push(height);
          if (document.querySelector('.bench-card.bad')) done(heights);
          else setTimeout(look, 50);
        };
        look();
      }));
      expect(heights.length).toBeGreaterThan(5);
      expect(heights).toEqual(heights.toSorted((a, b) => a - b));
      await inView(page);
      await page.locator('#bench-again').click();
      await goTo(page, '#menu'); // in the middle of it
      await page.waitForTimeout(900);
      await expect(page.locator('.menu')).toBeVisible();
    });
  });
}

test.describe('on a phone', () => {
  test.use({...phone, ...still});
  test('the board stays in view above the switches', async ({page}) => {
    await open(page, '#build/120000');
    await page.tap('#bench-attack');
    for (const name of ['release', 'resource']) {
      await page.locator(`#bench-${name}-0`).evaluate(e => e.parentElement.scrollIntoView({block: 'center'}));
      const box = await page.locator('#bench-board').boundingBox();
      expect(box.y, name).toBe(0);
      expect(box.height, name).toBeLessThan(240);
    }
    expect(await page.locator('.bench button, .bench-settings label').evaluateAll(all =>
      all.filter(e => e.offsetHeight < 44).map(e => e.textContent)), 'less than 44 px high').toEqual([]);
  });
});

test.describe('still', () => {
  test.use(still);
  test('an address is a lock', async ({page}) => {
    await open(page, '#build/08');
    for (const [address, want] of Object.entries({'#build/08': '121211110', '#build/09': '121201001',
      '#build/121100': '121100000', '#build/06': '121201100'})) {
      await goTo(page, address);
      expect(await page.locator('.bench input:checked').evaluateAll(all =>
        all.map(e => e.id.at(-1)).join('')), address).toBe(want);
    }
    await goTo(page, '#build/07');
    await page.click('#bench-try-pause');
    await page.click('.bench-card a.button');
    await expect(page).toHaveURL(/#07\/pause\/\w+$/); // a lock of the course can be played
    await goTo(page, '#build');
    await expect(page.locator('#bench-try-pause')).toContainText('✗'); // what was tried stays on the board
    await page.click('#bench-attack');
    expect(await board(page), 'what held on the way to the next that breaks is known, too').toBe('✓✓✓✓✓✓✗✗');
    await expect(page.locator('.bench-card h2')).toContainText('Broken in 3 moves');
    await expect(page.locator('.bench-card')).toContainText('Two attacks are left');
  });
});

for (const [name, view] of Object.entries(views)) {
  test.describe(name, () => {
    test.use({...view, ...still});
    for (const language of ['en', 'zh-CN']) {
      test(`everyone can use the bench in ${language}`, async ({page}) => {
        await open(page, `?lang=${language}#build`);
        const attack = () => page.click('#bench-attack');
        for (const [state, enter] of Object.entries({
          begin: () => {},
          broken: attack,
          held: () => page.locator('#bench-take-1').check({force: true}),
          text: async () => { await goTo(page, '#build/08'); await page.click('#bench-try-failover');
            await page.click('#bench-text summary'); },
          'all tried': async () => {
            while (await page.locator('#bench-attack:not([aria-disabled])').count()) await attack();
          },
        })) {
          await enter();
          await fine(page, state);
          if (language === 'zh-CN') await noEnglish(page, 'body');
        }
      });
    }
  });
}

// The site that go run -C docs/keep ./site writes, opened from the disk.
import {execFileSync} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import {test, expect, views, fine, noEnglish} from './page.mjs';

const site = new URL('node_modules/.site/', import.meta.url);
const keep = fileURLToPath(new URL('..', import.meta.url));
test.describe.configure({mode: 'default'}); // it is written once
test.beforeAll(() => execFileSync('go', ['run', './site', fileURLToPath(site)], {cwd: keep}));

for (const [file, view, ends] of [['lessons/04.html', 'desktop, light', /deletes the lock of bob/],
  ['lessons/09.html', 'phone, dark', /writes 1 with token 1: refused/],
  ['lessons/08.zh-CN.html', 'phone, light', /alice 和 bob 都在临界区里/],
  ['cards/4.html', 'desktop, dark', /alice Unlock -> ok/]]) {
  test.describe(view, () => {
    test.use(views[view]);
    test(`${file} plays to its end`, async ({page}) => {
      await page.goto(new URL(file, site).href);
      const board = page.locator('lock-board').first(), scrub = page.locator('input[type=range]');
      const shown = () => scrub.evaluate(({value, max}) => Number(max) - Number(value));
      expect(await shown()).toBe(0);
      const whole = await board.getAttribute('aria-label');
      expect(whole).toMatch(ends);
      const {height} = await board.boundingBox();
      await page.locator('.controls button').nth(1).click();
      expect(await shown()).toBeGreaterThan(4);
      expect((await board.boundingBox()).height, 'nothing below it moves').toBe(height);
      await expect.poll(shown).toBe(0);
      expect(await board.getAttribute('aria-label')).toBe(whole);
      await page.locator('.controls button').first().click();
      expect(await shown()).toBe(1);
      if (file.includes('zh')) await noEnglish(page, '.top');
      await fine(page, file);
    });
  });
}

test('a level leads to its lesson, which leads back, in both languages', async ({page}) => {
  const published = 'https://locks.github.io/redis/';
  await page.route(`${published}**`, route => route.fulfill({
    path: fileURLToPath(new URL(route.request().url().slice(published.length).split(/[?#]/)[0], site)),
  }));
  await page.goto(`${published}index.html?lang=zh-CN#04/slow`);
  await page.locator('.crumbs a[href^=lessons]').click();
  await page.locator('.top [lang=en]').click();
  await expect(page.locator('h1')).toContainText('Step 04');
  await page.locator('a.button.primary').click();
  await expect(page.locator('h1')).toContainText('although she checks first');
});

// What the tests of the page share.
import {readFileSync} from 'node:fs';
import {inflateRawSync} from 'node:zlib';
import {test as base, expect} from '@playwright/test';

const html = readFileSync(new URL('../../play/index.html', import.meta.url), 'utf8');
const axe = readFileSync(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
const packed = Buffer.from(html.match(/id="data">(.*?)<\/script>/s)[1], 'base64');
export const data = JSON.parse(inflateRawSync(packed));

// won are the shortest orders to the goals of the chapters' levels.
export const won = {
  '00/none': 'abab', '01/crash-hold': 'aFbBb', '02/crash-waits': 'aaF', '02/crash-acquire': 'aFbBb',
  '03/slow': 'aAFba', '04/slow': 'aAaFba', '05/nested': 'aabba', '06/nested': 'aaab', '06/slow': 'aFbBA',
  '07/slow': 'aFb', '07/failover': 'aFb', '07/pause': 'abFBbBA', '08/down-1': 'a1Fa2',
  '08/restart': 'a1a2b3Fb1', '09/pause': 'aFbA',
};

// bets are right ones, before the first move.
const bets = {
  '02/crash-waits': 1, '02/crash-acquire': 1, '03/slow': 1, '04/slow': 3, '05/nested': 0, '06/nested': 2,
  '06/slow': 1, '07/slow': 0, '07/failover': 2, '07/pause': 2, '08/down-1': 1, '08/restart': 1, '09/pause': 2,
};

const view = (width, height, colorScheme) =>
  ({viewport: {width, height}, colorScheme, hasTouch: width < 860});
export const desktop = view(1280, 900, 'light'), phone = view(358, 780, 'light');
export const views = {'desktop, light': desktop, 'desktop, dark': view(1280, 900, 'dark'),
  'phone, light': phone, 'phone, dark': view(358, 780, 'dark')};
export const still = {contextOptions: {reducedMotion: 'reduce'}};

// Whatever a page complains of, or asks of another host, fails its test.
export const test = base.extend({
  page: async ({page}, use) => {
    const wrong = [];
    page.on('pageerror', e => wrong.push(e.stack));
    page.on('console', m => wrong.push(m.text()));
    page.on('request', r => /^(file|data|blob):|^https:\/\/locks\.(example|github\.io)\//.test(r.url())
      || wrong.push(r.url()));
    await use(page);
    expect(wrong).toEqual([]);
  },
});
export {expect};

// open opens an address of the page.
export async function open(page, address = '') {
  await page.goto(address);
  await page.locator('#app > main, #app > .problem').waitFor();
}

export const hash = page => new URL(page.url()).hash;

// goTo changes the address, as a link does.
export async function goTo(page, address) {
  await page.evaluate(to => { location.hash = to; }, address);
  await page.evaluate(() => new Promise(requestAnimationFrame));
}

// wins plays a level of a chapter by its shortest schedule, after a right bet.
export async function wins(page, id, pointer) {
  if (id in bets) await press(page, page.locator('.choice.bet').nth(bets[id]), pointer);
  await plays(page, won[id], pointer);
}

// plays plays a level, without a bet: with the keyboard, or pointer is click or tap. What has no digit is
// reached by Tab.
export async function plays(page, labels, pointer) {
  const none = page.locator('.choice.bet').last();
  await page.locator('.choice, .over').first().waitFor({state: 'attached'});
  if (await none.count()) await press(page, none, pointer);
  for (const label of labels.match(/[A-Za-z]\d*/g)) {
    await press(page, page.locator(`.choice[data-label="${label}"]:not([aria-disabled])`), pointer);
  }
}

async function press(page, choice, pointer) {
  await choice.waitFor({state: pointer ? 'visible' : 'attached'}); // digits play on, also after a victory
  const key = await choice.getAttribute('aria-keyshortcuts');
  if (pointer) await choice[pointer]();
  else if (key) await page.keyboard.press(key);
  else {
    await tabTo(page, choice);
    await page.keyboard.press('Enter');
  }
}

export async function tabTo(page, what) {
  for (let n = 0; n < 80; n++) {
    await page.keyboard.press('Tab');
    if (await what.evaluate(e => e === document.activeElement)) return;
  }
  throw new Error(`Tab does not reach ${what}`);
}

// fine fails the test if what is shown cannot be used by everyone: axe finds something, the page is wider
// than the window, or two buttons have one name.
export async function fine(page, state) {
  if (!await page.evaluate(() => 'axe' in window)) await page.evaluate(axe);
  const wrong = await page.evaluate(async () => {
    const node = n => `${n.target} ${n.any[0]?.message ?? ''}`, found = await axe.run({preload: false});
    return found.violations.map(v => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map(node).join(' | ')}`);
  });
  expect(wrong, state).toEqual([]);
  const wider = await page.locator('html').evaluate(e => e.scrollWidth - e.clientWidth);
  expect(wider, `${state}: px wider than the window`).toBeLessThanOrEqual(0);
  const twice = await page.evaluate(() => {
    const shown = e =>
      e.checkVisibility({visibilityProperty: true}) && !e.matches('.line, .beat:not(.read) *');
    const nameOf = e => e.ariaLabel
      ?? [...e.childNodes].filter(c => c.ariaHidden !== 'true').map(c => c.textContent).join('');
    const buttons = (document.querySelector('dialog') ?? document).querySelectorAll('button, a.button');
    const names = [...buttons].filter(shown).map(e => nameOf(e).replace(/[↓↵\s]+/g, ' ').trim());
    return names.filter((name, i) => names.indexOf(name) < i);
  });
  expect(twice, `${state}: buttons with one name`).toEqual([]);
}

// noEnglish fails the test if there is English in what is not the output of a program.
export async function noEnglish(page, selector) {
  const text = await page.locator(selector).first().evaluate(e => {
    const copy = e.cloneNode(true);
    const each = (which, does) => copy.querySelectorAll(which).forEach(does);
    each('script, style, noscript, svg, code, .row, #said, [role=img]', e => e.remove());
    each('*', e => e.append('\n'));
    each('[aria-label], [title]', e => copy.append(`\n${e.getAttribute('aria-label') ?? e.title}`));
    return copy.textContent.replace(/“[^”]*”/g, '');
  });
  expect(text).not.toBe('');
  expect(text.match(threeWords) ?? [], selector).toEqual([]);
}
export const threeWords = /[a-z]+ [a-z]+ [a-z]+/g;

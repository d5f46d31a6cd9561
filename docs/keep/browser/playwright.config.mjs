// The system's Chromium plays the page: npx playwright install downloads none, and nothing here needs it.
import {existsSync} from 'node:fs';

const chromium = ['chromium', 'chromium-browser', 'google-chrome'].map(name =>
  `/usr/bin/${name}`).find(existsSync);

export default {
  testMatch: '*.spec.mjs',
  fullyParallel: true,
  workers: 2,
  timeout: 180_000,
  expect: {timeout: 10_000},
  reporter: process.env.CI ? 'dot' : 'list',
  outputDir: 'node_modules/.results',
  use: {
    baseURL: new URL('../../play/index.html', import.meta.url).href,
    actionTimeout: 10_000,
    viewport: {width: 1280, height: 900},
    trace: 'retain-on-failure',
    launchOptions: {executablePath: process.env.CHROMIUM ?? chromium, args: ['--no-sandbox']},
  },
};

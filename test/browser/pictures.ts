// `npm run console:pictures`: pictures of the screens for docs/console.md.

import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { furnish, startCloud } from './cloud.ts';
import { ensureChromium } from './packages.ts';
import { arrive, nameOf, shown } from './scenarios/looks.ts';
import { type Look, Stage } from './stage.ts';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'docs/console');

/** The screens of `shown`, named by their first word in lower case. */
const looks: Readonly<Record<string, Look>> = {
  overview: {},
  fleet: {},
  host: {},
  incidents: { theme: 'dark' },
  requests: {},
  capacity: {},
  usage: {},
  profiles: { size: 'phone' },
};

mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({ executablePath: ensureChromium() });
const cloud = await startCloud(join(root, '.local/browser/pictures'));
try {
  await furnish(cloud);
  const stage = new Stage(cloud, browser);
  for (const screen of shown) {
    const name = nameOf(screen);
    const look = looks[name];
    if (!look) continue;
    const page = await stage.enter('admin', screen[0], look);
    await arrive(page, screen);
    if (name === 'fleet') await choose(page, 'cmp3');
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    // Names, and the second half of a reading.
    await page.waitForTimeout(1000);
    await picture(page, name);
    await stage.clear();
  }
} finally {
  await cloud.stop();
  await browser.close();
}

async function choose(page: Page, hostname: string): Promise<void> {
  await page.getByLabel('Find a host').fill(hostname);
  await page.getByRole('button', { name: 'Find', exact: true }).click();
}

async function picture(page: Page, name: string): Promise<void> {
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path, animations: 'disabled' });
  console.log(`docs/console/${name}.png, ${Math.round(statSync(path).size / 1024)} KB`);
}

// One search over everything, by keys alone or by the pointer.

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { failedInstance } from '#test/browser/cloud.ts';
import type { Group } from '#test/browser/scenario.ts';
import type { Stage } from '#test/browser/stage.ts';
import { themes, violationsOf } from './looks.ts';

const field = (page: Page) => page.getByRole('combobox', { name: /PCI address/ });
const results = (page: Page, kind: string) =>
  page.getByRole('group', { name: kind }).getByRole('option');

async function openBy(page: Page, key: string): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.keyboard.press(key);
  await field(page).waitFor();
}

export const search: Group = {
  name: 'search',
  scenarios: [
    {
      name: 'keys alone find a host, a profile, a server and a PCI address, and open them',
      run: async (stage) => {
        stage.expectErrors(/404/);
        const page = await stage.enter('admin');
        const find = async (text: string, kind: string, title: string | RegExp) => {
          await field(page).fill(text);
          await results(page, kind).first().waitFor();
          await page.keyboard.press('Enter');
          await page.getByRole('heading', { level: 1, name: title }).waitFor();
        };
        await openBy(page, '/');
        await find('CMP4', 'Hosts', 'Host cmp4');
        await openBy(page, 'Control+k');
        await find('vgpu', 'Profiles', 'Capacity');
        await openBy(page, 'Control+k');
        await find(failedInstance, 'Servers', `Server ${failedInstance}`);
        await openBy(page, 'Control+k');
        await find('cmp4 3b:00', 'Devices', 'Device 0000:3b:00.0');
        await openBy(page, '/');
        await field(page).fill('nothing-has-this-name');
        await page.getByText('Nothing has this name, id or address.').waitFor();
      },
    },
    {
      name: 'arrow keys and the pointer choose, and Escape gives the focus back',
      run: async (stage) => {
        const page = await stage.enter('admin', '#/hosts');
        const button = page.getByRole('button', { name: 'Search' });
        await button.focus();
        await page.keyboard.press('Enter');
        await field(page).fill('cmp');
        await results(page, 'Hosts').nth(4).waitFor();
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('ArrowUp');
        const chosen = page.getByRole('dialog').getByRole('option', { selected: true });
        assert.match(String(await chosen.textContent()), /^cmp2/);
        await page.keyboard.press('Escape');
        await page.getByRole('dialog').waitFor({ state: 'hidden' });
        assert.match(
          String(await page.evaluate('document.activeElement.textContent')),
          /^ ?Search/,
        );
        await button.click();
        await field(page).fill('cmp5');
        await results(page, 'Hosts').click();
        await page.getByRole('heading', { level: 1, name: 'Host cmp5' }).waitFor();
      },
    },
    {
      name: 'a slash that is typed into a field opens nothing, and a tenant finds no host',
      run: async (stage) => {
        stage.expectErrors(/40[34]/);
        const page = await stage.enter('admin', '#/hosts');
        await page.getByLabel('Name contains').press('/');
        assert.equal(await page.getByRole('dialog').count(), 0);
        const tenant = await stage.enter('demo', '#/requests');
        await openBy(tenant, '/');
        await field(tenant).fill('cmp');
        await tenant.getByText('Nothing has this name, id or address.').waitFor();
      },
    },
    ...themes.map((theme) => ({
      name: `the search, ${theme}, has no finding of axe`,
      run: async (stage: Stage) => {
        const page = await stage.enter('admin', '#/hosts', { theme });
        await openBy(page, '/');
        await field(page).fill('cmp');
        await results(page, 'Hosts').first().waitFor();
        assert.deepEqual(await violationsOf(page), []);
      },
    })),
  ],
};

// The first screen: its numbers are those of the screens that they lead to.

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { transferred } from '#test/browser/large.ts';
import type { Group } from '#test/browser/scenario.ts';

const tile = (page: Page, title: string) =>
  page.getByRole('listitem').filter({ has: page.getByRole('link', { name: title }) });

export const overview: Group = {
  name: 'overview',
  scenarios: [
    {
      name: 'it is the first screen, and says how much is in use, free and out of service',
      run: async (stage) => {
        const page = await stage.enter('admin');
        await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
        await tile(page, 'Accelerators in use')
          .getByText(/^of \d+ accelerators$/)
          .waitFor();
        await tile(page, 'Free').getByText('FPGA, VGPU').waitFor();
        await tile(page, 'Out of service')
          .getByText(/host-away/)
          .waitFor();
        await tile(page, 'Failed boots').getByText('1', { exact: true }).waitFor();
        await tile(page, 'Hosts online')
          .getByText(/^of 5 hosts/)
          .waitFor();
        await page
          .getByRole('list', { name: 'In use by class' })
          .getByText(/^2 of \d+$/)
          .waitFor();
        await page
          .getByRole('img', { name: /Binds by hour.*bound 2 binds, failed 1 binds/ })
          .waitFor();
        await page.getByRole('heading', { name: 'This month by model' }).waitFor();
        await page
          .getByRole('list', { name: 'Servers that would fit' })
          .getByText('vgpu')
          .waitFor();
      },
    },
    {
      name: 'its first view loads at most 60 KB of files',
      run: async (stage) => {
        const page = await stage.enter('admin');
        await tile(page, 'Hosts online')
          .getByText(/^of 5 hosts/)
          .waitFor();
        const bytes = Number(await page.evaluate(transferred));
        assert.ok(bytes > 0 && bytes <= 60 * 1024, `${bytes} bytes`);
      },
    },
    {
      name: 'each number leads to its screen, with the filter',
      run: async (stage) => {
        const page = await stage.enter('admin');
        const worst = page.getByRole('list', { name: 'The worst incidents' });
        await worst.getByText('The GPU is on fire.').waitFor();
        await tile(page, 'Hosts online').getByRole('link', { name: '1 away' }).click();
        await page.waitForURL(/#\/hosts\?state=away/);
        await page.getByText('1 host', { exact: true }).waitFor();
        await page.goBack();
        await page.getByRole('link', { name: 'vgpu', exact: true }).click();
        await page.waitForURL(/#\/capacity\?profile=vgpu/);
        await page.goBack();
        await worst.getByRole('link', { name: 'failed-bind' }).click();
        await page.waitForURL(/#\/incidents\?kind=failed-bind&host=cmp3/);
        await page
          .getByRole('table', { name: 'Incidents' })
          .getByText('The GPU is on fire.')
          .waitFor();
      },
    },
  ],
};

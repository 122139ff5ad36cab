// The screens for what there is and what would fit: the fleet, capacity, usage and profiles.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import type { Group } from '#test/browser/scenario.ts';

const tableOf = (page: Page, name: string) => page.getByRole('table', { name });
const rowOf = (page: Page, table: string, text: string) =>
  tableOf(page, table).getByRole('row').filter({ hasText: text });
const byState = (page: Page, of: 'Hosts' | 'Devices') =>
  page.getByRole('list', { name: `${of} by state` });

export const fleet: Group = {
  name: 'fleet',
  scenarios: [
    {
      name: 'it counts hosts and devices by state',
      run: async (stage) => {
        const page = await stage.enter('admin', '#/fleet');
        await page.getByRole('heading', { level: 1, name: 'Fleet' }).waitFor();
        await byState(page, 'Hosts').getByText('away: 1').waitFor();
        await byState(page, 'Hosts').getByText('conflict: 1').waitFor();
        await byState(page, 'Devices').getByText('unhealthy: 1').waitFor();
        await byState(page, 'Devices').getByText('quarantine: 1').waitFor();
        await byState(page, 'Devices').getByText('not read yet: 0').waitFor();
      },
    },
    {
      name: 'a host is found by its name, and shows its devices beside the map',
      run: async (stage) => {
        const page = await stage.enter('admin', '#/fleet');
        await page.getByRole('application').waitFor();
        await page.getByLabel('Find a host').fill('cmp3');
        await page.getByText('1 host of 5').waitFor();
        await page.getByRole('button', { name: 'Find', exact: true }).click();
        await page.getByRole('link', { name: 'cmp3' }).first().waitFor();
        await page.getByText('online, 3 devices').waitFor();
      },
    },
    {
      name: 'hosts are grouped by zone or aggregate for whom Nova shows them',
      run: async (stage) => {
        const page = await stage.enter('admin', '#/fleet');
        const groups = page.getByRole('list', { name: 'Hosts by group' });
        for (const each of ['az1: 2', 'az2: 2', 'in no zone: 1']) {
          await groups.getByText(each, { exact: true }).waitFor();
        }
        await page.getByLabel('Group by').selectOption('aggregate');
        await groups.getByText('rack2: 2', { exact: true }).waitFor();
        await page.getByLabel('Find a host').fill('cmp3');
        await page.getByRole('button', { name: 'Find', exact: true }).click();
        await page.getByText('online, 3 devices, rack2').waitFor();
        await page.getByLabel('Group by').selectOption('nothing');
        await groups.waitFor({ state: 'detached' });
        // Their role sees the hosts here, and no aggregates at Nova.
        const other = await stage.enter('manager', '#/fleet');
        await byState(other, 'Hosts').getByText('away: 1').waitFor();
        await other.waitForLoadState('networkidle');
        assert.equal(await other.getByLabel('Group by').count(), 0);
      },
    },
    {
      name: 'keys choose a host on the map, and open it',
      run: async (stage) => {
        const page = await stage.enter('admin', '#/fleet');
        await page.getByRole('application').focus();
        for (const key of ['ArrowRight', 'ArrowRight', '+', '-', '0']) {
          await page.keyboard.press(key);
        }
        await page
          .getByRole('link', { name: /^cmp\d$/ })
          .first()
          .waitFor();
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { level: 1, name: /^Host cmp\d$/ }).waitFor();
      },
    },
    {
      name: 'the pointer chooses a host, and what it drags moves the map',
      run: async (stage) => {
        const page = await stage.enter('admin', '#/fleet');
        await page.getByLabel('Group by').selectOption('nothing');
        const map = page.getByRole('application');
        await map.waitFor();
        await map.scrollIntoViewIfNeeded();
        const box = await map.boundingBox();
        assert.ok(box, 'the map has no place');
        const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
        await page.mouse.move(x, y);
        await page.mouse.wheel(0, -300);
        await page.mouse.down();
        await page.mouse.move(x + 40, y + 20, { steps: 5 });
        await page.mouse.up();
        await page.getByRole('button', { name: 'Show all' }).click();
        // Five hosts fill the map, one beside the other.
        await page.mouse.move(x, y - 40);
        const tip = page.locator('.tip');
        await tip.getByText(/^cmp3/).waitFor();
        await page.mouse.click(x, y - 40);
        await page.getByRole('status').getByText('online, 3 devices').waitFor();
        await page.mouse.move(x, box.y - 20);
        await tip.waitFor({ state: 'detached' });
      },
    },
    {
      name: 'a host that is drained meanwhile is shown without a reload',
      run: async (stage) => {
        const page = await stage.enter('admin', '#/hosts/cmp4');
        await page.getByText('What happened').waitFor();
        const drain = { reason: 'By another operator.' };
        await stage.cloud.operator.post('/hosts/cmp4/drain', 'admin-token', drain);
        await rowOf(page, 'Devices', '0000:0e:00.0').getByText('By another operator.').waitFor();
        await stage.cloud.operator.post('/hosts/cmp4/resume', 'admin-token', {});
        await rowOf(page, 'Devices', '0000:0e:00.0').getByText('enabled').waitFor();
      },
    },
  ],
};

export const planning: Group = {
  name: 'planning',
  scenarios: [
    {
      name: 'Capacity says how many servers fit, where, and what stops the others',
      run: async (stage) => {
        const page = await stage.enter('admin', '#/capacity?profile=fpga');
        await page.getByText(/^\d+ more servers$/).waitFor();
        await rowOf(page, 'Hosts', 'cmp1').waitFor();
        await page.getByText('claimed', { exact: true }).waitFor();
        await page.getByLabel('Device profile').selectOption('vgpu');
        await page.waitForURL(/profile=vgpu/);
        await page.getByText('quarantined', { exact: true }).waitFor();
      },
    },
    {
      name: 'Capacity tells a tenant whether there is any, and not where',
      run: async (stage) => {
        stage.expectErrors(/403.*operator\/v1\/hosts\?limit=1$/);
        const page = await stage.enter('demo', '#/capacity?profile=fpga');
        await page.getByText(/more servers fit|No further server fits/).waitFor();
        assert.equal(await page.getByText('cmp1').count(), 0);
      },
    },
    {
      name: 'Usage has its rows as a chart, a table and a file',
      run: async (stage) => {
        const page = await stage.enter('admin', '#/usage');
        await rowOf(page, 'Usage', 'FPGA').first().waitFor();
        await page.getByLabel('Group by').selectOption('class');
        await page.getByRole('img', { name: /Accelerator-hours by class/ }).waitFor();
        const [download] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('button', { name: 'Download CSV' }).click(),
        ]);
        const text = readFileSync(await download.path(), 'utf8');
        assert.match(text, /accelerator_seconds/);
        assert.match(text, /FPGA/);
      },
    },
    {
      name: 'Usage names what is wrong with a range, and shows what was read',
      run: async (stage) => {
        stage.expectErrors(/400/);
        const page = await stage.enter('admin', '#/usage?from=2026-02-01&to=2026-01-01');
        await page
          .getByText(/\bto\b.*\bfrom\b|\bfrom\b.*\bto\b/)
          .first()
          .waitFor();
        assert.equal(await page.getByLabel('From').inputValue(), '2026-02-01');
      },
    },
    {
      name: 'a profile is checked while it is typed, created once, and deleted',
      run: async (stage) => {
        stage.expectErrors(/409/);
        const page = await stage.enter('admin', '#/profiles');
        await page.getByRole('button', { name: 'Create profile' }).click();
        assert.equal(await page.locator('.problem').count(), 0, 'red before a key is pressed');
        await page.getByLabel('Name', { exact: true }).fill('not a name!');
        await page.getByLabel('Key').first().fill('fpga');
        await page.locator('.problem').first().waitFor();
        await page.getByLabel('Key').first().fill('FPGA');
        await page.getByLabel('Name', { exact: true }).fill('fpga');
        await page.getByRole('button', { name: 'Would it fit?' }).click();
        await page
          .getByText(/\d+ servers? with this profile would fit now/)
          .first()
          .waitFor();
        await page.getByRole('button', { name: 'Create', exact: true }).click();
        await page.getByText('A device profile with name fpga exists.').waitFor();
        await page.getByLabel('Name', { exact: true }).fill('browser-made');
        await page.getByRole('button', { name: 'Create', exact: true }).click();
        const said = page.getByText('Profile browser-made is created.');
        await said.waitFor();
        await said.waitFor({ state: 'detached' });
        await rowOf(page, 'Device profiles', 'browser-made').getByRole('button').last().click();
        const dialog = page.getByRole('dialog');
        await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
        await rowOf(page, 'Device profiles', 'browser-made').waitFor({ state: 'detached' });
      },
    },
    {
      name: 'a profile in use is not deleted: 409 says so',
      run: async (stage) => {
        stage.expectErrors(/409/);
        const page = await stage.enter('admin', '#/profiles');
        await rowOf(page, 'Device profiles', 'vgpu').getByRole('button').last().click();
        const dialog = page.getByRole('dialog');
        await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
        await dialog.getByText('Device profile vgpu is used by accelerator requests.').waitFor();
      },
    },
    {
      name: 'a manager may not create a profile: 403, and the form keeps what was typed',
      run: async (stage) => {
        stage.expectErrors(/403/);
        const page = await stage.enter('manager', '#/profiles');
        await page.getByRole('button', { name: 'Create profile' }).click();
        await page.getByLabel('Name', { exact: true }).fill('of-a-manager');
        await page.getByLabel('Key').first().fill('FPGA');
        await page.getByRole('button', { name: 'Create', exact: true }).click();
        await page.getByText('cyborg:device_profile:create').waitFor();
        assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'of-a-manager');
      },
    },
  ],
};

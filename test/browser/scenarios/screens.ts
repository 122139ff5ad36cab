// Each screen shows what the API says.

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { failedInstance } from '#test/browser/cloud.ts';
import type { Group, Scenario } from '#test/browser/scenario.ts';
import type { User } from '#test/browser/stage.ts';

function shows(
  name: string,
  address: string,
  look: (page: Page) => Promise<void>,
  user: User = 'admin',
): Scenario {
  return {
    name,
    run: async (stage) => {
      // The page asks whether the user may list hosts.
      if (user === 'demo') stage.expectErrors(/403.*operator\/v1\/hosts\?limit=1$/);
      await look(await stage.enter(user, address));
    },
  };
}

const tableOf = (page: Page, name: string) => page.getByRole('table', { name });
const rowOf = (page: Page, table: string, text: string) =>
  tableOf(page, table).getByRole('row').filter({ hasText: text });

const unknown = '0a0a0a0a-0000-4000-8000-000000000001';
/** Address, title, the way on, and the title of the screen that it leads to. */
const missing = [
  ['#/hosts/nowhere', 'No such host', 'Show all hosts', 'Hosts'],
  [`#/devices/${unknown}`, 'No such device', 'Show the fleet', 'Fleet'],
  [`#/servers/${unknown}`, 'No such server', 'Show the requests of all servers', 'Requests'],
  ['#/servers/nothing', 'No such server', 'Show the requests of all servers', 'Requests'],
  [`#/requests/${unknown}`, 'No such request', 'Show the requests that exist', 'Requests'],
] as const;

export const screens: Group = {
  name: 'screens',
  scenarios: [
    {
      name: 'what is still being read has its place, and a word after three seconds',
      run: async (stage) => {
        const page = await stage.enter('admin', '#/hosts');
        const { promise, resolve } = Promise.withResolvers<void>();
        await page.route('**/operator/v1/incidents**', async (route) => {
          await promise;
          await route.continue();
        });
        await page.goto(`${stage.cloud.url}#/incidents`);
        await page.locator('main .skeleton').waitFor();
        assert.equal(await page.getByText('Still reading').count(), 0);
        await page.getByText('Still reading incidents.').waitFor();
        resolve();
        await rowOf(page, 'Incidents', 'conflict').waitFor();
        assert.equal(await page.locator('.skeleton').count(), 0);
      },
    },
    {
      name: 'an outage that each part of a screen meets has one notice',
      run: async (stage) => {
        stage.expectErrors(/./);
        const page = await stage.enter('admin', '#/hosts');
        await page.route('**/operator/v1/**', (route) => route.abort());
        await page.goto(`${stage.cloud.url}#/hosts/cmp3`);
        await page.getByRole('button', { name: 'Try now' }).waitFor();
        await page.waitForTimeout(500);
        assert.equal(await page.getByRole('alert').count(), 1);
      },
    },
    shows('Hosts has each host with its state', '#/hosts', async (page) => {
      await page.getByRole('heading', { level: 1, name: 'Hosts' }).waitFor();
      await rowOf(page, 'Hosts', 'cmp1').getByText('online').waitFor();
      await rowOf(page, 'Hosts', 'cmp2').getByText('away').waitFor();
      await rowOf(page, 'Hosts', 'cmp5').getByText('conflict').waitFor();
    }),
    shows('Hosts finds by name and by state, while typing', '#/hosts', async (page) => {
      await page.getByLabel('Name contains').fill('MP2');
      await page.getByText('1 host', { exact: true }).waitFor();
      await rowOf(page, 'Hosts', 'cmp2').waitFor();
      await page.getByLabel('Name contains').fill('');
      await page.getByLabel('State').selectOption('conflict');
      await page.getByText('1 host', { exact: true }).waitFor();
      await page.getByLabel('Name contains').fill('none');
      await page.getByText('0 hosts', { exact: true }).waitFor();
    }),
    shows(
      'Host has devices, what is not offered, and who has them',
      '#/hosts/cmp3',
      async (page) => {
        await page.getByRole('heading', { level: 1, name: 'Host cmp3' }).waitFor();
        await rowOf(page, 'Devices', '0000:0d:00.0').getByText('is hot').waitFor();
        await rowOf(page, 'Devices', '0000:0e:00.0')
          .getByText(/quarantined/)
          .waitFor();
        await rowOf(page, 'Not offered', '0000:0f:00.0').getByText('is in use by nvme').waitFor();
      },
    ),
    shows('Host names both boots of a conflict', '#/hosts/cmp5', async (page) => {
      await page.getByText('Two agents have reported').waitFor();
      await page.getByText(/22222222-2222/).waitFor();
    }),
    shows(
      'Device has its servers, and a timeline of what happened',
      '#/hosts/cmp1',
      async (page) => {
        await rowOf(page, 'Devices', 'fake').first().getByRole('link').first().click();
        await page.getByRole('heading', { level: 1, name: /^Device/ }).waitFor();
        await page.getByText('What happened').waitFor();
        await page.getByText('Who has it now').waitFor();
      },
    ),
    shows('Device has its components with their baselines', '#/hosts/cmp4', async (page) => {
      await rowOf(page, 'Devices', '0000:3b:00.0').getByRole('link').first().click();
      await rowOf(page, 'Components', 'bmc').getByText('2.0', { exact: true }).waitFor();
      await rowOf(page, 'Components', 'shell').getByText('7', { exact: true }).waitFor();
    }),
    shows('Incidents has each kind with its next step', '#/incidents', async (page) => {
      const kinds = ['host-away', 'conflict', 'not-offered', 'unhealthy-device', 'quarantine'];
      for (const kind of [...kinds, 'failed-bind', 'firmware-differs']) {
        await rowOf(page, 'Incidents', kind).first().waitFor();
      }
      await rowOf(page, 'Incidents', 'failed-bind').getByText('The GPU is on fire.').waitFor();
      await rowOf(page, 'Incidents', 'host-away').getByText('#a-host-that-is-away').waitFor();
      await page.getByRole('link', { name: /^Incidents *\d+$/ }).waitFor();
    }),
    shows('a project is shown by its name, with its id to copy', '#/requests', async (page) => {
      const bound = rowOf(page, 'Requests', 'Bound').first();
      await bound.getByText('demo', { exact: true }).waitFor();
      await bound.getByRole('button', { name: /^Copy [0-9a-f]{32}$/ }).waitFor();
    }),
    {
      name: 'a hostile name is text',
      run: async (stage) => {
        const name = `<img src=x onerror=alert(1)>\u202e${'n'.repeat(200)}`;
        const page = await stage.open('#/incidents?kind=failed-bind');
        // Before the sign-in: a name that has come is not asked for again.
        await page.route(/\/operator\/v1\/names/, async (route) => {
          const query = new URL(route.request().url()).searchParams;
          const ids = (query.get('servers') ?? '').split(',');
          const servers = Object.fromEntries(ids.map((id) => [id, name]));
          await route.fulfill({ json: { servers, projects: {}, users: {} } });
        });
        await stage.signIn(page, 'admin');
        const failed = rowOf(page, 'Incidents', 'failed-bind').first();
        await failed.getByText('<img src=x onerror=alert(1)>').waitFor();
        assert.equal(await failed.locator('img').count(), 0);
      },
    },
    shows('Incidents finds by kind and host, in its address', '#/incidents', async (page) => {
      await page.getByLabel('Kind').selectOption('quarantine');
      await page.waitForURL(/kind=quarantine/);
      await page.getByLabel('State').selectOption('ended');
      await page.waitForURL(/state=ended/);
      await page.getByText('There are no incidents.').waitFor();
      await page.goBack();
      await rowOf(page, 'Incidents', 'quarantine').waitFor();
      assert.equal(await rowOf(page, 'Incidents', 'failed-bind').count(), 0);
      await page.goBack();
      await rowOf(page, 'Incidents', 'failed-bind').waitFor();
    }),
    shows('Requests has the failed one first, with its reason', '#/requests', async (page) => {
      const rows = tableOf(page, 'Requests').getByRole('row');
      await rows.filter({ hasText: 'Bound' }).first().waitFor();
      await rows.nth(1).getByText('The GPU is on fire.').waitFor();
    }),
    shows(
      "a tenant has its project's screens only, and its own requests",
      '#/hosts',
      async (page) => {
        await page.getByRole('heading', { level: 1, name: 'Not allowed' }).waitFor();
        const links = page.getByRole('navigation', { name: 'Screens' }).getByRole('link');
        const titles = await links.allInnerTexts();
        assert.deepEqual(titles, ['Requests', 'History', 'Capacity', 'Usage', 'Profiles']);
        await links.filter({ hasText: 'Requests' }).click();
        await tableOf(page, 'Requests').getByText('Bound').first().waitFor();
        await page.getByText(failedInstance.slice(0, 8)).first().waitFor();
      },
      'demo',
    ),
    ...missing.map(
      ([address, title, way, there]): Scenario => ({
        name: `an id that does not exist says so, and has a way on: ${address}`,
        run: async (stage) => {
          stage.expectErrors(/40[04]/);
          const page = await stage.enter('admin', address);
          await page.getByRole('heading', { level: 1, name: title }).waitFor();
          assert.equal(await page.getByRole('button', { name: 'Try again' }).count(), 0);
          await page.getByRole('link', { name: way }).click();
          await page.getByRole('heading', { level: 1, name: there }).waitFor();
        },
      }),
    ),
    {
      name: 'Requests finds by state, host, profile and server, in its address, and sorts',
      run: async (stage) => {
        const page = await stage.enter('admin', '#/requests');
        const rows = tableOf(page, 'Requests').getByRole('row');
        await rows.filter({ hasText: 'BindFailed' }).waitFor();
        await page.getByLabel('State').selectOption('Bound');
        await page.waitForURL(/state=Bound/);
        await page.getByText('2 requests', { exact: true }).waitFor();
        await page.getByLabel('Profile').fill('vgpu');
        await page.getByRole('button', { name: 'Filter' }).click();
        await page.getByText('No request matches.').waitFor();
        await page.goto(`${stage.cloud.url}#/requests?server=77aa0000&host=CMP3&profile=vgpu`);
        await page.getByText('1 request', { exact: true }).waitFor();
        await rows.nth(1).getByText('The GPU is on fire.').waitFor();
        assert.equal(await page.getByLabel('Host').inputValue(), 'CMP3');
        await page.goto(`${stage.cloud.url}#/requests`);
        await page.getByRole('button', { name: 'Profile' }).click();
        await rows.nth(1).getByText('fpga').waitFor();
        await page.getByRole('button', { name: 'State' }).click();
        await rows.nth(1).getByText('The GPU is on fire.').waitFor();
      },
    },
    {
      name: 'History finds by host, kind, project and day, in its address',
      run: async (stage) => {
        const page = await stage.enter('admin', '#/history');
        const records = page.getByRole('list', { name: 'History' });
        await records.getByText('Bind failed').waitFor();
        await page.getByLabel('Kind').selectOption('bind.failed');
        await page.waitForURL(/kind=bind.failed/);
        await records.getByText('The GPU is on fire.').waitFor();
        assert.equal(await records.getByRole('listitem').count(), 1);
        await page.getByLabel('Host').fill('cmp1');
        await page.getByRole('button', { name: 'Filter' }).click();
        await page.waitForURL(/host=cmp1/);
        await page.getByText('Nothing is recorded.').waitFor();
        await page.goBack();
        await records.getByRole('link', { name: 'cmp3' }).waitFor();
        assert.equal(await page.getByLabel('Host').inputValue(), '');
        await page.getByLabel('From day').fill('2020-01-01');
        await page.getByLabel('To day').fill('2020-01-02');
        await page.getByRole('button', { name: 'Filter' }).click();
        await page.waitForURL(/from=2020-01-01/);
        await page.getByText('Nothing is recorded.').waitFor();
      },
    },
    {
      name: 'a server and a request have a page, to which Requests leads',
      run: async (stage) => {
        const page = await stage.enter('admin', '#/requests');
        const bound = rowOf(page, 'Requests', 'Bound').first().getByRole('link');
        await bound.and(page.locator('[href*="/servers/"]')).click();
        await page.getByRole('heading', { level: 1, name: /^Server vm\d$/ }).waitFor();
        await rowOf(page, 'Assignments', 'FPGA').waitFor();
        await page.getByRole('list', { name: 'History' }).getByText('Claimed').first().waitFor();
        await page.goBack();
        await bound.and(page.locator('[href*="/requests/"]')).click();
        await page.getByRole('heading', { level: 1, name: /^Request / }).waitFor();
        await page
          .getByText(/ Bound$/)
          .first()
          .waitFor();
      },
    },
    shows('an unknown address says so, and has the way on', '#/fire', async (page) => {
      await page.getByRole('heading', { level: 1, name: 'Not found' }).waitFor();
      await page.getByRole('link', { name: 'Hosts' }).click();
      await tableOf(page, 'Hosts').waitFor();
    }),
  ],
};

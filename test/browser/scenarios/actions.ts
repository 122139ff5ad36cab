// Each action, and each refusal of one: what was typed is still there afterwards.

import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { waitFor } from '#local/demo/demo-client.ts';
import type { Cloud } from '#test/browser/cloud.ts';
import type { Group } from '#test/browser/scenario.ts';

interface HostAnswer {
  readonly state: string;
  readonly devices: readonly {
    readonly uuid: string;
    readonly address: string;
    readonly type: string;
    readonly status: string;
  }[];
}

const hostOf = ({ operator }: Cloud, hostname: string) =>
  operator.get<HostAnswer>(`/hosts/${hostname}`, 'admin-token');

/** Opens the action's dialog. */
async function begin(page: Page, verb: string): Promise<Locator> {
  await page.getByRole('button', { name: verb, exact: false }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  return dialog;
}

async function confirm(dialog: Locator, verb: string): Promise<void> {
  await dialog.getByRole('button', { name: verb, exact: true }).click();
}

async function statusesOf(cloud: Cloud, hostname: string): Promise<string> {
  const { devices } = await hostOf(cloud, hostname);
  return [...new Set(devices.map(({ status }) => status))].join();
}

export const actions: Group = {
  name: 'actions',
  scenarios: [
    {
      name: 'a drain needs a reason, disables the devices, and a resume enables them',
      run: async (stage) => {
        const page = await stage.enter('admin', '#/hosts/cmp4');
        const drain = await begin(page, 'Drain');
        await confirm(drain, 'Drain');
        assert.equal(await drain.isVisible(), true);
        await drain.getByLabel('Reason').fill('A fan is replaced.');
        await drain.getByLabel('Until').fill('2099-12-01T06:00');
        await confirm(drain, 'Drain');
        await page.getByText('cmp4: no new binds on 3 devices.').waitFor();
        assert.equal(await statusesOf(stage.cloud, 'cmp4'), 'disabled');
        await page.getByText('A fan is replaced.').first().waitFor();
        await confirm(await begin(page, 'Resume'), 'Resume');
        await page.getByText('cmp4: new binds again on 3 devices.').waitFor();
        assert.equal(await statusesOf(stage.cloud, 'cmp4'), 'enabled');
      },
    },
    {
      name: 'a resume of a host that is not drained is refused, with what it is now',
      run: async (stage) => {
        stage.expectErrors(/409/);
        const page = await stage.enter('admin', '#/hosts/cmp4');
        const resume = await begin(page, 'Resume');
        await confirm(resume, 'Resume');
        await resume.getByText('Host cmp4 is not drained').waitFor();
        await page.keyboard.press('Escape');
        await resume.waitFor({ state: 'hidden' });
      },
    },
    {
      name: 'a rediscovery is asked of a host that is online',
      run: async (stage) => {
        const page = await stage.enter('admin', '#/hosts/cmp1');
        await confirm(await begin(page, 'Rediscover'), 'Rediscover');
        await page.getByText('cmp1: its agent was asked to report all devices.').waitFor();
      },
    },
    {
      name: 'a device is disabled with a reason, and enabled',
      run: async (stage) => {
        const { devices } = await hostOf(stage.cloud, 'cmp4');
        const page = await stage.enter('admin', `#/devices/${devices[0]?.uuid}`);
        const disable = await begin(page, 'Disable');
        await disable.getByLabel('Reason').fill('It is noisy.');
        await confirm(disable, 'Disable');
        await page.getByText('It is noisy.').first().waitFor();
        await page.getByRole('button', { name: 'Enable' }).waitFor();
        await confirm(await begin(page, 'Enable'), 'Enable');
        await page.getByRole('button', { name: 'Disable' }).waitFor();
      },
    },
    {
      name: 'a device that no server has is reset, with a reason',
      run: async (stage) => {
        const { devices } = await hostOf(stage.cloud, 'cmp4');
        const gpu = devices.find(({ type }) => type === 'GPU');
        const page = await stage.enter('admin', `#/devices/${gpu?.uuid}`);
        const reset = await begin(page, 'Reset');
        await reset.getByLabel('Reason').fill('Its counters grow.');
        await confirm(reset, 'Reset');
        await page.getByText(/is being reset: \d attach handles?\./).waitFor();
      },
    },
    {
      name: 'what an incident names ends it: the quarantine is released by force',
      run: async (stage) => {
        const page = await stage.enter('admin', '#/incidents?kind=quarantine');
        const dialog = await begin(page, 'Force release');
        await confirm(dialog, 'Force release');
        await page.getByText(/0 attach handles free, 1 being cleaned/).waitFor();
        await page.getByText('There are no incidents.').waitFor();
      },
    },
    {
      name: 'a host that is online is not forgotten, one that is away is',
      run: async (stage) => {
        stage.expectErrors(/409/, /404/);
        const page = await stage.enter('admin', '#/hosts/cmp4');
        const online = await begin(page, 'Forget');
        await online.getByText(/No server holds a device of the host|holds? devices of/).waitFor();
        await confirm(online, 'Forget');
        await online.getByText('Host cmp4 cannot be forgotten').waitFor();
        await online.getByRole('button', { name: 'Cancel' }).click();
        await page.goto(`${stage.cloud.url}#/incidents?kind=host-away`);
        await page.getByRole('heading', { level: 1, name: 'Incidents' }).waitFor();
        const away = await begin(page, 'Forget');
        await confirm(away, 'Forget');
        await page.getByText('cmp2 is forgotten.').waitFor();
        await waitFor(
          'the host to be gone',
          () =>
            stage.cloud.operator.get<{ hosts: { hostname: string }[] }>('/hosts', 'admin-token'),
          ({ hosts }) => hosts.every(({ hostname }) => hostname !== 'cmp2'),
        );
      },
    },
  ],
};

export const refusals: Group = {
  name: 'refusals',
  scenarios: [
    {
      name: 'a manager may look and not drain: 403 names the rule, and the reason stays typed',
      run: async (stage) => {
        stage.expectErrors(/403/);
        const page = await stage.enter('manager', '#/hosts/cmp4');
        const drain = await begin(page, 'Drain');
        await drain.getByLabel('Reason').fill('A fan is replaced.');
        await confirm(drain, 'Drain');
        await drain.getByText('cyborg:operator:host:drain').waitFor();
        assert.equal(await drain.getByLabel('Reason').inputValue(), 'A fan is replaced.');
        assert.equal(await statusesOf(stage.cloud, 'cmp4'), 'enabled');
      },
    },
    {
      name: 'a change by another operator meanwhile is told: 409, and the screen shows it',
      run: async (stage) => {
        stage.expectErrors(/409/);
        const { cloud } = stage;
        const drain = { reason: 'Another operator.' };
        await cloud.operator.post('/hosts/cmp4/drain', 'admin-token', drain);
        const page = await stage.enter('admin', '#/hosts/cmp4');
        const resume = await begin(page, 'Resume');
        await cloud.operator.post('/hosts/cmp4/resume', 'admin-token', {});
        await confirm(resume, 'Resume');
        await resume.getByText('Host cmp4 is not drained').waitFor();
      },
    },
    {
      name: 'a session that ends in the middle of a form loses nothing that was typed',
      run: async (stage) => {
        // The API is started again meanwhile.
        stage.expectErrors(/401/, /ERR_CONNECTION/);
        const page = await stage.enter('admin', '#/hosts/cmp4');
        const drain = await begin(page, 'Drain');
        await drain.getByLabel('Reason').fill('A long story, typed slowly.');
        await stage.endSession();
        await confirm(drain, 'Drain');
        const again = page.getByRole('dialog', { name: 'Sign in again' });
        await again.waitFor();
        await stage.signIn(again, 'admin');
        await again.waitFor({ state: 'hidden' });
        assert.equal(await drain.getByLabel('Reason').inputValue(), 'A long story, typed slowly.');
        await confirm(drain, 'Drain');
        await page.getByText('cmp4: no new binds on 3 devices.').waitFor();
        await confirm(await begin(page, 'Resume'), 'Resume');
        await page.getByText('cmp4: new binds again on 3 devices.').waitFor();
      },
    },
    {
      name: 'an API that is gone is told, what was read stays, and it goes on by itself',
      run: async (stage) => {
        stage.expectErrors(/ERR_CONNECTION|ERR_EMPTY|Failed to fetch|503/);
        const page = await stage.enter('admin', '#/hosts/cmp4');
        const drain = await begin(page, 'Drain');
        await drain.getByLabel('Reason').fill('Typed before.');
        const devices = page.getByRole('table', { name: 'Devices' });
        await devices.waitFor();
        await stage.without('api', async () => {
          await confirm(drain, 'Drain');
          await drain.getByText('The API cannot be reached.').waitFor();
          await page.getByText(/may be out of date/).waitFor();
          assert.equal(await devices.count(), 1);
        });
        await page.getByText(/may be out of date/).waitFor({ state: 'hidden' });
        assert.equal(await drain.getByLabel('Reason').inputValue(), 'Typed before.');
      },
    },
    {
      name: 'a Keystone that is gone is told at the sign-in',
      run: async (stage) => {
        stage.expectErrors(/503/);
        const page = await stage.open();
        await stage.without('openstack', async () => {
          await stage.signIn(page, 'admin');
          await page.getByText(/cannot be asked right now/).waitFor();
        });
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.getByText('admin in admin').waitFor();
      },
    },
    {
      name: 'a list that breaks off says so, keeps what came, and is read on',
      run: async (stage) => {
        stage.expectErrors(/ERR_FAILED/);
        const page = await stage.open('#/hosts');
        let isBroken = true;
        await page.route(/\/operator\/v1\/hosts\?/, async (route) => {
          const url = new URL(route.request().url());
          if (isBroken && url.searchParams.has('marker')) return route.abort();
          url.searchParams.set('limit', '2');
          return route.continue({ url: url.href });
        });
        await stage.signIn(page, 'admin');
        await page.getByText('These are the first 2 hosts only.').waitFor();
        isBroken = false;
        await page.getByRole('button', { name: 'Read on' }).click();
        await page.getByText('These are the first').waitFor({ state: 'hidden' });
        await page.getByRole('table', { name: 'Hosts' }).getByText('cmp5').first().waitFor();
      },
    },
  ],
};

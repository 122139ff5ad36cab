// The sign-in, and what it keeps to itself.

import assert from 'node:assert/strict';
import { applicationCredentials, password } from '#local/openstack/keystone/catalog.ts';
import type { Group } from '#test/browser/scenario.ts';

export const signIn: Group = {
  name: 'sign-in',
  scenarios: [
    {
      name: 'a password opens the first screen',
      run: async (stage) => {
        const page = await stage.enter('admin');
        await page.getByText('admin in admin').waitFor();
        await page.getByRole('heading', { level: 1 }).waitFor();
      },
    },
    {
      name: 'an application credential opens it, too',
      run: async (stage) => {
        const page = await stage.open();
        const [{ id = '', secret = '' } = {}] = applicationCredentials;
        await page.getByLabel('Application credential').check();
        await page.getByLabel('Credential id').fill(id);
        await page.getByLabel('Secret').fill(secret);
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.getByText('admin in admin').waitFor();
      },
    },
    {
      name: 'a wrong password is told, and only that is to be typed again',
      run: async (stage) => {
        stage.expectErrors(/401/);
        const page = await stage.open();
        await stage.signIn(page, 'admin', 'wrong');
        await page.getByText('Keystone refused the sign-in').waitFor();
        assert.equal(await page.getByLabel('User', { exact: true }).inputValue(), 'admin');
        assert.equal(await page.getByLabel('Project', { exact: true }).inputValue(), 'admin');
        await page.getByLabel('Password', { exact: true }).last().fill(password);
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.getByText('admin in admin').waitFor();
      },
    },
    {
      name: 'the address that was opened is the screen after it',
      run: async (stage) => {
        const page = await stage.enter('admin', '#/incidents?kind=host-away');
        await page.getByRole('heading', { level: 1, name: 'Incidents' }).waitFor();
        await page.getByRole('table', { name: 'Incidents' }).getByText('cmp2').first().waitFor();
      },
    },
    {
      name: 'the token is nowhere but in memory: a reload asks for it again',
      run: async (stage) => {
        const page = await stage.enter('admin');
        const kept = await page.evaluate(
          'JSON.stringify([localStorage, sessionStorage, document.cookie, location.href])',
        );
        assert.doesNotMatch(String(kept), new RegExp(`gAAAA|${password}`));
        assert.deepEqual(await page.context().cookies(), []);
        await page.reload();
        await page.getByRole('button', { name: 'Sign in' }).waitFor();
      },
    },
    {
      name: 'a sign-out leaves nothing on the page',
      run: async (stage) => {
        const page = await stage.enter('admin');
        await page.getByRole('button', { name: 'Sign out' }).click();
        await page.getByRole('button', { name: 'Sign in' }).waitFor();
        assert.equal(await page.getByRole('table').count(), 0);
      },
    },
    {
      name: 'the keyboard alone signs in',
      run: async (stage) => {
        const page = await stage.open();
        await page.getByLabel('User', { exact: true }).focus();
        await page.keyboard.type('admin');
        for (const typed of [undefined, password, 'admin', undefined]) {
          await page.keyboard.press('Tab');
          if (typed !== undefined) await page.keyboard.type(typed);
        }
        await page.keyboard.press('Enter');
        await page.getByText('admin in admin').waitFor();
      },
    },
  ],
};

// Each screen in four sizes and two themes: no finding of axe, also of what is below the pointer,
// and nothing wider than the page. A picture of each is kept in .local/browser/looks.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { Group, Scenario } from '#test/browser/scenario.ts';
import { type Size, type Stage, sizes, type Theme } from '#test/browser/stage.ts';

const pictures = join(import.meta.dirname, '../../../.local/browser/looks');
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The address of each screen, and what is there once it has what it shows. */
export const shown: readonly (readonly [
  address: string,
  title: string | RegExp,
  table?: string,
])[] = [
  ['#/overview', 'Overview'],
  ['#/hosts', 'Hosts', 'Hosts'],
  ['#/hosts/cmp3', 'Host cmp3', 'Devices'],
  ['#/incidents', 'Incidents', 'Incidents'],
  ['#/requests', 'Requests', 'Requests'],
  ['#/history', 'History'],
  ['#/fleet', 'Fleet'],
  ['#/capacity?profile=fpga', 'Capacity', 'Hosts'],
  ['#/usage', 'Usage', 'Usage'],
  ['#/profiles', 'Profiles', 'Device profiles'],
];

/** What this file needs of a browser's types, which Node's do not have. */
interface Element {
  readonly ownerDocument: { readonly activeElement: unknown };
  contains(other: unknown): boolean;
}

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly {
    readonly target: readonly string[];
    readonly failureSummary: string;
  }[];
}

export async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const found = (await page.evaluate('axe.run().then(({ violations }) => violations)')) as
    | readonly Violation[]
    | undefined;
  assert.ok(found, 'axe has not run');
  return found.map(({ id, help, nodes }) => {
    const [first] = nodes;
    return `${id}: ${help}; ${nodes.length} of ${first?.target.join(' ')}: ${first?.failureSummary}`;
  });
}

/** The first word of its title, in lower case. */
export const nameOf = ([, title]: (typeof shown)[number]) =>
  String(title).split(' ')[0]?.toLowerCase() ?? '';

export async function arrive(page: Page, [, title, table]: (typeof shown)[number]): Promise<void> {
  await page.getByRole('heading', { level: 1, name: title }).waitFor();
  if (title === 'Fleet') {
    await page.getByText('not read yet: 0').waitFor();
    await page.getByRole('list', { name: 'Hosts by group' }).waitFor();
  }
  if (table) await page.getByRole('table', { name: table }).getByRole('row').nth(1).waitFor();
}

async function check(page: Page): Promise<void> {
  assert.deepEqual(await violationsOf(page), []);
  const beyond = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  assert.equal(beyond, 0, 'the page is wider than the window');
}

async function lookAtAll(stage: Stage, size: Size, theme: Theme): Promise<void> {
  const page = await stage.enter('admin', '', { size, theme });
  const look = async (name: string) => {
    const path = join(pictures, `${name}-${sizes[size].width}-${theme}.png`);
    await page.screenshot({ path, fullPage: true, animations: 'disabled' });
    try {
      await check(page);
    } catch (error) {
      throw new Error(`${name}: ${(error as Error).message}`);
    }
  };
  for (const screen of shown) {
    await page.goto(`${stage.cloud.url}${screen[0]}`);
    await arrive(page, screen);
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    await look(nameOf(screen));
  }
  await page.goto(`${stage.cloud.url}#/hosts/cmp3`);
  await page.getByRole('link', { name: '0000:0e:00.0' }).click();
  await page.getByRole('list', { name: 'History' }).waitFor();
  await look('device');
}

/** One of each kind that changes its colours below the pointer. */
const hovered = [
  '.top button:not(.skip)',
  '.screens a:not([aria-current])',
  '.screen-head button',
  'button.primary',
  'button.danger-outline',
  '.filters button',
  'tbody tr',
  'td a',
  '.tile > a',
];

async function hoverAll(stage: Stage, theme: Theme): Promise<void> {
  const page = await stage.enter('admin', '', { theme });
  await page.evaluate(axe);
  const missing = new Set(hovered);
  for (const screen of shown) {
    await page.goto(`${stage.cloud.url}${screen[0]}`);
    await arrive(page, screen);
    for (const selector of hovered) {
      const [first] = await page.locator(selector).all();
      if (!first || !(await first.isVisible())) continue;
      await first.hover();
      missing.delete(selector);
      const options = `{ runOnly: ['color-contrast'] }`;
      const found = await page.evaluate(
        `axe.run(${JSON.stringify(`${selector}:hover`)}, ${options}).then(({ violations }) => violations.length)`,
      );
      assert.equal(found, 0, `${screen[0]}: ${selector} cannot be read below the pointer`);
    }
  }
  assert.deepEqual([...missing], [], 'no screen has these');
}

export const themes = ['light', 'dark'] as const;
const all = (Object.keys(sizes) as Size[]).flatMap((size) =>
  themes.map((theme) => ({ size, theme })),
);

export const looks: Group = {
  name: 'looks',
  scenarios: [
    ...all.map(
      ({ size, theme }): Scenario => ({
        name: `the sign-in, ${size} and ${theme}, has no finding of axe`,
        run: async (stage) => {
          const page = await stage.open('', { size, theme });
          await page.getByRole('button', { name: 'Sign in' }).waitFor();
          await check(page);
        },
      }),
    ),
    ...all.map(
      ({ size, theme }): Scenario => ({
        name: `each screen, ${size} and ${theme}, has no finding of axe`,
        run: (stage) => lookAtAll(stage, size, theme),
      }),
    ),
    ...themes.map(
      (theme): Scenario => ({
        name: `what is below the pointer, ${theme}, can be read`,
        run: (stage) => hoverAll(stage, theme),
      }),
    ),
    ...themes.map(
      (theme): Scenario => ({
        name: `a dialog, ${theme}, has no finding of axe, holds the focus and gives it back`,
        run: async (stage) => {
          const page = await stage.enter('admin', '#/hosts/cmp4', { theme });
          const button = page.getByRole('button', { name: 'Drain' });
          await button.focus();
          await page.keyboard.press('Enter');
          const dialog = page.getByRole('dialog');
          await dialog.waitFor();
          await check(page);
          const isInside = (each: Element) => each.contains(each.ownerDocument.activeElement);
          assert.equal(await dialog.evaluate(isInside), true);
          await page.keyboard.press('Escape');
          await dialog.waitFor({ state: 'hidden' });
          assert.equal(await button.evaluate(isInside), true);
        },
      }),
    ),
  ],
};

// A browser in front of the console, and what no page of it may do: ask another origin, break its
// own policy, or leave an error in the console of the browser.

import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { password } from '#local/openstack/keystone/catalog.ts';
import type { Cloud } from './cloud.ts';

/** Those that console/README.md names. */
export const sizes = {
  phone: { width: 390, height: 844 },
  tablet: { width: 780, height: 900 },
  wide: { width: 1280, height: 800 },
  large: { width: 1920, height: 1080 },
};
export type Size = keyof typeof sizes;
export type Theme = 'light' | 'dark';

export interface Look {
  readonly size?: Size;
  readonly theme?: Theme;
}

/** The users of the fake Keystone, each with the project that it works in. */
export const projects = { admin: 'admin', manager: 'demo', reader: 'demo', demo: 'demo' } as const;
export type User = keyof typeof projects;

/** Long for a busy machine; what is there is found at once. */
const patienceMs = 20_000;

export class Stage {
  readonly cloud: Cloud;
  readonly #browser: Browser;
  #contexts: BrowserContext[] = [];
  #faults: string[] = [];
  #expected: readonly RegExp[] = [];
  readonly #tokens: string[] = [];

  constructor(cloud: Cloud, browser: Browser) {
    this.cloud = cloud;
    this.#browser = browser;
  }

  /** The console on a page of its own, without a session. */
  async open(address = '', look: Look = {}): Promise<Page> {
    const page = await this.newPage(look);
    await page.goto(`${this.cloud.url}${address}`);
    return page;
  }

  /**
   * An empty page of a browser that has loaded nothing yet.
   *
   * @param script runs before those of the console
   */
  async newPage({ size = 'wide', theme = 'light' }: Look, script?: string): Promise<Page> {
    const context = await this.#browser.newContext({
      viewport: sizes[size],
      colorScheme: theme,
      timezoneId: 'UTC',
      locale: 'en-GB',
    });
    this.#contexts.push(context);
    context.setDefaultTimeout(patienceMs);
    const page = await context.newPage();
    if (script !== undefined) await page.addInitScript({ content: script });
    this.#watch(page);
    return page;
  }

  /** A page on which the user has signed in. */
  async enter(user: User, address = '', look: Look = {}): Promise<Page> {
    const page = await this.open(address, look);
    await this.signIn(page, user);
    await page.getByRole('navigation', { name: 'Screens' }).waitFor();
    return page;
  }

  async signIn(within: Page | Locator, user: User, secret = password): Promise<void> {
    await within.getByLabel('User', { exact: true }).fill(user);
    await within.getByLabel('Password', { exact: true }).last().fill(secret);
    await within.getByLabel('Project', { exact: true }).fill(projects[user]);
    await within.getByRole('button', { name: 'Sign in' }).click();
  }

  /** Kills a part of the system, and starts it again whatever the work finds. */
  async without(part: 'api' | 'openstack', work: () => Promise<void>): Promise<void> {
    await this.cloud.kill(part);
    try {
      await work();
    } finally {
      await this.cloud.start(part);
    }
  }

  /** Makes Keystone forget the token, as when its hour is over. */
  async endSession(): Promise<void> {
    const { keystone } = this.cloud;
    for (const token of this.#tokens.splice(0)) {
      const headers = { 'X-Auth-Token': 'admin-token', 'X-Subject-Token': token };
      await fetch(`${keystone}/auth/tokens`, { method: 'DELETE', headers });
    }
    // Without the answers of Keystone that its function has kept.
    await this.cloud.kill('api');
    await this.cloud.start('api');
  }

  /** Refusals that the scenario provokes: the browser reports each as an error. */
  expectErrors(...patterns: readonly RegExp[]): void {
    this.#expected = patterns;
  }

  /** Takes pictures of the pages, which show why a scenario failed, beside the system's logs. */
  async picture(): Promise<void> {
    for (const [at, page] of this.#contexts.flatMap((each) => each.pages()).entries()) {
      await page.screenshot({ path: `${this.cloud.layout.directory}/failed-${at}.png` });
    }
  }

  /** Closes the pages. Returns what they did that no page may do. */
  async clear(): Promise<readonly string[]> {
    for (const context of this.#contexts.splice(0)) await context.close();
    const faults = this.#faults.splice(0);
    this.#expected = [];
    return faults;
  }

  #watch(page: Page): void {
    const { origin } = new URL(this.cloud.url);
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.protocol === 'data:' || url.protocol === 'blob:' || url.origin === origin) return;
      this.#faults.push(`The page asks another origin: ${request.url()}`);
    });
    page.on('response', async (response) => {
      if (!response.url().endsWith('/console/sign-in') || response.status() !== 200) return;
      const { token } = (await response.json()) as { token: string };
      this.#tokens.push(token);
    });
    page.on('pageerror', (error) => this.#faults.push(`Unhandled exception: ${error.message}`));
    page.on('console', (message) => {
      if (message.type() !== 'error') return;
      const text = `${message.text()} ${message.location().url}`;
      if (this.#expected.some((pattern) => pattern.test(text))) return;
      this.#faults.push(`The browser reports: ${text}`);
    });
  }
}

// The agent's commands plan, apply and assert, as processes on a made host.
//
// @module-tag long

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { SysfsTree } from '#test/support/hosts/sysfs.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perTest } from '#test/support/vitest/shared.ts';
import { snapshotOf } from '#test/support/vitest/snapshot.ts';
import { type CommandHost, card, createCommandHost, qat, services } from './command-host.ts';

const asWanted = 'The host is as the settings say.\n';

const host = perTest(createCommandHost);
let state: string;
let tree: SysfsTree;
let agent: CommandHost['agent'];

beforeEach(() => {
  ({ state, tree, agent } = host);
});

function withPci(): void {
  host.offer({ vendor_id: '10de', product_id: '2236', virtual_functions: 2 });
}

const countOf = (count: number) => `The number of virtual functions of ${card} is ${count}, not 2`;

it('plan, assert, apply and assert of the bundle bring a host to its settings', async () => {
  execFileSync(process.execPath, ['infra/bundle/bundle-agent.ts']);
  const bundle = 'dist/cyborg-agent.mjs';
  const difference = `The services of ${qat} is sym, not dcc.\n`;
  const before = snapshotOf(tree.root);
  expect(await agent(['plan'], bundle)).toEqual({ code: 0, output: difference });
  expect(await agent(['assert'], bundle)).toEqual({ code: 1, output: difference });
  expect(snapshotOf(tree.root)).toEqual(before);
  expect(existsSync(state)).toBe(false);
  const changed = `Changed the services of ${qat} from sym to dcc.\n`;
  expect(await agent(['apply'], bundle)).toEqual({ code: 0, output: changed });
  expect(readFileSync(join(tree.root, services), 'utf8')).toBe('dcc\n');
  for (const command of ['assert', 'plan', 'apply']) {
    expect(await agent([command], bundle)).toEqual({ code: 0, output: asWanted });
  }
});

describe('apply', () => {
  it('says what is left, until the kernel has done it', async () => {
    withPci();
    const { code, output } = await agent(['apply']);
    expect(output).not.toContain('Changed');
    // No kernel makes the functions of this tree.
    expect(output).toContain(`Left: ${countOf(0)}: the change was applied without an effect.`);
    expect(code).toBe(1);
    tree.addVirtualFunctions(card, 2, { product: '2236', driver: undefined });
    expect(await agent(['apply'])).toEqual({ code: 0, output: asWanted });
    expect(await agent(['assert'])).toEqual({ code: 0, output: asWanted });
  });

  it('does not touch what the agent has offered', async () => {
    withPci();
    mkdirSync(state);
    const offered = JSON.stringify({ version: 1, drivers: { pci: [card] } });
    writeFileSync(join(state, 'offered.json'), offered);
    const refused = `${countOf(0)}: ${card} is offered to guests.\n`;
    const before = snapshotOf(tree.root);
    expect(await agent(['apply'])).toEqual({ code: 1, output: `Left: ${refused}` });
    expect(await agent(['plan'])).toEqual({ code: 0, output: refused });
    expect(snapshotOf(tree.root)).toEqual(before);
    expect(readFileSync(join(state, 'offered.json'), 'utf8')).toBe(offered);
  });

  it('is refused while an agent runs, beside which plan and assert run', async () => {
    withPci();
    const running = host.start();
    await eventually(() => running.output()).toContain('Set-up incomplete');
    const before = snapshotOf(tree.root);
    const { code, output } = await agent(['apply']);
    expect(output).toContain(`Nothing is changed: an agent runs with ${state}`);
    expect(code).toBe(1);
    expect(await agent(['plan'])).toMatchObject({ code: 0 });
    expect(await agent(['assert'])).toMatchObject({ code: 1 });
    expect(snapshotOf(tree.root)).toEqual(before);
    expect((await agent([])).output).toContain(`Another agent uses ${state}.`);
    expect(await running.stop()).toBe(0);
    expect(await agent(['apply'])).toMatchObject({ code: 1 });
  });

  it('is refused if the state cannot be locked', async () => {
    writeFileSync(state, 'a file');
    const { code, output } = await agent(['apply']);
    expect(output).toContain(`Nothing is changed: ${state} cannot be locked.`);
    expect(code).toBe(1);
    expect(readFileSync(join(tree.root, services), 'utf8')).toBe('sym\n');
  });
});

describe('confirm', () => {
  it('lets a card be offered as it is now', async () => {
    host.offer({ address: card, virtual_functions: 2 });
    mkdirSync(state);
    const since = '2026-07-01T00:00:00.000Z';
    const cards = { [card]: { identity: '144d:a80a 010802 144d:aa0a', since } };
    const text = JSON.stringify({ version: 1, drivers: {}, cards });
    writeFileSync(join(state, 'offered.json'), text);
    expect((await agent(['plan'])).output).toContain('144d:a80a was offered here');
    const { code, output } = await agent(['confirm', card]);
    expect(output).toMatch(/^Confirmed: 0000:3b:00\.0 may be offered as 10de:2235 of class 030200/);
    expect(code).toBe(0);
    expect((await agent(['plan'])).output).not.toContain('was offered here');
  });

  it('refuses a card that the host does not have', async () => {
    const { code, output } = await agent(['confirm', '0000:99:00.0']);
    expect([code, output]).toEqual([
      1,
      'Nothing is confirmed: 0000:99:00.0 is not on this host.\n',
    ]);
    expect((await agent(['confirm'])).code).toBe(2);
    expect((await agent(['confirm', card, card])).code).toBe(2);
  });
});

it('a driver that cannot plan ends each command with 1', async () => {
  withPci();
  rmSync(join(tree.root, 'bus'), { recursive: true });
  for (const command of ['plan', 'apply', 'assert']) {
    const { code, output } = await agent([command]);
    expect(output).toContain('The driver pci cannot plan: sysfs is not mounted.');
    expect(code).toBe(1);
  }
});

it.each([
  [['destroy'], 'unknown argument "destroy"; allowed are plan, apply, assert, self-test'],
  [['--force'], 'unknown argument "--force"; allowed are plan, apply, assert, self-test'],
  [['plan', '--now'], 'plan takes no argument, so "--now" is not allowed.'],
  [['\u001b[2J'], 'unknown argument "?[2J"'],
])('%j is refused with 2 and a sentence', async (args, sentence) => {
  const { code, output } = await agent(args);
  expect(output).toContain(`cyborg-agent: ${sentence}`);
  expect(code).toBe(2);
});

it('wrong settings end each command with 78', async () => {
  host.environment.CYBORG_AGENT_SERVICES = '{}';
  expect(await agent(['plan'])).toMatchObject({ code: 78 });
  expect(await agent(['apply'])).toMatchObject({ code: 78 });
});

it('--help names the commands', async () => {
  const { code, output } = await agent(['--help']);
  for (const word of [
    'plan',
    'apply',
    'assert',
    'self-test',
    'confirm',
    'check',
    '--help',
    '--version',
  ]) {
    expect(output).toMatch(new RegExp(`^${word} `, 'm'));
  }
  expect(code).toBe(0);
});

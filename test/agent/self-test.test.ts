// The agent's command self-test, as a process on a made host.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { perTest } from '#test/support/vitest/shared.ts';
import { snapshotOf } from '#test/support/vitest/snapshot.ts';
import { card, createCommandHost } from './command-host.ts';

/** A driver with one card; its other members, and what its description has beside the usual. */
function cardDriver({ more = '', members = '' }: { more?: string; members?: string }): string {
  return `export default ({ defineDriver, parsePciAddress }) =>
    defineDriver({
      name: 'npu',
      create: (_, { directory, hardware }) => {
        const about = { address: '${card}', driver: 'npu', type: 'AICHIP' };
        const info = parsePciAddress('${card}');
        let calls = 0;
        return {
          name: 'npu',
          discover: async () => {
            calls += 1;
            const handle = { type: 'PCI', info, clean_seconds: 60 };
            const offers = { resource_class: 'CUSTOM_NPU', traits: [], attach_handles: [handle] };
            const all = { ...about, vendor: '1ae0', product: '0001', model: 'NPU' };
            return { devices: { '${card}': { ...all, offers, regions: [], ${more} } } };
          },
          ${members}
        };
      },
    });`;
}

const host = perTest(createCommandHost);

function linesOf(output: string): string[] {
  return output.trim().split('\n');
}

describe('self-test', () => {
  it('tells what the host shows, and changes neither the host nor the state', async () => {
    host.offer({ address: card, clean: 'reset' });
    const before = snapshotOf(host.tree.root);
    const { code, output } = await host.agent(['self-test']);
    expect(linesOf(output)).toEqual([
      'seen      pci: The host is as the settings say.',
      expect.stringMatching(/^seen {6}pci: Devices that discovery finds: 1, in \d+ ms\.$/),
      expect.stringMatching(/: Is offered as 1 CUSTOM_PCI, vendor \w+, product \w+\.$/),
      '3 seen, 0 not seen, 0 failed',
    ]);
    expect(code).toBe(0);
    expect(snapshotOf(host.tree.root)).toEqual(before);
    expect(existsSync(host.state)).toBe(false);
  });

  it('tells what is not offered and why, and what the host lacks', async () => {
    host.offer({ vendor_id: '10de', product_id: '2236', virtual_functions: 2 });
    const { code, output } = await host.agent(['self-test']);
    expect(output).toContain(
      'not seen  pci: Changes that the host needs: 1. The command plan prints them.\n',
    );
    expect(output).toContain('not seen  pci: Devices that discovery finds: 0');
    expect(code).toBe(0);
  });

  it.each([
    ["health: { state: 'unhealthy', reason: 'is hot' }", 'Is unhealthy: it is hot.'],
    ['model: 7', 'The description is not valid: model: '],
    ['firmware: String(calls)', 'Is described in another way by the next discovery.'],
  ])('fails for a device with %s', async (more, sentence) => {
    host.haveDriver('npu', cardDriver({ more }));
    const { code, output } = await host.agent(['self-test']);
    expect(output).toContain(`FAILED    npu ${card}: ${sentence}`);
    expect(code).toBe(1);
  });

  it('has the observations of the driver, and fails with one of them', async () => {
    const seen = "{ outcome: 'seen', what: 'The tool prints JSON.' }";
    const failed = `{ outcome: 'failed', what: 'It\\u001b[2J hangs.', address: '${card}' }`;
    const members = `examine: async () => [${seen}, ${failed}],`;
    host.haveDriver('npu', cardDriver({ members }));
    const { code, output } = await host.agent(['self-test']);
    expect(output).toContain('seen      npu: The tool prints JSON.\n');
    expect(output).toContain(`FAILED    npu ${card}: It?[2J hangs.\n`);
    expect(code).toBe(1);
  });

  it('gives drivers a copy of their folders', async () => {
    const members = `examine: async () => {
      const { appendFileSync, readFileSync } = await import('node:fs');
      appendFileSync(directory + '/record', ' and more');
      return [{ outcome: 'seen', what: readFileSync(directory + '/record', 'utf8') }];
    },`;
    host.haveDriver('npu', cardDriver({ members }));
    mkdirSync(join(host.state, 'drivers', 'npu'), { recursive: true });
    writeFileSync(join(host.state, 'drivers', 'npu', 'record'), 'kept');
    expect((await host.agent(['self-test'])).output).toContain('npu: kept and more\n');
    expect(readFileSync(join(host.state, 'drivers', 'npu', 'record'), 'utf8')).toBe('kept');
  });
});

describe('self-test --erase', () => {
  const erase = (address = card) => host.agent(['self-test', '--erase', address]);
  const cleaning = `clean: async () => {
    await hardware.writeText('${card}', 'bus/pci/devices/${card}/enable', '1');
    return { cleaned_by: 'reset' };
  },`;
  const enable = () => readFileSync(join(host.tree.root, `bus/pci/devices/${card}/enable`), 'utf8');
  beforeEach(() => {
    host.haveDriver('npu', cardDriver({ members: cleaning }));
    host.tree.addFunction({ address: card }).write(`${host.tree.pathOf(card)}/enable`, '0');
  });

  it('cleans one handle, with the evidence of the driver', async () => {
    const { code, output } = await erase();
    expect(linesOf(output)).toEqual([
      `seen      npu ${card}: A handle is cleaned, with the evidence {"cleaned_by":"reset"}.`,
      `seen      npu ${card}: Is described as before.`,
      '2 seen, 0 not seen, 0 failed',
    ]);
    expect(code).toBe(0);
    expect(enable()).toBe('1');
  });

  it('fails if the device is not clean', async () => {
    const members = "clean: async () => { throw new Error('EIO'); },";
    host.haveDriver('npu', cardDriver({ members }));
    const { code, output } = await erase();
    expect(output).toContain(`FAILED    npu ${card}: The test of the handle ended: EIO.\n`);
    expect(code).toBe(1);
  });

  it.each([
    [
      'names the card, also while no agent runs',
      JSON.stringify({ version: 1, drivers: { pci: [card] } }),
      `${card} is offered to guests, whose data would be erased.`,
    ],
    [
      'cannot be read',
      '{"version":1,"drivers":{"pci":["0000',
      'offered.json, the list of offered functions, is not valid.',
    ],
  ])('erases nothing while the list of offered functions %s', async (_what, list, reason) => {
    mkdirSync(host.state);
    writeFileSync(join(host.state, 'offered.json'), list);
    const { code, output } = await erase();
    expect(output).toContain(`Nothing is erased: ${reason}\n`);
    expect(code).toBe(1);
    expect(enable()).toBe('0');
  });

  it('names the devices that it could erase, if no driver offers the address', async () => {
    const { code, output } = await erase('0000:aa:00.0');
    expect(output).toBe(`Nothing is erased: No driver offers 0000:aa:00.0; these are: ${card}.\n`);
    expect(code).toBe(1);
  });

  it.each([
    [['--now'], 'self-test takes --erase ADDRESS only, so "--now" is not allowed.'],
    [['--erase'], '--erase takes one PCI address, such as 0000:3b:00.0'],
    [['--erase', '../../etc'], '--erase takes one PCI address, such as 0000:3b:00.0'],
    [['--erase', card, card], '--erase takes one PCI address, such as 0000:3b:00.0'],
  ])('%j is refused with 2 and a sentence', async (args, sentence) => {
    const { code, output } = await host.agent(['self-test', ...args]);
    expect(output).toContain(`cyborg-agent: ${sentence}`);
    expect(code).toBe(2);
  });
});

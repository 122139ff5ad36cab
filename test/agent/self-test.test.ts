// The agent's command self-test, as a process on a made host.
//
// @module-tag long

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { parseHost } from '#agent/record/host-record.ts';
import { openReport } from '#agent/self-test/report.ts';
import { sleepingClock } from '#test/support/hosts/driver-host.ts';
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
    [
      "health: { state: 'unhealthy', reason: 'is hot', since: '2026-07-01T00:00:00Z' }",
      'Is unhealthy: it is hot.',
    ],
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
    [['--report'], '--report takes one path, of a file that does not exist yet.'],
    [['--now'], 'self-test takes --erase ADDRESS or --report FILE, so "--now" is not allowed.'],
    [['--erase'], '--erase takes one PCI address, such as 0000:3b:00.0'],
    [['--erase', '../../etc'], '--erase takes one PCI address, such as 0000:3b:00.0'],
    [['--erase', card, card], '--erase takes one PCI address, such as 0000:3b:00.0'],
  ])('%j is refused with 2 and a sentence', async (args, sentence) => {
    const { code, output } = await host.agent(['self-test', ...args]);
    expect(output).toContain(`cyborg-agent: ${sentence}`);
    expect(code).toBe(2);
  });
});

describe('self-test --report', () => {
  const file = () => join(host.state, '..', 'report.txt');
  const report = () => host.agent(['self-test', '--report', file()]);

  it('writes what it has seen, and a record that can be added, without secrets', async () => {
    delete host.environment.CYBORG_AGENT_DRIVERS;
    const serial = 'S6ESNX0R123456';
    host.tree
      .addFunction({ address: '0000:c1:00.0', vendor: '144d', classCode: '010802', driver: 'nvme' })
      .write(`${host.tree.pathOf('0000:c1:00.0')}/nvme/nvme777/serial`, `${serial}\n`)
      .link('class/nvme/nvme777', `${host.tree.pathOf('0000:c1:00.0')}/nvme/nvme777`);
    const before = snapshotOf(host.tree.root);
    const { output } = await report();
    expect(output).toContain(`The report is in ${file()}: read it before you send it.\n`);
    const text = readFileSync(file(), 'utf8');
    const addresses = parseHost(text).functions.map(({ address }) => address);
    expect(addresses).toContain('0000:c1:00.0');
    expect(text).toMatch(/^# Self-test of cyborg-agent \S+, \d{4}-\d\d-\d\d\n# kernel \S+ /);
    expect(text).toContain('# settings: none, so all devices as a whole\n');
    expect(text).toMatch(/^# not seen {2}nvme 0000:c1:00\.0: Is not offered: it /m);
    expect(text).toMatch(/^# (seen {6}|not seen {2})nvme: .*nvme/m);
    expect(text).toMatch(/^# took \d+ ms: nvme discover$/m);
    expect(text).not.toContain(serial);
    expect(snapshotOf(host.tree.root)).toEqual(before);
  });

  it('has what the drivers of the settings say, without serial numbers', async () => {
    const what = 'It is S-123456 of cmp1.example, beside S-777777.';
    const seen = JSON.stringify({ outcome: 'seen', what });
    host.tree.write('class/nvme/nvme777/serial', 'S-777777   \n');
    const members = `examine: async () => [${seen}],`;
    host.haveDriver('npu', cardDriver({ more: "identity: 'S-123456',", members }));
    expect((await report()).output).toContain(`npu: ${what}\n`);
    const text = readFileSync(file(), 'utf8');
    expect(text).toContain('# seen      npu: It is <name> of <name>, beside <name>.\n');
    expect(text).toContain('# settings: of the operator\n');
  });

  it('replaces no file', async () => {
    host.offer({ address: card });
    writeFileSync(file(), 'mine');
    const { code, output } = await report();
    expect(output).toBe(`cyborg-agent: ${file()} exists: a report goes into a new file.\n`);
    expect(code).toBe(1);
    expect(readFileSync(file(), 'utf8')).toBe('mine');
  });

  it('ends what takes longer than its ten minutes', async () => {
    const directory = join(host.state, '..');
    const config = { sysfsRoot: host.tree.root, procRoot: '/proc', hostname: 'cmp1', stage: 'x' };
    const clock = sleepingClock({ nowMs: 0 });
    const { watch, save } = await openReport(join(directory, 'late.txt'), config, clock);
    const hangs = watch({ name: 'npu', discover: () => new Promise(() => {}) });
    await expect(hangs.discover()).rejects.toThrow('the 10 minutes of a report are over');
    await save();
    expect(readFileSync(join(directory, 'late.txt'), 'utf8')).toContain('ms: npu discover\n');
  });
});

// The table of edge-agent/drivers/README.md says what the drivers do.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { systemClock } from '#agent/clock.ts';
import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import { ownDrivers } from '#agent/drivers/index.ts';
import { openSysfs } from '#agent/sysfs/root.ts';
import { deviceTypes } from '#core/shapes/vocabulary/words.ts';
import { ownFixtures } from '#test/drivers/fixtures.ts';
import { guest } from '#test/openstack/guest/scenarios.ts';
import { silentLog } from '#test/support/hosts/agent.ts';

const page = new URL('../../edge-agent/drivers/README.md', import.meta.url);

describe('the table of drivers', async () => {
  const fixtures = await ownFixtures();
  const [, table = ''] = readFileSync(page, 'utf8').split(/^\| hardware \|.*\n\|---.*\n/m);
  const rows = (table.split('\n\n')[0] ?? '')
    .trim()
    .split('\n')
    .map((line) => line.slice(2, -2).split(' | '))
    // The driver's name links to its page.
    .map(([hardware, driver = '', ...rest]) => [hardware, driver.split(/[[\]]/)[1], ...rest]);
  const context = {
    sysfs: openSysfs('/nowhere'),
    clock: systemClock,
    directory: '/nowhere/state',
    bootId: 'x',
    log: silentLog,
  } as unknown as DriverContext;
  const driverNames = ownDrivers.map(({ name }) => name);

  it('has the drivers that there are', () => {
    expect([...new Set(rows.map(([, driver]) => driver))].sort()).toEqual(
      driverNames.map((name) => `\`${name}\``).sort(),
    );
  });

  it('says of each driver whether it makes mdevs and programs regions and firmware', () => {
    // What driver pci prepares are partitions of NVLink.
    for (const { fixture } of fixtures) {
      const { module, settings } = fixture;
      const made = module.configure(settings);
      if ('faults' in made) throw new Error(JSON.stringify(made));
      const driver = made.create(context);
      const isFake = module.name.startsWith('fake');
      const yes = isFake ? 'fake driver only' : 'yes';
      for (const row of rows.filter(([, each]) => each === `\`${module.name}\``)) {
        const [, , discover, , , mdev, program, firmware, , seenOn] = row;
        expect([discover, mdev, program], module.name).toEqual([
          yes,
          driver.prepare && module.name !== 'pci' ? yes : 'no',
          driver.images ? yes : 'no',
        ]);
        // Some drivers have components by their settings alone.
        if (driver.components) expect(firmware, module.name).toBe('yes');
        expect(isFake ? seenOn : 'no hardware', module.name).toBe('no hardware');
      }
    }
  });

  it('says of a driver that a guest uses its devices if a scenario of npm run test:guest does', () => {
    const { scenarios } = guest({ cleans: true });
    const used = new Map(scenarios.flatMap(({ uses = {} }) => Object.entries(uses)));
    for (const [, name = '', ...cells] of rows) {
      expect(cells[6], name).toBe(used.get(name.replaceAll('`', '')) ?? 'no');
    }
  });

  it('has a row for each device type that pci finds', () => {
    const named = rows
      .filter(([, driver]) => driver === '`pci`')
      .map(([hardware = '']) => hardware);
    for (const type of deviceTypes) expect(named.join()).toContain(type);
  });
});

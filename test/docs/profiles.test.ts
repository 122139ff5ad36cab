// The groups of device profiles that the pages print: each fits a device that a driver reports
// of a recorded host, or a simulated one.

import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ownDrivers } from '#agent/drivers/index.ts';
import { parseHost } from '#agent/record/host-record.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { groupResources, groupTraits } from '#core/domain/profile/device-profile.ts';
import { buildHost } from '#test/hosts/build-host.ts';
import { reportedDevices } from '#test/hosts/offer-host.ts';

const root = join(import.meta.dirname, '../..');
const records = join(root, 'test/hosts/records');

async function simulatedDevices(): Promise<readonly ReportedDevice[]> {
  const host = buildHost(parseHost(''));
  try {
    const context = await host.context();
    const found = ownDrivers
      .filter(({ name }) => name.startsWith('fake'))
      .map(async (module) => {
        const configured = module.configure(undefined);
        if ('faults' in configured) throw new Error(JSON.stringify(configured.faults));
        return Object.values((await configured.create(context).discover()).devices);
      });
    return (await Promise.all(found)).flat();
  } finally {
    host.remove();
  }
}

/** A group in a page, as JSON. */
const printed = /\{\s*"resources:[^{}]*\}/g;

it('each printed group fits a device', async () => {
  const recorded = readdirSync(records).map((file) =>
    reportedDevices(parseHost(readFileSync(join(records, file), 'utf8'))),
  );
  const devices = [...(await Promise.all(recorded)).flat(), ...(await simulatedDevices())];
  const offers = devices.flatMap((each) => [
    ...(each.offers ? [each.offers] : []),
    ...each.regions,
  ]);
  const groups = globSync(['README.md', 'docs/**/*.md'], { cwd: root }).flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(printed)].map(([text]) => [page, text]),
  );
  const fitsNothing = groups.filter(([, text = '']) => {
    const group = JSON.parse(text);
    const [[resourceClass = '', amount = 0] = []] = Object.entries(groupResources(group));
    const traits = groupTraits(group, 'required');
    return !offers.some(
      (each) =>
        each.resource_class === resourceClass &&
        each.attach_handles.length >= amount &&
        traits.every((trait) => each.traits.includes(trait)),
    );
  });
  expect(groups.length).toBeGreaterThan(10);
  expect(fitsNothing).toEqual([]);
});

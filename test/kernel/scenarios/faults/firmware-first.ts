// Errors of PCIe on a host whose firmware handles them first: the kernel's own code prints the
// record of the firmware, and the registers that are in it.

import assert from 'node:assert/strict';
import { untilHealth, untilIncident } from '#test/kernel/faults.ts';
import type { Group, Scenario } from '#test/kernel/scenario.ts';
import { untilProducts } from '#test/kernel/servers.ts';
import type { Stage } from '#test/kernel/stage.ts';

const hostname = 'kernel-8.example';
/** A function of fake_pci, and the NVMe controller, which is below a root port. */
const [card, disk] = ['0001:00:00.0', '0000:01:00.0'] as const;
/** Bits of the register Uncorrectable Error Status; only the second one is fatal. */
const [unsupportedRequest, malformedPacket] = ['00100000', '00040000'];
const inRecord = 'has an uncorrectable PCIe error in a record of the firmware';
const fatalInRecord = 'has a fatal PCIe error in a record of the firmware';
const fatalByRegisters = 'has had a fatal PCIe error, which the firmware reported';

async function report({ guest }: Stage, address: string, severity: string, status: string) {
  await guest.write('/sys/module/fake_cper/parameters/report', `${address} ${severity} ${status}`);
}

const scenarios: readonly Scenario[] = [
  {
    name: 'an error that the firmware has corrected is no fault, nor is one that a program writes',
    run: async (stage) => {
      const { guest, cloud } = stage;
      await stage.startAgent({
        drivers: ['pci'],
        pci: {
          allow_list: [
            { vendor_id: '10de', resource_class: 'PGPU' },
            { class: '0108', resource_class: 'CUSTOM_SSD' },
          ],
        },
      });
      await untilProducts(cloud, hostname, ['2331', '0010']);
      await report(stage, disk, 'corrected', '0');
      const log = await guest.run('dmesg');
      assert.match(log, /\{1\}\[Hardware Error\]: event severity: corrected/);
      const forged = [
        'event severity: fatal',
        ' Error 0, type: fatal',
        '  section_type: PCIe error',
        `  device_id: ${card}`,
        '  vendor_id: 0x10de, device_id: 0x2331',
      ];
      for (const field of forged) {
        await guest.write('/dev/kmsg', `<3>{7}[Hardware Error]: ${field}`);
      }
      // The agent reads every two seconds, and reports at once.
      await new Promise((resolve) => setTimeout(resolve, 10_000));
      assert.deepEqual(await cloud.healthOf(hostname), []);
    },
  },
  {
    name: 'an error that the firmware calls recoverable is a warning, until its registers say fatal',
    run: async (stage) => {
      await report(stage, disk, 'recoverable', unsupportedRequest);
      const warned = await untilHealth(stage, inRecord);
      const log = await stage.guest.run('dmesg');
      assert.match(log, /nvme 0000:01:00\.0: (AER: )?aer_status: 0x00100000/);
      await report(stage, disk, 'recoverable', malformedPacket);
      const seen = await untilIncident(stage, fatalByRegisters, 20);
      return `degraded ${warned} after the record, incident ${seen} after the fatal one`;
    },
  },
  {
    name: 'a fatal error in a record of the firmware is an incident of its device alone',
    run: async (stage) => {
      await report(stage, card, 'fatal', malformedPacket);
      const seen = await untilIncident(stage, fatalInRecord, 20);
      const reasons = await stage.cloud.healthOf(hostname);
      assert.deepEqual([...reasons].sort(), [fatalInRecord, fatalByRegisters].sort());
      return `incident ${seen} after the record`;
    },
  },
];

export const firmwareFirst: Group = {
  name: 'Firmware first',
  hostname,
  prepare: async ({ guest }) => {
    await guest.run('modprobe', 'fake_pci', 'devs=10de:2331:030200', 'behind=0000:00:04.0');
    await guest.run('modprobe', 'fake_cper');
  },
  scenarios,
};

// What the driver asks of iproute2, and what it must make of the answer. The recorder asks the
// kernel of test/kernel/: its driver igb has the network card of QEMU, and `fake_nic` of that
// suite the card with devlink.

import { readLink, setFunction } from '#agent/drivers/nic/link.ts';
import { readFirmwareVersions, readReload } from '#agent/hardware/devlink.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';

export const link = { address: '0000:02:00.0', name: 'eth1' };
export const flashed = '0001:00:00.0';

export interface Iproute2Case {
  readonly name: string;
  /** What `ip link set dev NAME` is given before. */
  readonly before?: readonly (readonly string[])[];
  readonly act: (hardware: Hardware) => Promise<unknown>;
  readonly expected: unknown;
}

const linkDeps = (hardware: Hardware) => ({ hardware, sysfs: {} as Sysfs });
const fn = { address: link.address } as PciFunction;
const untouched = {
  mac: '00:00:00:00:00:00',
  vlan: '0',
  max_tx_rate: 0,
  min_tx_rate: 0,
  spoof_check: true,
  trust: false,
  link_state: 'auto',
};
const set = (name: string, ...args: readonly string[]): Iproute2Case => ({
  name: `set ${name}`,
  act: (hardware) => setFunction(linkDeps(hardware), fn, link.name, ['vf', '0', ...args]),
  expected: undefined,
});
const card = (hardware: Hardware) => ({ hardware, address: flashed });

export const iproute2Cases: readonly Iproute2Case[] = [
  {
    name: 'link whose functions have no settings',
    act: (hardware) => readLink(linkDeps(hardware), fn, link.name),
    expected: {
      name: link.name,
      isUp: true,
      hasCarrier: true,
      functions: new Map([
        [0, untouched],
        [1, untouched],
      ]),
    },
  },
  {
    name: 'link whose functions have settings',
    before: [
      ['vf', '1', 'mac', '02:11:22:33:44:55'],
      ['vf', '1', 'vlan', '100', 'qos', '3'],
      ['vf', '1', 'spoofchk', 'off'],
      ['vf', '1', 'trust', 'on'],
    ],
    act: async (hardware) => (await readLink(linkDeps(hardware), fn, link.name)).functions.get(1),
    expected: {
      ...untouched,
      mac: '02:11:22:33:44:55',
      vlan: '100 qos 3',
      spoof_check: false,
      trust: true,
    },
  },
  set('trust', 'trust', 'on'),
  set('MAC address', 'mac', '02:11:22:33:44:66'),
  set('VLAN', 'vlan', '0'),
  set('rates', 'min_tx_rate', '0', 'max_tx_rate', '0'),
  set('spoof check', 'spoofchk', 'on'),
  {
    ...set('link state, which the card cannot', 'state', 'auto'),
    expected: 'RTNETLINK answers: Operation not supported',
  },
  {
    name: 'versions of firmware',
    act: (hardware) => readFirmwareVersions(card(hardware)),
    expected: { running: { 'fw.mgmt': '1.0' }, stored: { 'fw.mgmt': '1.0' } },
  },
  {
    name: 'reloads of a card',
    act: (hardware) => readReload(card(hardware)),
    expected: { isOffered: true, hasFailed: false },
  },
  {
    name: 'versions of a card without devlink',
    act: (hardware) =>
      readFirmwareVersions({ hardware, address: link.address }).catch(
        (error: Error) => error.message,
      ),
    expected: 'EIO: devlink dev info failed: kernel answers: No such device',
  },
];

// What the scenarios of lost devices do on the host, and what operators then see.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Guest } from '#test/kernel/machine/guest.ts';
import { hardwareHost } from '#test/openstack/hardware-node.ts';
import { operatorOf, type Stage } from '#test/openstack/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';
import { type GuestNode, nvme } from './node.ts';
import { withinSeconds } from './tenant.ts';

const records = '/var/lib/cyborg-agent/servers.list';
const hook = join(import.meta.dirname, '../../../edge-agent/libvirt-hook.sh');
const hookFile = '/etc/libvirt/hooks/qemu';

/** As Nova defines it. */
export const hostdev = `<hostdev mode='subsystem' type='pci' managed='yes'>
  <source><address domain='0x0000' bus='0x01' slot='0x00' function='0x0'/></source>
</hostdev>`;
const hostdevFile = '/tmp/hostdev.xml';

/** Registers of QEMU's ACPI hot-plug on q35: the bus, what to eject, and the ejection. */
const ports = { bus: '0xcd0', down: '0xcc4', eject: '0xcc8' };
const busesMax = 32;

/** @returns the seconds until an incident of the node has the words, or until there is none */
export async function untilSaid(stage: Stage, words?: string): Promise<string> {
  const startedAt = performance.now();
  const operator = await operatorOf(stage);
  await eventually(
    async () => {
      const path = '/incidents?kind=device-not-attached';
      const { incidents } = (await operator.ask('GET', path)).body;
      return incidents.filter(({ hostname }) => hostname === hardwareHost);
    },
    (incidents) =>
      words === undefined
        ? incidents.length === 0
        : incidents.some(({ reason }) => reason.includes(words)),
    withinSeconds,
  );
  return secondsSince(startedAt);
}

/** Waits until the agent has seen the server with its device. */
export async function untilRecorded({ host: { guest } }: GuestNode, id: string): Promise<void> {
  await eventually(
    () => guest.tryRun('cat', records),
    ({ stdout }) => stdout.includes(`${id} ${nvme}`),
    withinSeconds,
  );
}

/** Takes the device out of a running server. Its guest has no ACPI, so this ejects for it. */
export async function unplug({ host: { guest } }: GuestNode, id: string): Promise<void> {
  await changeDevice(guest, 'detach-device', id, '--live');
  const tell = (command: string) =>
    guest.run('virsh', 'qemu-monitor-command', id, '--hmp', command);
  for (let bus = 0; bus < busesMax; bus += 1) {
    await tell(`o /w ${ports.bus} ${bus}`);
    const [, slots = '0'] = /= 0x([0-9a-f]+)/.exec(await tell(`i /w ${ports.down}`)) ?? [];
    if (Number.parseInt(slots, 16) === 0) continue;
    await tell(`o /w ${ports.eject} 0x${slots}`);
    break;
  }
  await eventually(
    () => hasDevice(guest, id),
    (has) => !has,
  );
}

export async function changeDevice(
  guest: Guest,
  command: 'attach-device' | 'detach-device',
  id: string,
  where: '--live' | '--config',
): Promise<void> {
  await guest.save(hostdevFile, hostdev);
  await guest.run('virsh', command, id, hostdevFile, where);
}

/** Whether the server, which runs or not, has a device of the host. */
export async function hasDevice(guest: Guest, id: string): Promise<boolean> {
  return (await guest.run('virsh', 'dumpxml', id)).includes('<hostdev');
}

export async function installHook(node: GuestNode): Promise<void> {
  const { guest } = node.host;
  await guest.run('mkdir', '-p', '/etc/libvirt/hooks');
  await guest.save(hookFile, readFileSync(hook));
  await guest.run('chmod', '755', hookFile);
  await node.restartLibvirt();
}

/** As docs/agent/libvirt-hook.md says for one start: libvirtd goes on. */
export async function removeHook({ host: { guest } }: GuestNode): Promise<void> {
  await guest.run('rm', hookFile);
}

/** What the hook says when it refuses the server's start. */
export function sentenceOf(id: string): RegExp {
  return new RegExp(`cyborg-agent: server ${id} would start without ${nvme}`);
}

export function secondsSince(startedAt: number): string {
  return ((performance.now() - startedAt) / 1000).toFixed(1);
}

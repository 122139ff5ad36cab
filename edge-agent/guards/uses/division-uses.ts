// Which devices are divided for guests: by live mdevs, or by a vGPU type in NVIDIA's vendor VFIO.

import { findOwner } from '#agent/guards/owner.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import type { Note } from './uses.ts';

export async function noteDivisions(
  { sysfs, hardware }: { readonly sysfs: Sysfs; readonly hardware: Hardware },
  functions: ReadonlyMap<string, PciFunction>,
  note: Note,
): Promise<undefined> {
  for (const uuid of sysfs.list('bus/mdev/devices') ?? []) {
    const parent = findOwner(sysfs, `bus/mdev/devices/${uuid}`);
    if (parent !== undefined && functions.has(parent)) note(parent, { kind: 'mdev', uuid });
  }
  await Promise.all(
    [...functions.values()].map(async ({ address, path, boundDriver }) => {
      if (boundDriver !== 'nvidia') return;
      if (!sysfs.list(`${path}/nvidia`)?.includes('current_vgpu_type')) return;
      const type = await hardware
        .readText(address, `${path}/nvidia/current_vgpu_type`)
        .catch((error: unknown) => `unknown, ${String(error)}`);
      if (type !== '0') note(address, { kind: 'vgpu-type', type });
    }),
  );
}

// The drivers of the devices that each simulated compute node has: a NIC, a GPU and an FPGA.

import type { Driver, HandleWork } from '#agent/drivers/contract/driver.ts';
import { ImageRefused } from '#agent/images/image-check.ts';
import {
  described,
  describedRegion,
  discoveryOf,
  pciHandles,
} from '#simulation/world/drivers/described.ts';
import {
  fpgaAddress,
  gpuAddress,
  type Mdev,
  mdevType,
  nicAddress,
  regionInterface,
  secondRegion,
} from '#simulation/world/hardware.ts';
import type { MakeDriver } from '#simulation/world/host.ts';

export const nicDriver: MakeDriver = (process, hardware, { timeline, handles }) => ({
  name: 'sim_nic',
  discover: () =>
    timeline.effect(process, 'device read', () =>
      discoveryOf(hardware, nicAddress, {
        ...described(nicAddress, 'sim_nic', 'NIC', '0x15b3'),
        offers: {
          resource_class: 'CUSTOM_NIC',
          traits: ['CUSTOM_SIM_NIC'],
          attach_handles: pciHandles(handles.nic + hardware.nic.more, '0c', hardware.nic),
        },
      }),
    ),
});

export const gpuDriver: MakeDriver = (process, hardware, { timeline, faults, handles }) => {
  const look = <T>(read: () => T) =>
    timeline.effect(process, 'device read', () => {
      const isBlind = timeline.now() < hardware.blindUntilMs;
      if (isBlind || faults.happens('device cannot be read')) throw new Error('EIO');
      return read();
    });
  const driver: Driver = {
    name: 'sim_gpu',
    discover: () =>
      look(() =>
        discoveryOf(hardware, gpuAddress, {
          ...described(gpuAddress, 'sim_gpu', 'GPU', '0x10de'),
          offers: {
            resource_class: 'VGPU',
            traits: ['CUSTOM_SIM_GPU'],
            attach_handles: Array.from({ length: handles.gpu }, (_, index) => ({
              type: 'MDEV' as const,
              info: { domain: '0000', bus: '0e', asked_type: mdevType, vgpu_mark: `${index}` },
              prepare: 'at-bind' as const,
              clean_seconds: 300,
            })),
          },
        }),
      ),
    find: (handle) =>
      look(() => {
        const mdev = hardware.mdevs.get(handle.uuid);
        if (!mdev) return { state: 'absent' };
        const isSame = mdev.type === mdevOf(handle).type && mdev.address === handle.address;
        return isSame ? { state: 'ready' } : { state: 'other', what: `type ${mdev.type}` };
      }),
    prepare: (handle) =>
      timeline.effect(process, 'device mdev create', () => {
        const mdev = mdevOf(handle);
        if (!hardware.present.has(gpuAddress)) throw new Error('ENODEV');
        if (hardware.isBroken || faults.happens('device refuses')) throw new Error('EIO');
        if (hardware.mdevs.has(mdev.uuid)) throw new Error('EEXIST');
        // The GPU has room for one mdev more than handles: the foreign one.
        if (hardware.mdevs.size > handles.gpu) throw new Error('ENOSPC');
        hardware.mdevs.set(mdev.uuid, mdev);
        return {};
      }),
    clean: ({ uuid }) =>
      timeline.effect(process, 'device mdev remove', () => {
        if (hardware.isBroken || faults.happens('device refuses')) throw new Error('EBUSY');
        if (!hardware.mdevs.delete(uuid)) throw new Error('ENODEV');
        hardware.unrecorded.add(uuid);
        return { removed: uuid };
      }),
  };
  return driver;
};

export const fpgaDriver: MakeDriver = (process, hardware, parts) => {
  const { timeline, faults, handles, images, violate, strip } = parts;
  const driver: Driver = {
    name: 'sim_fpga',
    discover: () =>
      timeline.effect(process, 'device read', () => {
        const image = images.find(({ id }) => id === hardware.image);
        return discoveryOf(hardware, fpgaAddress, {
          ...described(fpgaAddress, 'sim_fpga', 'FPGA', '0x8086'),
          regions: [
            {
              name: 'region0',
              kind: 'reconfigurable-region',
              resource_class: 'FPGA',
              traits: ['CUSTOM_SIM_FPGA'],
              'region-type-uuid': regionInterface,
              ...(image && { 'bitstream-id': image.id, 'function-uuid': image.functionUuid }),
              attach_handles: pciHandles(handles.fpga, '0d'),
            },
            ...(hardware.present.has(secondRegion) ? [describedRegion(secondRegion, '0f')] : []),
          ],
        });
      }),
    images: {
      check: async (imagePath, interfaceUuid) => {
        const image = images.find(({ id }) => id === imagePath);
        const isWrong = image?.interfaceUuid !== interfaceUuid;
        if (isWrong && !strip.isStripped('agent checks images'))
          throw new ImageRefused('for another interface');
      },
      write: ({ imageId, imagePath }) =>
        timeline.effect(process, 'device program', () => {
          const image = images.find(({ id }) => id === imagePath);
          if (image?.interfaceUuid !== regionInterface)
            violate('I9', `image ${imageId} was written without a check`);
          for (const { uuid, status, hasLostArqs } of hardware.regionUsers) {
            if (status === 'ACTIVE' && !hasLostArqs)
              violate('I9', `image ${imageId} is written while server ${uuid} uses the region`);
          }
          // An interrupted write leaves no valid image.
          hardware.image = undefined;
          if (hardware.isBroken || faults.happens('device refuses')) throw new Error('EIO');
          hardware.image = imageId;
        }),
    },
  };
  return driver;
};

function mdevOf({ address, uuid, info }: HandleWork): Mdev {
  return { address, type: info.asked_type ?? '', uuid };
}

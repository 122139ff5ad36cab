// Lines of kernel logs that people have posted, with the health of the devices they are about.

import { expect } from 'vitest';
import { aFaultHost } from './fault-host.ts';

export interface LoggedDevice {
  readonly address: string;
  readonly ids: string;
  /** Undefined where the driver's probe failed. */
  readonly driver: string | undefined;
  readonly classCode?: string;
  readonly below?: string;
  /** The name of an NVMe controller, which the kernel gives it at its probe. */
  readonly controller?: string;
}

export interface PublicLog {
  readonly url: string;
  readonly devices: readonly LoggedDevice[];
  readonly lines: readonly string[];
  /** The health of each device; undefined for no fault. */
  readonly states: readonly (string | undefined)[];
}

export const issues = 'https://github.com';

export const aGpu = (address: string, driver = 'nvidia', ids = '10de:2235'): LoggedDevice => ({
  address,
  driver,
  ids,
});
export const aCard = (
  address: string,
  driver: string | undefined,
  ids: string,
  classCode = '020000',
): LoggedDevice => ({ address, driver, ids, classCode });
export const aPort = (address: string, ids = '8086:2031'): LoggedDevice => ({
  address,
  ids,
  driver: 'pcieport',
  classCode: '060400',
});
export const aDisk = (address: string, controller = 'nvme0'): LoggedDevice => ({
  address,
  controller,
  ids: '144d:a804',
  driver: 'nvme',
  classCode: '010802',
});

/** Fields of a firmware's record, as the kernel prints them. */
export const hardwareError = (number: number, ...fields: readonly string[]) =>
  fields.map((field) => `{${number}}[Hardware Error]: ${field}`);

/** Reads the lines, and compares the health of each device. */
export async function expectStates({ devices, lines, states }: PublicLog): Promise<void> {
  const { tree, read } = aFaultHost();
  for (const { ids, controller: _, ...device } of devices) {
    const [vendor = '', product = ''] = ids.split(':');
    tree.addFunction({ ...device, vendor, product });
  }
  const probes = devices.flatMap(({ address, controller }) =>
    controller ? [`nvme ${controller}: pci function ${address}`] : [],
  );
  const faults = await read([...probes, ...lines], 20);
  expect(devices.map(({ address }) => faults.healthOf(address)?.state)).toEqual(states);
}

// What a driver of the operator gets, so that its file needs no import, and the types that its
// editor shows: `npm run driver:types` writes them.

import * as z from 'zod';
import { type DriverModule, defineDriver } from '#agent/drivers/contract/define-driver.ts';
import { readPciFunctions } from '#agent/sysfs/pci.ts';
import { parsePciAddress } from '#agent/sysfs/pci-address.ts';
import { mdevUuid } from '#core/contracts/report/mdev-uuids.ts';

export type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
export type {
  DescribedDevice,
  Discovery,
  Driver,
  Found,
  HandleWork,
  HostChange,
  Images,
  NotOffered,
  Observation,
  Prepared,
} from '#agent/drivers/contract/driver.ts';
export type { PciFunction } from '#agent/sysfs/pci.ts';
export type { ReportedHandle } from '#core/contracts/attach-handle.ts';
export type { Evidence } from '#core/contracts/jobs/job-document.ts';
export type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';

export const toolkit = { defineDriver, readPciFunctions, parsePciAddress, mdevUuid, z } as const;

/** The default export of a driver's file. */
export type MakeDriver = (toolkit: Toolkit) => DriverModule | Promise<DriverModule>;
export type Toolkit = typeof toolkit;

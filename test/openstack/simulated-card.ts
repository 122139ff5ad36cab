// A card of the first node with one virtual function: a directory in sysfs's form, which appears
// and goes while the agent runs.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '#test/support/suites/rest.ts';
import { ownProvider } from './providers.ts';
import type { Stage } from './stage.ts';

export const address = '0000:3f:00.0';
export const ids = { vendor_id: '8086', product_id: '154c' };
export const resourceClass = 'CUSTOM_DISPUTED';

const common = { vendor: ids.vendor_id, classCode: '020000' };

/** Entries of the allow-list of driver `pci`. */
export const disputedCards = [{ ...ids, virtual_functions: true, resource_class: resourceClass }];

/** The agent discovers it, and it is offered. */
export async function addCard(stage: Stage): Promise<void> {
  addFunctions(stage);
  await untilOffered(stage);
}

export function addFunctions(stage: Stage): void {
  stage.sysfs.addFunction({ ...common, address, product: '1572', driver: 'i40e' });
  addVirtualFunction(stage, 1);
}

export const virtualFunction = (number: number) => address.replace(/0$/, String(number));

export function addVirtualFunction({ sysfs }: Stage, number: number): void {
  const product = ids.product_id;
  const virtual = virtualFunction(number);
  sysfs.addFunction({ ...common, product, address: virtual, physicalFunction: address });
}

export function untilOffered(stage: Stage, total = 1) {
  return eventually(
    () => inventoryOf(stage),
    ({ status, body }) => status === 200 && body.total === total && body.reserved === 0,
    150,
  );
}

/** A write of 0 to sriov_numvfs. */
export function removeFunctions({ sysfs }: Stage): void {
  const functions = readdirSync(join(sysfs.root, 'bus/pci/devices'));
  const isVirtual = (each: string) => each !== address && each.startsWith(address.slice(0, -1));
  for (const each of functions.filter(isVirtual)) sysfs.removeFunction(each);
}

/** The card with all of its functions. */
export async function removeCard(stage: Stage): Promise<void> {
  removeFunctions(stage);
  stage.sysfs.removeFunction(address);
  await eventually(
    () => inventoryOf(stage),
    ({ status }) => status === 404,
  );
}

/** What Placement has of the card. */
const inventoryOf = (stage: Stage) =>
  stage.admin.placement.try('GET', `${ownProvider(stage, address)}/inventories/${resourceClass}`);

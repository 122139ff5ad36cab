// Firmware of NVMe devices: written to a slot that does not run, and then activated. Section
// numbers are those of the NVM Express Base Specification 1.4.
//
// INVARIANTS
// - The slot that runs is never written, so a device whose new firmware fails has the one before.
// - What the device may show afterwards is on disk before it is activated: other firmware than the
//   known one counts as that of a holder.

import { stat } from 'node:fs/promises';
import type { Activation, ComponentImage, Components } from '#agent/drivers/contract/driver.ts';
import { ImageRefused } from '#agent/images/image-check.ts';
import { type AtWork, allowedFunctionAt, type NvmeDeps, withController } from './access.ts';
import { type KnownControllers, waitForController } from './controllers.ts';
import {
  type Controller,
  commitFirmware,
  type FirmwareSlots,
  identify,
  readFirmwareSlots,
  run,
  type ToolDeps,
} from './tool.ts';

const component = 'firmware';
/** Images have some megabytes, and go in pieces of 4 KiB. */
const downloadMs = 15 * 60_000;
/** The controller checks the image and writes its flash. */
const commitMs = 10 * 60_000;
const resetMs = 130_000;

export function nvmeComponents(deps: NvmeDeps): Components {
  const { controllers, context } = deps;
  const factsOf = (address: string) => {
    const fn = allowedFunctionAt(deps, address);
    return fn && controllers.factsFor([fn]).get(address);
  };
  const checkComponent = ({ address, component: name }: ComponentImage) => {
    if (name === component && factsOf(address)?.firmware !== undefined) return;
    throw new Error(`The device at ${address} has no component ${name}.`);
  };
  return {
    list: async (address) => {
      const firmware = factsOf(address)?.firmware;
      return firmware === undefined ? [] : [{ name: component, version: toVersion(firmware) }];
    },
    check: async (image) => {
      checkComponent(image);
      const { size } = await stat(image.imagePath);
      if (size === 0 || size % 4 !== 0) {
        throw new ImageRefused(`The image has ${size} bytes, which is not a multiple of four.`);
      }
      // A device that has no slot to write would else count as one whose program has failed.
      await withController(deps, image.address, (at) => slotFor(image, at));
    },
    write: async (image, onProgress) => {
      checkComponent(image);
      await withController(deps, image.address, async (at) => {
        const { tool } = at;
        const slot = await slotFor(image, at);
        onProgress(0);
        await run(tool, downloadMs, 'fw-download', `--fw=${image.imagePath}`);
        onProgress(50);
        // The image replaces what the slot has, and is not activated (5.11).
        await commitFirmware(tool, commitMs, { slot, action: 0 });
        const { revisions } = await readFirmwareSlots(tool);
        const stored = revisions.get(slot);
        if (stored === undefined || toVersion(stored) !== image.version) {
          const shown = stored === undefined ? 'none' : toVersion(stored);
          throw new Error(`Slot ${slot} has version ${shown}, not ${image.version}.`);
        }
        onProgress(100);
      });
    },
    activate: async (image) => {
      checkComponent(image);
      return await withController(deps, image.address, async ({ tool, identity }) => {
        const { running, revisions } = await readFirmwareSlots(tool);
        const slots = [...revisions].filter(([, each]) => toVersion(each) === image.version);
        const [slot, revision] = slots.find(([each]) => each !== running) ?? slots[0] ?? [];
        if (slot === undefined || revision === undefined) {
          throw new Error(`No slot has version ${image.version}.`);
        }
        await controllers.awaitFirmware(image.address, revision);
        const activation = await activated(tool, identity, slot, () =>
          waitForController(context, image.address),
        );
        return await readBack(tool, controllers, activation, image, revision);
      });
    },
  };
}

/** @throws a sentence if the device takes no firmware */
async function slotFor(
  { address, version }: ComponentImage,
  { tool, identity }: AtWork,
): Promise<number> {
  // OACS bit 2: Firmware Commit and Firmware Image Download (5.15.2.2).
  if (!(identity.commands & 0x4)) {
    throw new Error(`The controller at ${address} takes no firmware by NVMe's own commands.`);
  }
  return chooseSlot(identity, await readFirmwareSlots(tool), version);
}

async function activated(
  tool: ToolDeps,
  { firmwareUpdates }: Controller,
  slot: number,
  untilReset: () => Promise<unknown>,
): Promise<Activation> {
  // FRMW bit 4: without a reset (5.15.2.2). Action 3 is at once, 2 at the next reset.
  const action = firmwareUpdates & 0x10 ? 3 : 2;
  const committed = await commitFirmware(tool, commitMs, { slot, action });
  if (committed === 'power cycle') return 'power-cycle';
  if (action === 2 || committed === 'controller reset') {
    await run(tool, resetMs, 'reset');
    await untilReset();
  }
  return 'active';
}

/** What the controller shows decides. */
async function readBack(
  tool: ToolDeps,
  controllers: KnownControllers,
  activation: Activation,
  { address }: ComponentImage,
  revision: string,
): Promise<Activation> {
  if (activation === 'power-cycle') return activation;
  const { firmware } = await identify(tool);
  if (firmware !== revision) return 'power-cycle';
  await controllers.keepFirmware(address, firmware);
  return 'active';
}

/** Pure. @throws a sentence if the device has no slot beside the one that runs */
export function chooseSlot(
  { firmwareUpdates }: Pick<Controller, 'firmwareUpdates'>,
  { running, revisions }: FirmwareSlots,
  version: string,
): number {
  // FRMW: bits 3:1 are the number of slots; bit 0: the first one is read-only (5.15.2.2).
  const count = (firmwareUpdates >> 1) & 0x7;
  const first = firmwareUpdates & 0x1 ? 2 : 1;
  const slots = Array.from({ length: count }, (_, index) => index + 1).filter(
    (slot) => slot >= first && slot !== running,
  );
  const isEmpty = (slot: number) => (revisions.get(slot) ?? '') === '';
  const isSame = (slot: number) => toVersion(revisions.get(slot) ?? '') === version;
  const chosen = slots.find(isSame) ?? slots.find(isEmpty) ?? slots[0];
  if (chosen !== undefined) return chosen;
  throw new Error(
    `The device has no firmware slot to write: it has ${count}, slot ${running} runs` +
      `${first === 2 ? ', and slot 1 is read-only' : ''}.`,
  );
}

/** Pure. Blanks are not part of a component's version. */
function toVersion(revision: string): string {
  return revision.replaceAll(/[^\x21-\x7e]/g, '_');
}

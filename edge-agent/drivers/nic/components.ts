// Firmware of network cards, as the operator's settings name it: by the kernel's devlink, which
// the driver of the card must offer.

import { stat } from 'node:fs/promises';
import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { ComponentPlace, Components } from '#agent/drivers/contract/driver.ts';
import {
  checkFirmwareFolder,
  flashFirmware,
  readFirmwareVersions,
  readReload,
  reloadFirmware,
} from '#agent/hardware/devlink.ts';
import { ImageRefused } from '#agent/images/image-check.ts';
import { reasonOf } from '#agent/log.ts';
import {
  cardIds,
  type PciFunction,
  readPciFunctionAt,
  readPciFunctions,
} from '#agent/sysfs/pci.ts';
import type { NicCard, NicComponent } from './settings.ts';
import { openKnownVersions } from './versions.ts';

interface NicComponentsDeps {
  readonly context: DriverContext;
  readonly cards: ReadonlyMap<string, NicCard>;
  readonly onReload: () => void;
  /** Gets the cards at which devlink works: another question to one of them would wait. */
  readonly busy: Set<string>;
}

export function nicComponents(deps: NicComponentsDeps): Components {
  const { context, cards, onReload, busy } = deps;
  const { sysfs, hardware, guards, log } = context;
  const shownBefore = openKnownVersions(context.directory, (address) => cards.has(address));
  /** Cards whose last read failed, with the reason: it is logged once. */
  const faults = new Map<string, string>();

  /** @throws HardwareError of a card that has not shown its versions before */
  const readRunning = async (fn: PciFunction) => {
    const { address } = fn;
    const before = await shownBefore.get(address, cardIds(fn));
    if (busy.has(address)) {
      if (before) return before;
      throw new Error(`The card ${address} is being programmed.`);
    }
    try {
      const { running } = await readFirmwareVersions({ hardware, address });
      await shownBefore.keep(address, cardIds(fn), running);
      faults.delete(address);
      return running;
    } catch (error) {
      if (!before) throw error;
      const reason = reasonOf(error);
      if (faults.get(address) !== reason) log.warn('Firmware not read', { address, reason });
      faults.set(address, reason);
      return before;
    }
  };

  const find = ({ address, component }: ComponentPlace) => {
    const fn = readPciFunctionAt(sysfs, address);
    const setting = fn && cards.get(address)?.components.find(({ name }) => name === component);
    if (!setting) throw new Error(`The device at ${address} has no component ${component}.`);
    const { boundDriver } = fn;
    if (boundDriver === undefined || isVfio(fn)) {
      const driver = boundDriver ?? 'no driver';
      throw new Error(`The card ${address} is on ${driver}, and devlink needs its own driver.`);
    }
    return { fn, setting, card: { hardware, address } };
  };
  const holding = async <T>(address: string, act: () => Promise<T>): Promise<T> => {
    busy.add(address);
    try {
      return await act();
    } finally {
      busy.delete(address);
    }
  };
  /** @throws a sentence if a guest has one of them, or the host with `countsHostUse` */
  const checkFree = async (functions: readonly PciFunction[], countsHostUse: boolean) => {
    const [held] = await guards.heldBy(functions, countsHostUse);
    if (held) throw new Error(`The device at ${held[0]} ${held[1]}.`);
  };
  /** A reload starts the firmware of the whole card anew, which other ports have, too. */
  const checkReload = async (fn: PciFunction) => {
    const all = readPciFunctions(sysfs, () => {});
    const slot = fn.address.slice(0, -1);
    const ports = all.filter(({ address }) => address.startsWith(slot));
    const named = new Set(ports.map(({ address }) => address));
    const virtual = all.filter(({ physicalFunction = '' }) => named.has(physicalFunction));
    await checkFree([...ports, ...virtual], true);
  };
  return {
    list: async (address) => {
      const settings = cards.get(address)?.components ?? [];
      const fn = readPciFunctionAt(sysfs, address);
      if (!fn || settings.length === 0) return [];
      const running = isVfio(fn)
        ? await shownBefore.get(address, cardIds(fn))
        : await readRunning(fn);
      if (!running) return [];
      return settings.map((setting) => ({
        name: setting.name,
        version: shownVersion(setting, running),
      }));
    },
    check: async (image) => {
      const { fn, setting, card } = find(image);
      if ((await stat(image.imagePath)).size === 0) throw new ImageRefused('The image is empty.');
      await checkFirmwareFolder(card, image.imagePath);
      if (setting.runs_after !== 'reload') return;
      if (!(await readReload(card)).isOffered) {
        throw new Error(
          `The driver ${fn.boundDriver} of ${fn.address} has no reload with fw_activate: ` +
            'set runs_after to power-cycle.',
        );
      }
      await checkReload(fn);
    },
    write: async (image, onProgress) => {
      const { fn, setting, card } = find(image);
      const virtual = readPciFunctions(sysfs, () => {}).filter(
        ({ physicalFunction }) => physicalFunction === fn.address,
      );
      await checkFree(virtual.length > 0 ? virtual : [fn], false);
      onProgress(0);
      await holding(fn.address, () => flashFirmware(card, image.imagePath, setting.flash));
      const { stored } = await readFirmwareVersions(card);
      const version = stored[setting.version];
      if (version !== undefined && version !== image.version) {
        throw new Error(`The card stores version ${version}, not ${image.version}.`);
      }
      onProgress(100);
    },
    activate: async (place) => {
      const { fn, setting, card } = find(place);
      if (setting.runs_after !== 'reload') return 'power-cycle';
      try {
        await checkReload(fn);
        await holding(fn.address, () => reloadFirmware(card));
        onReload();
        return 'active';
      } catch (error) {
        // A card that did not begin the reload awaits the power cycle.
        if ((await readReload(card)).hasFailed) throw error;
        log.warn('Firmware not reloaded', { address: fn.address, reason: reasonOf(error) });
        return 'power-cycle';
      }
    },
  };
}

/** Pure. */
function shownVersion(
  { version: name }: NicComponent,
  running: Readonly<Record<string, string>>,
): string {
  const version = running[name];
  if (version !== undefined) return version;
  const names = Object.keys(running).join(', ').slice(0, 120) || 'none';
  throw new Error(`devlink shows no running version ${name}, but ${names}`);
}

function isVfio({ boundDriver = '' }: PciFunction): boolean {
  return boundDriver.includes('vfio');
}

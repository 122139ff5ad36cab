// Holds: operators keep all devices like these from new binds, also those that hosts report later.
// Pure.

import * as z from 'zod';
import { InvalidInput } from '#core/domain/errors.ts';
import { derivedUuid } from '#core/domain/ids.ts';
import { pick, type Shaped } from '#core/shapes/derive/case.ts';
import { driverName } from '#core/shapes/derive/fields.ts';
import { deviceType, firmwareBaseline, holdMark } from '#core/shapes/device.ts';
import { type Device, type HoldMark, vendorId } from './device.ts';
import { modelOf } from './firmware/component-image.ts';

const holdTerm = '(<=|>=|<|>|=) ?[^\\s,<>=]{1,64}';

export const holdSelector = z
  .object({
    vendor: z.string().regex(/^[\w.-]{1,64}$/, 'must be a vendor id, such as 10de'),
    model: firmwareBaseline.shape.model,
    type: deviceType,
    driver: driverName,
    hostname: z.string().regex(/^[\x21-\x7e]{1,253}$/, "must be a host's name"),
    /** Each comparison must hold. */
    firmware: z
      .string()
      .regex(
        new RegExp(`^${holdTerm}(, ?${holdTerm}){0,3}$`),
        'must be a comparison, such as <1.2, or up to four with commas between: >=1.0,<1.2',
      ),
  })
  .partial();

/** A row attribute of the row that has all holds. */
export const deviceHold = holdMark.extend({ selector: holdSelector });

export type HoldSelector = Shaped<typeof holdSelector>;
export type DeviceHold = Shaped<typeof deviceHold>;

/** One row has them all. */
export const holdsMax = 100;

type Facts = Pick<Device, 'vendor' | 'product' | 'type' | 'driver' | 'hostname' | 'firmware'>;

/**
 * The selector with its ids as they are compared.
 *
 * @throws InvalidInput for one that would match all devices
 */
export function readSelector({ vendor, model, firmware, ...others }: HoldSelector): HoldSelector {
  const selector: HoldSelector = {
    ...(vendor !== undefined && { vendor: vendorId(vendor) }),
    ...(model !== undefined && { model: model.split(':').map(vendorId).join(':') }),
    ...others,
    ...(firmware !== undefined && { firmware: firmware.replaceAll(' ', '') }),
  };
  if (Object.keys(selector).length > 0) return selector;
  throw new InvalidInput(
    'selector: names nothing, and would match all devices: at least one of vendor, model, type, ' +
      'driver, hostname and firmware must be there.',
  );
}

/** The same selector is the same hold. */
export function holdId(selector: HoldSelector): string {
  const fields = Object.entries(selector).sort(([one], [other]) => (one < other ? -1 : 1));
  return derivedUuid('hold', JSON.stringify(fields));
}

export function matchesHold(device: Facts, { selector }: Pick<DeviceHold, 'selector'>): boolean {
  const { firmware, ...exact } = selector;
  const facts = { ...device, vendor: vendorId(device.vendor), model: modelOf(device) };
  const isLike = Object.entries(exact).every(
    ([name, value]) => facts[name as keyof typeof exact] === value,
  );
  return isLike && (firmware === undefined || isInRange(device.firmware, firmware));
}

/** The marks that the device must have, in the order of the holds' ids. */
export function marksFor(device: Facts, holds: readonly DeviceHold[]): HoldMark[] {
  return holds
    .filter((hold) => matchesHold(device, hold))
    .sort((one, other) => (one.id < other.id ? -1 : 1))
    .map((hold) => pick(holdMark, hold));
}

/** A device whose firmware is unknown is in no range. */
function isInRange(firmware: string | undefined, range: string): boolean {
  if (firmware === undefined) return false;
  return range.split(',').every((term) => {
    const version = term.replace(/^[<>=]+/, '');
    const order = Math.sign(compareVersions(firmware, version));
    return term.slice(0, -version.length).includes(order < 0 ? '<' : order > 0 ? '>' : '=');
  });
}

/**
 * Negative if the first one is older. Part by part, as vendors count: 1.10 is after 1.9, and 1.2
 * is the same as 1.2.0.
 */
export function compareVersions(one: string, other: string): number {
  const [parts, others] = [toParts(one), toParts(other)];
  for (let index = 0; index < Math.max(parts.length, others.length); index++) {
    const [part = '', otherPart = ''] = [parts[index], others[index]];
    // Without leading zeros the longer number is the greater, also a hexadecimal one.
    const order = part.length - otherPart.length || (part < otherPart ? -1 : 1);
    if (part !== otherPart) return order;
  }
  return 0;
}

function toParts(version: string): string[] {
  const parts = version
    .toLowerCase()
    .replace(/^v(?=[0-9])/, '')
    .split(/[^a-z0-9]+/);
  return parts.map((part) => part.replace(/^0+/, ''));
}

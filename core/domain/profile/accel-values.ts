// The keys `accel:…` of a group, and the form of their values.

import { InvalidInput } from '#core/domain/errors.ts';
import { sameLevels } from '#core/domain/pool/wholes.ts';
import { attributeName, attributeValue } from './group-attributes.ts';

const valueLengthMax = 255;

interface AccelForm {
  readonly pattern: RegExp;
  /** What a value must be. */
  readonly allowed: string;
}

const imageName: AccelForm = {
  pattern: /^[a-zA-Z0-9_.-]+$/,
  allowed: "letters, digits, '_', '-' and '.'",
};

/** The allowed accel: keys, with the form of their values. */
const accelForms: Readonly<Record<string, AccelForm>> = {
  bitstream_id: {
    pattern: /^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/,
    allowed: 'the uuid of an image, such as 1f8c3a2e-5b7d-4c9e-8a6f-0d1e2f3a4b5c',
  },
  // "Name of the bitstream in Glance, including the suffix that indicates bitstream type".
  bitstream_name: imageName,
  function_id: { pattern: /^[a-zA-Z0-9_-]+$/, allowed: "letters, digits, '_' and '-'" },
  function_name: imageName,
  attach_target: { pattern: /^(VM|host|none)$/, allowed: 'VM, host or none' },
  same: {
    pattern: new RegExp(`^(${sameLevels.join('|')})$`),
    allowed: `one of ${sameLevels.join(', ')}`,
  },
};

const attributeForm: AccelForm = {
  pattern: attributeValue,
  allowed: "letters, digits, '_', '-' and '.', or >= and an integer",
};

/** @throws InvalidInput unless the key and its value are allowed */
export function accelValue(key: string, value: string, where: string): string {
  const stated = Object.hasOwn(accelForms, key) ? accelForms[key] : undefined;
  const form = stated ?? (attributeName.test(key) ? attributeForm : undefined);
  if (!form) {
    const keys = Object.keys(accelForms).join(', ');
    throw new InvalidInput(
      `${where}: accel keys are ${keys}, attribute:NAME and preferred:trait:NAME.`,
    );
  }
  if (!form.pattern.test(value)) {
    throw new InvalidInput(
      `${where}: ${JSON.stringify(value)} is not a valid value of accel:${key}; it must be ${form.allowed}.`,
    );
  }
  if (value.length > valueLengthMax) {
    throw new InvalidInput(`${where}: the value is longer than ${valueLengthMax} characters.`);
  }
  return value;
}

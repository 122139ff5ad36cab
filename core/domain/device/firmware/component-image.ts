// What an image for a component of a device says of itself: properties in Glance, which an
// Ed25519 signature binds to the data. The form of what is signed is in docs/operations.md.

import { createPublicKey, verify } from 'node:crypto';
import { vendorId } from '#core/domain/device/device.ts';

/** An image as Glance describes it. */
export interface DescribedImage {
  readonly id: string;
  /** Glance's own digest of the data. */
  readonly hash?: { readonly algorithm: string; readonly value: string };
  /** Those that begin with `accel:`. */
  readonly properties?: Readonly<Record<string, string>>;
}

export interface ImageRules {
  /** Name → public key of Ed25519, as base64 of its 32 bytes. */
  readonly imageKeys: Readonly<Record<string, string>>;
  readonly requireSignature: readonly ('shell' | 'firmware')[];
  /** Model → component → the lowest version that may be written. */
  readonly minVersions: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

interface Target {
  readonly vendor: string;
  readonly product: string;
  readonly component: string;
}

/** The version that the component must show; or why the image cannot be written there. */
export function readComponentImage(
  image: DescribedImage,
  target: Target,
  rules: ImageRules,
): { readonly version: string } | { readonly refusal: string } {
  const { component } = target;
  const { id, properties = {} } = image;
  const model = modelOf(target);
  const [made, models, version] = ['component', 'models', 'version'].map(
    (name) => properties[`accel:${name}`],
  );
  const missing = [made, models, version].findIndex((value) => value === undefined || value === '');
  if (missing >= 0 || !made || !models || !version) {
    const name = ['component', 'models', 'version'][missing];
    return { refusal: `Image ${id} has no property accel:${name}.` };
  }
  if (!/^[\x21-\x7e]{1,64}$/.test(version)) {
    return { refusal: `The property accel:version of image ${id} must have 1 to 64 characters.` };
  }
  if (made !== component) {
    return { refusal: `Image ${id} is for component ${made}, not for ${component}.` };
  }
  if (!models.toLowerCase().split(',').includes(model)) {
    return { refusal: `Image ${id} is for ${models}, and the device is ${model}.` };
  }
  const floor = rules.minVersions[model]?.[component];
  if (floor !== undefined && compareVersions(version, floor) < 0) {
    return {
      refusal: `Image ${id} has version ${version}, and ${component} of ${model} must not be older than ${floor}.`,
    };
  }
  const refusal = faultOfSignature(image, component, rules);
  return refusal === undefined ? { version } : { refusal };
}

/** What must be signed by itself: the rule of a deployment names the two. */
export function kindOfComponent(component: string): 'shell' | 'firmware' {
  return component === 'shell' ? 'shell' : 'firmware';
}

/** `8086:0b30`, lower case: vendor and product as their driver reports them. */
export function modelOf({ vendor, product }: Pick<Target, 'vendor' | 'product'>): string {
  return `${vendorId(vendor)}:${vendorId(product)}`;
}

/** What is signed: one property a line, each with a newline at its end. */
export function signedText({ hash, properties = {} }: DescribedImage): string {
  const named = ['component', 'models', 'version'].map(
    (name) => `${name}: ${properties[`accel:${name}`]}`,
  );
  return ['cyborg image 1', `${hash?.algorithm}: ${hash?.value}`, ...named, ''].join('\n');
}

/** A signature that is there must be right, also where none is required. */
function faultOfSignature(
  image: DescribedImage,
  component: string,
  { imageKeys, requireSignature }: ImageRules,
): string | undefined {
  const { id, hash, properties = {} } = image;
  const signature = properties['accel:signature'];
  if (signature === undefined) {
    return requireSignature.includes(kindOfComponent(component))
      ? `Image ${id} is not signed: it has no property accel:signature.`
      : undefined;
  }
  if (!hash) return `Image ${id} has a signature, and Glance has no digest of its data.`;
  const bytes = Buffer.from(signature, 'base64');
  const text = Buffer.from(signedText(image));
  const isSigned = Object.values(imageKeys).some((key) =>
    verify(undefined, text, publicKey(key), bytes),
  );
  if (isSigned) return undefined;
  const names = Object.keys(imageKeys).join(', ') || 'none';
  return `The signature of image ${id} fits none of the keys of this deployment: ${names}.`;
}

/** The prefix of an Ed25519 key in SubjectPublicKeyInfo; RFC 8410. */
const keyPrefix = Buffer.from('302a300506032b6570032100', 'hex');

function publicKey(key: string) {
  const der = Buffer.concat([keyPrefix, Buffer.from(key, 'base64')]);
  return createPublicKey({ key: der, format: 'der', type: 'spki' });
}

/** Compares numbers and words, from the left; a missing part is lower than any. */
export function compareVersions(one: string, other: string): number {
  const [ones, others] = [partsOf(one), partsOf(other)];
  for (let index = 0; index < Math.max(ones.length, others.length); index++) {
    const [left, right] = [ones[index], others[index]];
    if (left === right) continue;
    if (left === undefined || right === undefined) return left === undefined ? -1 : 1;
    const isNumeric = /^\d/.test(left) && /^\d/.test(right);
    if (!isNumeric) return left < right ? -1 : 1;
    const difference = BigInt(left) - BigInt(right);
    if (difference !== 0n) return difference < 0n ? -1 : 1;
  }
  return 0;
}

function partsOf(version: string): string[] {
  return version.toLowerCase().match(/\d+|[a-z]+/g) ?? [];
}

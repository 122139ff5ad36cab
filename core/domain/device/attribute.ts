// Attributes of a deployable: those that follow from its host's report (class and traits), and
// those that operators add by the API. Only the reported ones reach Placement.
//
// An attribute's uuid begins with the 48 bits of its deployable's, so that an attribute is found
// without an index of its own, and goes when its deployable goes.

import { createHash } from 'node:crypto';
import type { attribute } from '#core/shapes/deployable.ts';
import type { Shaped } from '#core/shapes/derive/case.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { Deployable } from './device.ts';

export type Attribute = Shaped<typeof attribute>;

/** Cyborg keeps both in text columns; a deployable's row has to hold them all. */
export const keyLengthMax = 255;
export const valueLengthMax = 1024;
export const attributesPerDeployableMax = 64;

/** The reported keys and values, in Cyborg's spelling. */
function reportedPairs(deployable: Deployable): [key: string, value: string][] {
  const { resourceClass, traits } = deployable;
  return [
    ...traits.map((trait, index): [string, string] => [`traits${index + 1}`, trait]),
    ...(resourceClass ? [['rc', resourceClass] as [string, string]] : []),
    ...Object.entries(shownAttributes(deployable)).sort(([a], [b]) => (a < b ? -1 : 1)),
  ];
}

/** What the host reports beside class and traits, by key; a region also has what it holds. */
export function shownAttributes(deployable: Deployable): Readonly<Record<string, string>> {
  const { region, regionTypeUuid, bitstreamId, functionUuids, reportedAttributes } = deployable;
  const content = present({
    region_type: regionTypeUuid,
    bitstream: bitstreamId,
    functions: functionUuids?.join(',') || undefined,
  });
  return { ...reportedAttributes, ...(region !== undefined && content) };
}

/** All of a deployable's attributes: what the host reports, then what was added, by time. */
export function attributesOf(deployable: Deployable): Attribute[] {
  const reported = reportedPairs(deployable).map(([key, value]) => ({
    uuid: attributeUuid(deployable.uuid, createHash('sha1').update(key).digest()),
    deployableUuid: deployable.uuid as string,
    key,
    value,
    isReported: true,
    createdAt: deployable.createdAt,
  }));
  const added = [...(deployable.addedAttributes ?? [])].sort((a, b) =>
    a.createdAt + a.uuid < b.createdAt + b.uuid ? -1 : 1,
  );
  return [...reported, ...added];
}

/**
 * The deployable's first 48 bits and 74 of the given: RFC 9562, version 8.
 *
 * @param bits at least 10 bytes
 */
export function attributeUuid(deployableUuid: string, bits: Uint8Array): string {
  const hex = Buffer.from(bits.subarray(0, 10)).toString('hex');
  const variant = ((Number.parseInt(hex.slice(3, 4), 16) & 0x3) | 0x8).toString(16);
  return `${deployableUuid.slice(0, 13)}-8${hex.slice(0, 3)}-${variant}${hex.slice(4, 7)}-${hex.slice(7, 19)}`;
}

/** The prefix that the attribute's uuid shares with the uuid of its deployable. */
export function deployablePrefix(attribute: string): string {
  return attribute.slice(0, 13).toLowerCase();
}

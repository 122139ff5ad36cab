import { attributeAnswer } from '#core/contracts/api/deployables.ts';
import type { Attribute } from '#core/domain/device/attribute.ts';
import { integerId } from '#core/domain/integer-id.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { selfLink } from '#functions/http/links.ts';

export function viewAttribute(attribute: Attribute, base: string) {
  return toWire(attributeAnswer, {
    ...attribute,
    deployableId: integerId(attribute.deployableUuid),
    updatedAt: undefined,
    links: [selfLink(base, `/attributes/${attribute.uuid}`)],
  });
}

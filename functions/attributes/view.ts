import type { Attribute } from '#core/domain/device/attribute.ts';
import { integerId } from '#core/domain/integer-id.ts';
import { selfLink, timestamp } from '#functions/http/links.ts';

export function viewAttribute(attribute: Attribute, base: string) {
  return {
    uuid: attribute.uuid,
    deployable_id: integerId(attribute.deployableUuid),
    key: attribute.key,
    value: attribute.value,
    created_at: timestamp(attribute.createdAt),
    updated_at: null,
    links: [selfLink(base, `/attributes/${attribute.uuid}`)],
  };
}

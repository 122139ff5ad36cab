import { attributesOf } from '#core/domain/device/attribute.ts';
import type { Deployable, ProgramNote } from '#core/domain/device/device.ts';
import { integerId } from '#core/domain/integer-id.ts';
import { deployableUuid } from '#core/domain/report/device-plan.ts';
import { type Link, selfLink, timestamp } from '#functions/http/links.ts';

export function viewDeployable(deployable: Deployable, base: string) {
  const path = `/deployables/${deployable.uuid}`;
  const bookmark: Link = { href: `${base}/accelerator${path}`, rel: 'bookmark' };
  return {
    uuid: deployable.uuid as string,
    parent_id: parentId(deployable),
    root_id: parentId(deployable),
    name: deployable.name,
    num_accelerators: deployable.numAccelerators,
    device_id: integerId(deployable.deviceUuid),
    attributes_list: attributesList(deployable),
    rp_uuid: deployable.providerUuid,
    driver_name: deployable.driver,
    bitstream_id: deployable.bitstreamId ?? null,
    // Not in Cyborg: the outcome of the last program that an operator asked for.
    program: viewProgram(deployable.program),
    created_at: timestamp(deployable.createdAt),
    updated_at: timestamp(deployable.updatedAt),
    links: [selfLink(base, path), bookmark],
  };
}

function viewProgram(program: ProgramNote | undefined) {
  if (!program) return null;
  const { image, state, reason, at } = program;
  return { image_uuid: image, state, reason: reason ?? null, requested_at: timestamp(at) };
}

/** A region's parent is its device's own deployable; a region has no children. */
function parentId({ name, region }: Deployable): number | null {
  if (region === undefined) return null;
  return integerId(deployableUuid(name.slice(0, -`_${region}`.length)));
}

/** JSON text: a list of objects of one key each. */
function attributesList(deployable: Deployable): string {
  return JSON.stringify(attributesOf(deployable).map(({ key, value }) => ({ [key]: value })));
}

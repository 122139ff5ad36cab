import type { Deployable, ProgramNote } from '#core/domain/device.ts';
import { type Link, selfLink, timestamp } from '../http/links.ts';

export function viewDeployable(deployable: Deployable, base: string) {
  const path = `/deployables/${deployable.uuid}`;
  const bookmark: Link = { href: `${base}/accelerator${path}`, rel: 'bookmark' };
  return {
    uuid: deployable.uuid as string,
    // Cyborg's internal integers; ours are uuids, and nothing takes these as input.
    parent_id: null,
    root_id: null,
    name: deployable.name,
    num_accelerators: deployable.numAccelerators,
    device_id: null,
    attributes_list: attributesList(deployable),
    rp_uuid: deployable.providerUuid,
    driver_name: deployable.driver,
    bitstream_id: deployable.bitstreamId ?? null,
    // Beyond Cyborg's: what became of the last program that an operator asked for.
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

/** JSON text: a list of objects of one key each. */
function attributesList({ resourceClass, traits }: Deployable): string {
  return JSON.stringify([
    ...traits.map((trait, index) => ({ [`traits${index + 1}`]: trait })),
    ...(resourceClass ? [{ rc: resourceClass }] : []),
  ]);
}

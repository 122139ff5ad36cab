import type { Glance } from '#core/clients/openstack/glance.ts';
import type { Deps } from '#core/deps.ts';
import { ImageConflict, InvalidInput } from '#core/domain/errors.ts';
import { accelValue } from '#core/domain/profile/accel-values.ts';
import {
  type Group,
  groupResources,
  type ImageQuery,
  wantedImage,
} from '#core/domain/profile/device-profile.ts';
import { orRefused } from '#core/operations/program/find-usable-image.ts';

/** The properties of a server's image that choose what its FPGAs hold. */
const honoured = ['bitstream_id', 'function_id'] as const;

/**
 * The groups with what the server's own image asks for: a bitstream or function, for groups of
 * FPGAs whose profile names none. Glance is not asked where no group takes one.
 *
 * @param projectId must be able to see the image
 * @throws ImageNotFound, ImageConflict, ServiceUnavailable
 */
export async function groupsForImage(
  { clients: { glance } }: Pick<Deps, 'clients'>,
  groups: readonly Group[],
  imageUuid: string,
  projectId: string,
): Promise<readonly Group[]> {
  if (!groups.some(takesImage)) return groups;
  const { properties = {} } = await orRefused(glance.imageOfProject(imageUuid, projectId));
  const named = honoured.filter((key) => properties[`accel:${key}`] !== undefined);
  const [key, second] = named;
  if (!key) return groups;
  if (second) {
    throw new ImageConflict(
      `Image ${imageUuid} has the properties ${named.map((each) => `accel:${each}`).join(' and ')}; at most one is allowed.`,
    );
  }
  const value = checked(key, properties[`accel:${key}`] ?? '', imageUuid);
  const bitstream = await bitstreamOf(glance, { by: key, value }, imageUuid, projectId);
  return groups.map((group) =>
    takesImage(group) ? { ...group, 'accel:bitstream_id': bitstream } : group,
  );
}

/**
 * One that an admin answers for, and that the project can see: a design that is published to some
 * projects only reaches no other by an image's properties.
 */
async function bitstreamOf(
  glance: Glance,
  query: ImageQuery,
  imageUuid: string,
  projectId: string,
): Promise<string> {
  const id =
    query.by === 'bitstream_id' ? query.value : (await orRefused(glance.findImage(query))).id;
  const bitstream = await orRefused(glance.imageOfProject(id, projectId));
  if (bitstream.isTrusted) return bitstream.id;
  throw new ImageConflict(
    `Image ${imageUuid} asks for bitstream ${id}, which is neither public nor of the service's own project.`,
  );
}

function takesImage(group: Group): boolean {
  return 'FPGA' in groupResources(group) && wantedImage(group) === undefined;
}

function checked(key: (typeof honoured)[number], value: string, imageUuid: string): string {
  try {
    return accelValue(key, value, `Image ${imageUuid}`);
  } catch (error) {
    throw error instanceof InvalidInput ? new ImageConflict(error.message) : error;
  }
}

import { type GlanceImage, ImageUnusable } from '#core/clients/openstack/glance.ts';
import type { Deps } from '#core/deps.ts';
import { ImageConflict, ImageNotFound } from '#core/domain/errors.ts';

/**
 * The image, before its program is stored. startProgram() looks for it again; only here does the
 * caller get an answer.
 *
 * @throws ImageNotFound, ImageConflict
 */
export function findUsableImage(deps: Deps, imageId: string): Promise<GlanceImage> {
  return orRefused(deps.clients.glance.findImage({ by: 'bitstream_id', value: imageId }));
}

/** The image, or the answer to a caller. @throws ImageNotFound, ImageConflict */
export async function orRefused(work: Promise<GlanceImage>): Promise<GlanceImage> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof ImageUnusable)) throw error;
    throw error.isAbsent ? new ImageNotFound(error.message) : new ImageConflict(error.message);
  }
}

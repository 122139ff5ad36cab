import * as z from 'zod';
import { componentImageAnswer } from '#core/contracts/api/programs.ts';
import { readComponentImage } from '#core/domain/device/firmware/component-image.ts';
import { ImageConflict, InvalidInput } from '#core/domain/errors.ts';
import { isUuid } from '#core/domain/uuid-form.ts';
import { findUsableImage } from '#core/operations/program/find-usable-image.ts';
import { firmwareBaseline } from '#core/shapes/device.ts';
import { action } from '#functions/http/action.ts';

const { model, component } = firmwareBaseline.shape;
const query = z.strictObject({
  model: model.toLowerCase().meta({ description: 'vendor and product of the devices' }),
  component: component.meta({ description: 'the component that is to run the image' }),
});

/**
 * Checks an image as each program does, without a device. An answer of 409 says why devices of the
 * model cannot be programmed with it.
 */
export const checkImage = action(
  { query, answers: { 200: componentImageAnswer }, refuses: [404, 409] },
  async ({ deps, id, query: { model, component } }) => {
    if (!isUuid(id)) throw new InvalidInput(`${JSON.stringify(id)} is not the uuid of an image.`);
    const image = await findUsableImage(deps, id.toLowerCase());
    const [vendor = '', product = ''] = model.split(':');
    const read = readComponentImage(image, { vendor, product, component }, deps.settings);
    if ('refusal' in read) throw new ImageConflict(read.refusal);
    return { body: { image_uuid: image.id, model, component, version: read.version } };
  },
);
